#include "cli/flags/flags.hpp"

namespace prequel {

std::string flag_of(std::string_view name) {
  std::string flag = "--" + std::string(name);
  for (char& c : flag) {
    if (c == ' ') break;
    if (c == '_') c = '-';
  }
  return flag;
}

std::vector<std::string> problems_in_flags(const InputError& error) {
  if (error.subject().empty()) return error.problems();
  return {flag_of(error.subject()) + error.problems().front().substr(error.subject().size())};
}

}  // namespace prequel
