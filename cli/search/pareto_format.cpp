#include <fmt/format.h>

#include "cli/json/answer_json.hpp"
#include "cli/json/json.hpp"
#include "cli/search/plan_columns.hpp"
#include "cli/search/search_format.hpp"
#include "cli/text/number_text.hpp"
#include "cli/text/table.hpp"
#include "sim/search/pareto.hpp"

namespace prequel {

std::string pareto_text(const SearchResult& result, const SearchInputs& inputs, bool shaped,
                        const Terminal& terminal) {
  std::vector<std::string> header{"rank", "nodes", "dp",        "tp",       "pp",     "vpp", "mbs",
                                  "gbs",  "zero",  "recompute", "schedule", "sec/it", "GiB"};
  const std::vector<std::size_t> front = pareto_front(result.plans);
  std::vector<const Plan*> plans;
  for (const std::size_t place : front) plans.push_back(&result.plans[place].plan);
  const std::vector<ColumnOfAxis> others = further_columns(plans, inputs);
  for (const ColumnOfAxis& column : others) header.push_back(column.name);
  if (shaped) header.insert(header.begin() + 1, {"layers", "hidden", "heads"});
  TextTable table(header);
  for (std::size_t i = 0; i < front.size(); ++i) {
    const std::size_t place = front[i];
    const FoundPlan& found = result.plans[place];
    const Plan& plan = found.plan;
    std::vector<std::string> row{place < result.ranked ? fmt::format("{}", place + 1) : ""};
    if (shaped) {
      for (const std::int64_t part : {found.shape.layers, found.shape.hidden, found.shape.heads}) {
        row.push_back(fmt::format("{}", part));
      }
    }
    for (const std::int64_t value :
         {plan.nodes, plan.dp, plan.tp, plan.pp, plan.vpp, plan.mbs, plan.gbs, plan.zero}) {
      row.push_back(fmt::format("{}", value));
    }
    row.push_back(std::string(name(plan.recompute)) + (plan.sequence_parallel ? " sp" : ""));
    row.push_back(std::string(name(plan.schedule)));
    row.push_back(fixed(found.sec_per_iter, 2));
    row.push_back(gib_text(found.peak_memory));
    for (const ColumnOfAxis& column : others) row.push_back(column.cells[i]);
    table.add(std::move(row));
  }
  return fmt::format(
             "Pareto front: {} of {} plans that no other beats in time, memory and nodes at once\n",
             front.size(), result.fitting) +
         table.text(terminal.width);
}

Json pareto_json(const SearchResult& result) {
  return list_json(pareto_front(result.plans), [&](std::size_t place) {
    const FoundPlan& found = result.plans[place];
    Json json{{"sec_per_iter", found.sec_per_iter},
              {"memory", {{"peak_gib", gib(found.peak_memory)}}},
              {"model_shape", shape_json(found.shape)},
              {"plan", plan_json(found.plan)}};
    if (place < result.ranked) json["rank"] = place + 1;
    return json;
  });
}

}  // namespace prequel
