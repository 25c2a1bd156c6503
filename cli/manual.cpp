#include "cli/command_tree.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace prequel {
namespace {

/// Text as roff prints it literally: hyphens as ASCII, no escapes, no request at a line's start.
std::string literal(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool line_start = out.empty() || out.back() == '\n';
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '-' || c == '\\') {
      out += c == '-' ? "\\-" : "\\e";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

std::string option_text(const OptionDescription& option) {
  std::string value;
  if (!option.value.empty() && option.names.front().starts_with("-")) {
    value = " \\fI" + literal(option.value) + "\\fR";
  }
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n",
                     literal(fmt::format("{}", fmt::join(option.names, ", "))), value,
                     literal(option.help));
}

std::string examples_text(const std::string& examples) {
  return ".PP\nExamples:\n.PP\n.nf\n" + literal(examples) + ".fi\n";
}

std::string command_text(const CommandDescription& command) {
  std::string text = fmt::format(".SS \"{}\"\n{}.\n", literal(command.path), literal(command.help));
  for (const OptionDescription& positional : command.positionals) text += option_text(positional);
  for (const OptionDescription& option : command.options) text += option_text(option);
  text += examples_text(command.examples);
  for (const CommandDescription& sub : command.commands) text += command_text(sub);
  return text;
}

constexpr const char* kExitStatus = R"(.SH "EXIT STATUS"
.TP
0
Done.
.TP
1
The answer is "no": out of memory, nothing fits, a limit is exceeded. It is printed all the same.
.TP
2
Bad input, a plan that the framework would refuse, or a wrong call.
.TP
3
A device or communication error while measuring.
.TP
130
Interrupted.
)";

constexpr const char* kEnvironment = R"(.SH ENVIRONMENT
.TP
PREQUEL_DATA
A folder with models, devices, clusters, software and jobs; it is searched before the shipped one.
.TP
NO_COLOR
Where it is set and not empty, nothing is coloured.
)";

}  // namespace

std::string manual_page(const CommandDescription& program, const std::string& version) {
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"{}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fB{}\\fR \\fICOMMAND\\fR "
      "[\\fIARGUMENT\\fR...]\n.SH DESCRIPTION\nGives seconds per iteration, memory per pipeline "
      "stage, utilisation and where the time goes, on any CPU.\n",
      upper_case(program.path), literal(version), program.path, literal(program.help),
      program.path);
  text += examples_text(program.examples) + ".SH OPTIONS\n";
  for (const OptionDescription& option : program.options) text += option_text(option);
  text += ".SH COMMANDS\n";
  for (const CommandDescription& command : program.commands) text += command_text(command);
  return text + kExitStatus + kEnvironment;
}

}  // namespace prequel
