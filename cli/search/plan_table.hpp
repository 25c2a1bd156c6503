#pragma once

/// The table of plans that people read, off the plans' records in the document.

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/json/record_table.hpp"
#include "sim/search/space.hpp"

namespace prequel {

/// Columns that answer, of a CSV of plans, by the members of a plan's record.
inline constexpr std::array<std::pair<std::string_view, const char*>, 7> kAnswerColumns{
    {{"sec_per_iter", "/sec_per_iter"},
     {"tokens_per_sec_per_gpu", "/tokens_per_sec_per_gpu"},
     {"mfu", "/mfu"},
     {"mem_gib", "/memory/peak_gib"},
     {"verdict", "/memory/verdict"},
     {"gpu_hours", "/gpu_hours"},
     {"cost", "/cost"}}};

/// Returns a verdict on memory, with the odds that the plan fits where these are open.
std::string verdict_cell(const Json& verdict, const Json& record);

/// Returns a row a plan; what is the same in all rows stands above them, once. `width` is that of a
/// line, 0 any. `plans` are those of
/// the records. Axes without a column of their own have one where some plan has it otherwise than
/// `predict` takes it where nobody says it; so have shapes where they are `shaped`.
std::string plan_table(const Json& records, const std::vector<const Plan*>& plans,
                       const SearchInputs& inputs, bool shaped, std::size_t width);

}  // namespace prequel
