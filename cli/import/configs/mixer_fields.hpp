#pragma once

/// Mixers of Hugging Face configurations that are no plain attention: which layer has which, and
/// their shapes, under the keys of `prequel/model/1`.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/import/job/imported_job.hpp"

namespace prequel {

/// Keys of the model file, and those of configurations for the same.
using MixerKeys = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Fills what the family `type` says of its mixers, and adds the keys read to `used`.
void read_mixer_fields(const nlohmann::json& config, std::string_view type, const MixerKeys& keys,
                       ImportedModel& model, std::set<std::string>& used);

}  // namespace prequel
