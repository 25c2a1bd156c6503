#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/call/call.hpp"
#include "cli/call/call_commands.hpp"
#include "cli/json/json.hpp"
#include "cli/translate/translated_request.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"
#include "models/axes/plan_request.hpp"
#include "models/plan/rules.hpp"
#include "models/plan/trained_model.hpp"
#include "sim/search/search.hpp"

namespace prequel {
namespace {

constexpr std::size_t kMostRows = 1'000'000;

/// Returns how many rows the columns have. Throws InputError unless all have as many.
std::size_t rows_of(const Json& columns) {
  if (!columns.is_object() || columns.empty()) throw InputError("plans: expected columns");
  std::vector<std::string> axes;
  each_axis([&](const auto& axis) { axes.emplace_back(axis.name); });
  const std::size_t rows = columns.front().size();
  for (const auto& [name, cells] : columns.items()) {
    if (std::ranges::find(axes, name) == axes.end()) {
      throw InputError(fmt::format("plans: {} is no axis of a plan{}", in_quotes(name),
                                   did_you_mean(name, axes)));
    }
    if (!cells.is_array() || cells.size() != rows) {
      throw InputError(fmt::format("plans: column {}: expected {} cells", in_quotes(name), rows));
    }
  }
  if (rows > kMostRows) {
    throw InputError(fmt::format("plans: {} rows; at most {} at once would do", rows, kMostRows));
  }
  return rows;
}

/// Returns what each row says. Values that many rows share are read once.
std::vector<PlanRequest> requests_of(const Json& columns) {
  std::vector<PlanRequest> requests(rows_of(columns));
  each_axis([&](const auto& axis) {
    const auto column = columns.find(axis.name);
    if (column == columns.end()) return;
    const std::string name(axis.name);
    std::map<std::string, std::decay_t<decltype(axis.of(requests.front()))>> known;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Json& cell = (*column)[i];
      if (cell.is_null()) continue;
      const std::string text = cell.dump();
      const auto [place, is_new] = known.try_emplace(text);
      if (is_new) {
        const Document row =
            Document::from(fmt::format("plans: row {}", i), {{name, nlohmann::json::parse(text)}});
        place->second = read_value(row.root().at(name), axis.domain);
        row.finish();
      }
      axis.of(requests[i]) = place->second;
    }
  });
  return requests;
}

/// Returns what all rows share.
SearchInputs inputs_of(const ReadCall& call) {
  const PredictOptions& options = call.options.predict;
  const auto unheard = [](const std::string&) {};
  const JobRequest request = translated(options.request, options.script, call.library, unheard);
  Job job = read_job(call.library, request);
  if (job.what_if.any()) {
    throw InputError("what_if: plans of a table are predicted on a machine as it should be");
  }
  replace_precision(job.software, job.device);
  PlanRequest plan = std::move(job.plan);
  job.model = trained_model(std::move(job.model), plan);
  return {static_cast<Inputs&&>(std::move(job)), std::move(plan)};
}

Json table_of(const std::vector<EvaluatedPlan>& plans) {
  Json table = {{"sec_per_iter", Json::array()},
                {"tokens_per_sec", Json::array()},
                {"tokens_per_sec_per_gpu", Json::array()},
                {"mfu", Json::array()},
                {"peak_memory_gib", Json::array()},
                {"verdict", Json::array()},
                {"problem", Json::array()}};
  for (const EvaluatedPlan& plan : plans) {
    if (!plan.found) {
      for (auto& column : table) column.push_back(nullptr);
      table["problem"].back() = fmt::format("{}", fmt::join(plan.problems, "; "));
      continue;
    }
    const FoundPlan& found = *plan.found;
    const double tokens = tokens_of_step(found.plan) / found.sec_per_iter;
    table["sec_per_iter"].push_back(found.sec_per_iter);
    table["tokens_per_sec"].push_back(tokens);
    table["tokens_per_sec_per_gpu"].push_back(tokens / real(found.plan.gpus));
    table["mfu"].push_back(plan.mfu);
    table["peak_memory_gib"].push_back(found.peak_memory.value / kGiB);
    table["verdict"].push_back(std::string(name(found.verdict)));
    table["problem"].push_back(nullptr);
  }
  return table;
}

}  // namespace

Json predict_many(const Json& arguments, const Json& columns, const CallSession& session) {
  Json table;
  read_call("predict", arguments, session, [&](const ReadCall& call) {
    const SearchInputs inputs = inputs_of(call);
    std::vector<PlanRequest> requests = requests_of(columns);
    for (PlanRequest& request : requests) request = filled_from(std::move(request), inputs.fixed);
    table = table_of(evaluate(requests, inputs, session.stop));
  });
  return table;
}

}  // namespace prequel
