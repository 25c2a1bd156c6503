#include "cli/translate/idle_settings.hpp"

#include <fmt/format.h>

#include "hw/base/errors.hpp"

namespace prequel {

std::vector<std::string> idle_settings(const JobRequest& request,
                                       const std::function<std::string(const JobRequest&)>& told) {
  std::vector<std::string> idle;
  std::string whole;
  for (std::size_t i = 0; i < request.overrides.size(); ++i) {
    const Override& setting = request.overrides[i];
    if (setting.path.starts_with("plan.") || setting.path.starts_with("what_if.")) continue;
    JobRequest without = request;
    without.overrides.erase(without.overrides.begin() + static_cast<std::ptrdiff_t>(i));
    try {
      if (whole.empty()) whole = told(request);
      if (told(without) != whole) continue;
    } catch (const InputError&) {
      continue;  // the rest alone would not do
    }
    idle.push_back(
        fmt::format("{}={}: changes nothing in this prediction", setting.path, setting.value));
  }
  return idle;
}

}  // namespace prequel
