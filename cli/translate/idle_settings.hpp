#pragma once

/// Settings of files that an answer does not feel.

#include <functional>
#include <string>
#include <vector>

#include "models/job/library.hpp"

namespace prequel {

/// The settings of files (not of the plan) without which `told` says the same of the request, each
/// with what to tell of it: nothing that this plan has reads them, or they say what the file says.
std::vector<std::string> idle_settings(const JobRequest& request,
                                       const std::function<std::string(const JobRequest&)>& told);

}  // namespace prequel
