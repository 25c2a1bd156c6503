#pragma once

/// Terminal of the output: whether it shows colours, and how wide it is.

#include <cstddef>
#include <cstdio>
#include <string>

#include "cli/text/tell.hpp"

namespace prequel {

struct Terminal {
  bool colour{};
  std::size_t width{};  ///< characters in a line; 0: as wide as it may be (a file, a pipe)

  /// `most`, or the terminal's width where that is less.
  [[nodiscard]] std::size_t at_most(std::size_t most) const;
};

/// The terminal behind a stream. `colour` is auto, always or never; auto means on a terminal,
/// unless NO_COLOR is set to a value (no-color.org) or TERM is "dumb".
Terminal terminal(std::FILE* stream, const std::string& colour);

enum class Ink { bold, red, green, yellow };

/// `text` in that ink where the terminal shows colours.
std::string inked(const Terminal& terminal, Ink ink, const std::string& text);

/// Says it on stderr, or nowhere where it is to be quiet.
Tell tell_stderr(bool quiet);

}  // namespace prequel
