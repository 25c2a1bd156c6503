#include "cli/json/record_table.hpp"

#include <algorithm>
#include <utility>

#include "cli/text/number_text.hpp"

namespace prequel {

std::string plain_cell(const Json& value, const Json& /*record*/) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

CellText fixed_cell(int decimals, const char* unit) {
  return [decimals, unit](const Json& value, const Json& /*record*/) {
    return value.is_null() ? "never" : fixed(value.get<double>(), decimals) + unit;
  };
}

CellText percent_cell(int decimals, const char* unit) {
  return [decimals, unit](const Json& value, const Json& /*record*/) {
    return percent(value.get<double>(), decimals) + unit;
  };
}

std::vector<TextColumn> columns_of(const Json& records, const std::vector<RecordColumn>& columns) {
  std::vector<TextColumn> texts;
  for (const RecordColumn& column : columns) {
    const Json::json_pointer member(column.member);
    const auto has = [&](const Json& record) { return record.contains(member); };
    if (std::ranges::none_of(records, has)) continue;
    TextColumn& text = texts.emplace_back(TextColumn{column.name, {}, false, column.may_go});
    for (const Json& record : records) {
      text.cells.push_back(has(record) ? column.cell(record.at(member), record) : "-");
    }
  }
  return texts;
}

std::string record_table(const Json& records, const std::vector<RecordColumn>& columns,
                         std::size_t width, const std::string& indent) {
  return TextTable::of(columns_of(records, columns)).text(width, indent);
}

}  // namespace prequel
