#include "hw/base/schema.hpp"

#include "hw/base/text.hpp"

namespace prequel {

void expect_schema(const Cursor& root, std::string_view schema) {
  const auto found = root.find("schema");
  if (!found) return;
  const std::string text = found->text();
  if (found->is_text() && text != schema) {
    found->problem("expected " + in_quotes(schema) + ", got " + in_quotes(text));
  }
}

}  // namespace prequel
