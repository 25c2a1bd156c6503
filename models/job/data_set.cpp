#include "models/job/data_set.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "hw/base/json_cursor.hpp"
#include "hw/base/schema.hpp"
#include "models/plan/lengths.hpp"

namespace prequel {

DataSet read_data_set(const Document& file) {
  constexpr Range kTokens{1, 1 << 24};  // of one sequence
  constexpr Range kSequences{1, 1e12};
  const Cursor root = file.root();
  expect_schema(root, "prequel/lengths/1");
  (void)root.at("name").text();
  (void)root.at("what").text();
  (void)root.at("origin").text();
  DataSet set;
  const auto tokens = [&](const char* key) { return root.at(key).number(kTokens); };
  set.distribution = fmt::format("lognormal:{:g}:{:g}:{:g}:{:g}", tokens("mean"), tokens("sd"),
                                 tokens("min"), tokens("max"));
  if (const auto count = root.find("sequences")) set.sequences = count->number(kSequences);
  file.finish();
  return set;
}

bool names_data_set(const std::string& lengths) {
  if (lengths == kFixedLengths || lengths.find(':') != std::string::npos) return false;
  std::error_code ignored;
  return !std::filesystem::exists(lengths, ignored) && lengths.find('/') == std::string::npos &&
         lengths.find('.') == std::string::npos;
}

}  // namespace prequel
