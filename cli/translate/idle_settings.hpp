#pragma once

/// Settings of files that an answer does not feel.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/library.hpp"

namespace prequel {

/// The answer to a request, or a part of it.
using Answered = std::function<std::string(const JobRequest&)>;

/// The settings of files (not of the plan) without which all of `answered` are the same, each with
/// what to tell of it: nothing that this `answer` ("prediction") rests on reads them, or they say
/// what the file says. The first ones are asked first: they may be cheaper than the others.
std::vector<std::string> idle_settings(const JobRequest& request,
                                       const std::vector<Answered>& answered,
                                       std::string_view answer = "prediction");

}  // namespace prequel
