#include "cli/json/errors_json.hpp"

namespace prequel {

nlohmann::ordered_json errors_json(const ErrorStatistics& errors) {
  return {{"n", errors.n},     {"mape", errors.mape}, {"median", errors.median},
          {"p90", errors.p90}, {"max", errors.max},   {"bias", errors.bias}};
}

}  // namespace prequel
