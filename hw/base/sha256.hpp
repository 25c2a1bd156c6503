#pragma once

#include <string>
#include <string_view>

namespace prequel {

/// The SHA-256 of `bytes` in hexadecimal, as sha256sum prints it (FIPS 180-4, section 6.2).
std::string sha256(std::string_view bytes);

}  // namespace prequel
