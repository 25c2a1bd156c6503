#include "cli/json/context.hpp"

#include "cli/api/prequel.hpp"
#include "cli/json/json.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongest = 1u << 20;  // of names and calls

}  // namespace

Json context_json(const Context& context) {
  const auto input_json = [](const InputFile& input) {
    return Json{
        {"kind", input.kind}, {"name", printable(input.name, kLongest)}, {"sha256", input.sha256}};
  };
  return {{"version", version_number()},
          {"command", printable(context.command, kLongest)},
          {"inputs", list_json(context.inputs, input_json)}};
}

}  // namespace prequel
