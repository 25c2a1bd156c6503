#pragma once

/// Writing files that are too long to hold.

#include <functional>
#include <string>
#include <string_view>

namespace prequel {

/// As `write_file`, but `tell` hands the content on piece by piece to the function it is given.
void write_pieces(const std::string& path,
                  const std::function<void(const std::function<void(std::string_view)>&)>& tell);

}  // namespace prequel
