#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "models/job/library.hpp"

namespace CLI {
class App;
}

namespace prequel {

/// What an answer was made from and by.
struct Context {
  std::string command;  ///< the call of prequel that gives this answer
  std::vector<InputFile> inputs;
};

/// The member `context` of answers.
nlohmann::ordered_json context_json(const Context& context);

/// The call that the parser of a whole program was given, spelt one way whoever asks: options by
/// their first long names, in the order of the manual, without those that only say where and how
/// the answer is shown.
std::string call_text(const CLI::App& program);

}  // namespace prequel
