#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "models/job/library.hpp"

namespace prequel {

/// What an answer was made from and by.
struct Context {
  std::string command;  ///< the call of prequel that gives this answer
  std::vector<InputFile> inputs;
};

/// The member `context` of answers.
nlohmann::ordered_json context_json(const Context& context);

}  // namespace prequel
