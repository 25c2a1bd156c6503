#include "cli/text/terminal.hpp"

#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace prequel {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::size_t columns(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

const char* escape(Ink ink) {
  switch (ink) {
    case Ink::bold: return "\033[1m";
    case Ink::red: return "\033[31m";
    case Ink::green: return "\033[32m";
    case Ink::yellow: return "\033[33m";
  }
  return "";
}

}  // namespace

std::size_t Terminal::at_most(std::size_t most) const {
  return width > 0 && width < most ? width : most;
}

Terminal terminal(std::FILE* stream, const std::string& colour) {
  const int descriptor = fileno(stream);
  const bool there = isatty(descriptor) != 0;
  const bool wanted = there && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  return {colour == "always" || (colour != "never" && wanted), there ? columns(descriptor) : 0};
}

std::string inked(const Terminal& terminal, Ink ink, const std::string& text) {
  return terminal.colour ? escape(ink) + text + "\033[0m" : text;
}

Tell tell_stderr(bool quiet) {
  if (quiet) return [](const std::string&) {};
  return [](const std::string& lines) { std::fputs(lines.c_str(), stderr); };
}

}  // namespace prequel
