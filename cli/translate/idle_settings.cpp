#include "cli/translate/idle_settings.hpp"

#include <cstddef>
#include <optional>

#include <fmt/format.h>

#include "hw/base/errors.hpp"

namespace prequel {

std::vector<std::string> idle_settings(const JobRequest& request,
                                       const std::vector<Answered>& answered,
                                       std::string_view answer) {
  std::vector<std::string> idle;
  std::vector<std::optional<std::string>> whole(answered.size());
  for (std::size_t i = 0; i < request.overrides.size(); ++i) {
    const Override& setting = request.overrides[i];
    if (setting.path.starts_with("plan.") || setting.path.starts_with("what_if.")) continue;
    JobRequest without = request;
    without.overrides.erase(without.overrides.begin() + static_cast<std::ptrdiff_t>(i));
    try {
      bool same = true;
      for (std::size_t part = 0; same && part < answered.size(); ++part) {
        if (!whole[part]) whole[part] = answered[part](request);
        same = answered[part](without) == *whole[part];
      }
      if (!same) continue;
    } catch (const InputError&) {
      continue;  // the rest alone would not do
    }
    idle.push_back(
        fmt::format("{}={}: changes nothing in this {}", setting.path, setting.value, answer));
  }
  return idle;
}

}  // namespace prequel
