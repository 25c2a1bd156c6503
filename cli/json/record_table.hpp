#pragma once

/// Tables for people, read off the records of an answer's document, so that both say the same.

#include <functional>
#include <string>
#include <vector>

#include "cli/json/json.hpp"
#include "cli/text/table.hpp"

namespace prequel {

/// Returns the text of a record's member.
using CellText = std::function<std::string(const Json& value, const Json& record)>;

/// Texts and whole numbers as they are.
std::string plain_cell(const Json& value, const Json& record);
/// Numbers with as many decimals and what stands behind them; null is "never".
CellText fixed_cell(int decimals, const char* unit = "");
/// Shares in per cent.
CellText percent_cell(int decimals = 1, const char* unit = "");

/// A column of a table of records: the member that it shows, and how.
struct RecordColumn {
  std::string name;
  std::string member;  ///< JSON pointer
  CellText cell{plain_cell};
  bool may_go{};  ///< left out where the terminal is too narrow
};

/// Returns those columns of which a record has the member; "-" stands where others lack it.
std::vector<TextColumn> columns_of(const Json& records, const std::vector<RecordColumn>& columns);

/// Returns the table of those columns.
std::string record_table(const Json& records, const std::vector<RecordColumn>& columns,
                         std::size_t width = 0, const std::string& indent = "");

}  // namespace prequel
