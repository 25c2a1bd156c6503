#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "models/job/library.hpp"

namespace prequel {

/// The origin of an answer: its call and its files.
struct Context {
  std::string command;  ///< the call of prequel that gives this answer
  std::vector<InputFile> inputs;
};

/// The member `context` of answers.
nlohmann::ordered_json context_json(const Context& context);

}  // namespace prequel
