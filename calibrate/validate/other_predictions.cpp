#include "calibrate/validate/other_predictions.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/student_t.hpp"
#include "hw/base/text.hpp"
#include "hw/base/units.hpp"

namespace prequel {
namespace {

const std::vector<std::string> kPredictionColumns{"id", "sec_per_iter", "low", "high", "mem_gib"};

/// The positive number of a cell; nothing where it is empty or its column is not there.
std::optional<double> positive_cell(const CsvReader& table, const CsvRow& row,
                                    const std::string& column, const std::string& file) {
  const auto index = table.column(column);
  if (!index || *index >= row.cells.size() || row.cells[*index].empty()) return std::nullopt;
  const auto number = parse_number(row.cells[*index]);
  if (number && *number > 0) return number;
  throw InputError(fmt::format("{}:{}: {}: expected a positive number, got {}", file, row.line,
                               column, in_quotes(row.cells[*index])));
}

/// An interval of which nothing but its ends is known: no slopes, no basis.
Interval stated_interval(const OtherPrediction& said) {
  const double width = t4_half_width(kIntervalLevel);
  Interval interval;
  interval.level = kIntervalLevel;
  interval.time_low = Seconds{*said.low};
  interval.time_high = Seconds{*said.high};
  interval.time_scale = std::log(*said.high / *said.sec_per_iter) / width;
  interval.time_scale_below = std::log(*said.sec_per_iter / *said.low) / width;
  return interval;
}

}  // namespace

std::vector<OtherPrediction> read_other_predictions(std::istream& in, const std::string& file) {
  CsvReader table(in, file);
  for (const std::string& column : table.columns()) {
    if (std::ranges::find(kPredictionColumns, column) != kPredictionColumns.end()) continue;
    throw InputError(
        fmt::format("{}: unknown column {}{}; id, sec_per_iter, low, high and mem_gib "
                    "are known",
                    file, in_quotes(column), did_you_mean(column, kPredictionColumns)));
  }
  const auto id = table.column("id");
  if (!id || !table.column("sec_per_iter")) {
    throw InputError(file + ": predictions have the columns id and sec_per_iter");
  }
  std::vector<OtherPrediction> predictions;
  std::set<std::string> known;
  while (const auto row = table.next()) {
    OtherPrediction said;
    if (*id < row->cells.size()) said.id = row->cells[*id];
    const auto wrong = [&](const std::string& what) {
      return InputError(fmt::format("{}:{}: {}", file, row->line, what));
    };
    if (said.id.empty()) throw wrong("id: empty");
    if (!known.insert(said.id).second) throw wrong("id " + in_quotes(said.id) + ": twice");
    said.sec_per_iter = positive_cell(table, *row, "sec_per_iter", file);
    said.low = positive_cell(table, *row, "low", file);
    said.high = positive_cell(table, *row, "high", file);
    said.mem_gib = positive_cell(table, *row, "mem_gib", file);
    if (said.low.has_value() != said.high.has_value()) throw wrong("low and high go together");
    const bool holds = !said.low || (said.sec_per_iter && *said.low <= *said.sec_per_iter &&
                                     *said.sec_per_iter <= *said.high);
    if (!holds) throw wrong("sec_per_iter: expected a number from low to high");
    predictions.push_back(std::move(said));
  }
  return predictions;
}

void replace_predictions(std::vector<ValidatedRun>& runs,
                         const std::vector<OtherPrediction>& predictions) {
  std::map<std::string, const OtherPrediction*> by_id;
  for (const OtherPrediction& one : predictions) by_id[one.id] = &one;
  std::set<std::string> rows;
  for (ValidatedRun& run : runs) {
    rows.insert(run.run.id);
    const auto found = by_id.find(run.run.id);
    const bool says_time = found != by_id.end() && found->second->sec_per_iter;
    run.interval.reset();
    run.spread.reset();
    run.time_error.reset();
    run.memory_error.reset();
    if (run.outcome == Outcome::invalid) continue;
    if (!says_time) {
      run.outcome = Outcome::unsupported;
      run.reason = "the table of predictions says nothing of it";
      run.prediction.reset();
      continue;
    }
    const OtherPrediction& said = *found->second;
    run.outcome = Outcome::predicted;
    run.reason.clear();
    if (!run.prediction) run.prediction.emplace();
    run.prediction->sec_per_iter = Seconds{*said.sec_per_iter};
    run.prediction->breakdown = {};
    if (said.low) run.interval = stated_interval(said);
    if (run.run.status == RunStatus::ok && run.run.sec_per_iter) {
      run.time_error = *said.sec_per_iter / *run.run.sec_per_iter - 1;
    }
    if (!said.mem_gib) continue;
    run.prediction->peak_memory = run.printed_memory = Bytes{*said.mem_gib * kGiB};
    if (run.run.status == RunStatus::ok && run.run.mem_gib) {
      run.memory_error = *said.mem_gib / *run.run.mem_gib - 1;
    }
  }
  for (const auto& [id, said] : by_id) {
    if (rows.contains(id)) continue;
    throw InputError("predictions: no row of the tables is called " + in_quotes(id) +
                     did_you_mean(id, {rows.begin(), rows.end()}));
  }
}

}  // namespace prequel
