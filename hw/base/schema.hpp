#pragma once

#include <string_view>

#include "hw/base/json_cursor.hpp"

namespace prequel {

/// Notes a problem where the file says that it follows another schema than `schema`, such as
/// "prequel/device/1"; one that says none is taken for what it should be. data/schema/ holds them.
void expect_schema(const Cursor& root, std::string_view schema);

}  // namespace prequel
