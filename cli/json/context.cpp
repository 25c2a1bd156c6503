#include "cli/json/context.hpp"

#include <nlohmann/json.hpp>

#include "cli/text/version.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongest = 1u << 20;  // of names and calls

}  // namespace

nlohmann::ordered_json context_json(const Context& context) {
  auto inputs = nlohmann::ordered_json::array();
  for (const InputFile& input : context.inputs) {
    inputs.push_back({{"kind", input.kind},
                      {"name", printable(input.name, kLongest)},
                      {"sha256", input.sha256}});
  }
  return {{"version", version_number()},
          {"command", printable(context.command, kLongest)},
          {"inputs", inputs}};
}

}  // namespace prequel
