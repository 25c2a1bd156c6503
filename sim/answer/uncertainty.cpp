#include "sim/answer/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "hw/base/json_cursor.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/portable_math.hpp"
#include "hw/base/schema.hpp"
#include "hw/base/text.hpp"
#include "sim/answer/prediction.hpp"

namespace prequel {
namespace {

/// How a number follows u.
enum class Course : std::uint8_t {
  up,           ///< value·e^u
  down,         ///< value·e^-u
  fraction,     ///< value·e^-u, at most 1
  above_least,  ///< least + (value - least)·e^u
  above_one,    ///< 1 + (value - 1)·e^u
  from_zero,    ///< value·e^u, and away from zero where it is below `from_zero`
  share_lost,   ///< logit(value) - u
  share         ///< logit(value) + u
};

/// The logistic scale ends at 1; a share of 1 is taken as almost 1.
double moved_share(double value, double u) {
  constexpr double kAlmostAll = 0.97;
  if (value <= 0) return value;
  const double start = std::min(value, kAlmostAll);
  const double moved = 1.0 / (1.0 + (1.0 / start - 1.0) * portable::exp(-u));
  return std::min(1.0, value / start * moved);
}

double moved(double value, Course course, const ConstantPrior& prior, double u) {
  switch (course) {
    case Course::up: return value * portable::exp(u);
    case Course::down: return value * portable::exp(-u);
    case Course::fraction: return std::min(std::max(1.0, value), value * portable::exp(-u));
    case Course::above_least: {
      const double least = std::min(prior.least, value);
      return least + (value - least) * portable::exp(u);
    }
    case Course::above_one: return 1.0 + (value - 1.0) * portable::exp(u);
    case Course::from_zero: {
      const double short_of = std::max(0.0, prior.from_zero - value);
      return value * portable::exp(u) + short_of * std::max(0.0, portable::expm1(u));
    }
    case Course::share_lost: return moved_share(value, -u);
    case Course::share: return moved_share(value, u);
  }
  return value;
}

/// Calls `visit(path, value, course)` for each number of a link model; `path` makes the path.
template <class Visit>
void visit_link(LinkModel& link, const auto& at, Visit&& visit) {
  visit([&] { return at() + ".bandwidth"; }, link.bandwidth.value, Course::down);
  visit([&] { return at() + ".local_bandwidth"; }, link.local_bandwidth.value, Course::down);
  visit([&] { return at() + ".latency_s"; }, link.latency.value, Course::up);
  visit([&] { return at() + ".step_s"; }, link.step.value, Course::up);
  visit([&] { return at() + ".fill_s"; }, link.fill.value, Course::up);
}

template <class Visit>
void visit_links(CollectiveModel& links, const std::string& base, Visit&& visit) {
  visit_link(
      links.ring, [&] { return base; }, visit);
  for (std::size_t i = 0; i < links.overrides.size(); ++i) {
    visit_link(
        links.overrides[i].link, [&] { return fmt::format("{}.overrides.{}", base, i); }, visit);
  }
  if (links.tree)
    visit_link(
        *links.tree, [&] { return base + ".tree"; }, visit);
  if (links.nvls)
    visit_link(
        *links.nvls, [&] { return base + ".nvls"; }, visit);
}

template <class Visit>
void visit_attention(Scenario& scenario, Visit&& visit) {
  for (AttentionKernel& kernel : scenario.device.attention) {
    for (std::size_t i = 0; i < kernel.head_sizes.size(); ++i) {
      const auto at = [&](const char* pass) {
        return fmt::format("device.attention.kernels.{}.head_sizes.{}.{}.efficiency", kernel.name,
                           i, pass);
      };
      AttentionHeadSize& size = kernel.head_sizes[i];
      visit([&] { return at("forward"); }, size.forward.efficiency, Course::fraction);
      visit([&] { return at("backward"); }, size.backward.efficiency, Course::fraction);
    }
  }
  const auto visit_scores = [&](std::optional<double>& scores, const char* kind) {
    if (!scores) return;
    visit([&] { return fmt::format("software.kernels.score_traffic.{}", kind); }, *scores,
          Course::up);
  };
  visit_scores(scenario.software.kernels.unfused, "unfused");
  visit_scores(scenario.software.kernels.fused_softmax, "fused-softmax");
}

template <class Visit>
void visit_small_kernels(GemmModel& gemm, Visit&& visit) {
  const auto launch = [] { return std::string("device.gemm.launch_s"); };
  if (auto* tiled = std::get_if<TiledGemm>(&gemm)) {
    visit(launch, tiled->launch.value, Course::up);
    visit([] { return std::string("device.gemm.tile_overhead_s"); }, tiled->tile_overhead.value,
          Course::up);
  } else {
    visit(launch, std::get<FlatGemm>(gemm).launch.value, Course::up);
  }
}

/// The one list of what each constant consists of.
template <class Visit>
void visit_fields(Scenario& scenario, Uncertain constant, Visit&& visit) {
  Software& software = scenario.software;
  KernelStack& kernels = software.kernels;
  CommunicationStack& communication = software.communication;
  MemoryStack& memory = software.memory;
  NetworkModel& network = scenario.cluster.network;
  const auto one = [&](const char* path, double& value, Course course) {
    visit([path] { return std::string(path); }, value, course);
  };
  switch (constant) {
    case Uncertain::gemm:
      one("software.kernels.gemm_time_factor", kernels.gemm_time_factor, Course::above_least);
      break;
    case Uncertain::attention: visit_attention(scenario, visit); break;
    case Uncertain::pointwise:
      one("software.kernels.pointwise_traffic_factor", kernels.pointwise_traffic_factor.compiled,
          Course::up);
      break;
    case Uncertain::cross_entropy:
      one("software.kernels.cross_entropy_bytes", kernels.cross_entropy_bytes.compiled, Course::up);
      break;
    case Uncertain::optimizer:
      one("software.kernels.optimizer_traffic_bytes", kernels.optimizer_traffic_bytes, Course::up);
      break;
    case Uncertain::node_links:
      visit_links(scenario.cluster.node, "cluster.node.collectives", visit);
      if (scenario.cluster.domain) {
        visit_links(*scenario.cluster.domain, "cluster.domain.collectives", visit);
      }
      break;
    case Uncertain::network:
      one("cluster.network.efficiency", network.efficiency, Course::share_lost);
      break;
    case Uncertain::latency:
      one("cluster.network.latency_s", network.link.latency.value, Course::up);
      one("cluster.network.step_latency_s", network.link.step.value, Course::up);
      one("cluster.network.fill_s", network.link.fill.value, Course::up);
      break;
    case Uncertain::overlap:
      one("software.communication.overlap_contention", communication.overlap_contention,
          Course::share);
      one("device.overlap.loss", scenario.device.overlap_loss, Course::share);
      break;
    case Uncertain::host:
      if (software.host.one_launch.value > 0) {
        one("software.host.launch_s", software.host.one_launch.value, Course::up);
        break;
      }
      one("software.host.async_launch_per_layer_s", software.host.async_launch_per_layer.value,
          Course::from_zero);
      one("software.host.blocking_launch_per_layer_s",
          software.host.blocking_launch_per_layer.value, Course::from_zero);
      break;
    case Uncertain::fixed:
      one("software.host.fixed_per_iteration_s", software.host.fixed_per_iteration.value,
          Course::from_zero);
      one("software.host.update_per_layer_s", software.host.update_per_layer.value, Course::up);
      break;
    case Uncertain::blocking:
      one("software.communication.blocking_collective_factor",
          communication.blocking_collective_factor, Course::above_one);
      break;
    case Uncertain::small_kernels: visit_small_kernels(scenario.device.gemm, visit); break;
    case Uncertain::rank_limit:
      one("software.communication.rank_rate_limit", communication.rank_rate_limit.value,
          Course::down);
      break;
    case Uncertain::offload:
      one("device.host_link.rate", scenario.device.host_link.value, Course::down);
      break;
    case Uncertain::framework:
      one("software.memory.framework", memory.framework.value, Course::up);
      one("software.memory.parallel_framework", memory.parallel_framework.value, Course::up);
      one("software.memory.allocator_cache", memory.allocator_cache.value, Course::up);
      break;
    case Uncertain::activations:
      one("software.memory.activation_factor", memory.activation_factor, Course::up);
      break;
    case Uncertain::logits:
      one("software.memory.logit_bytes", memory.logit_bytes.compiled, Course::up);
      break;
    case Uncertain::workspace:
      one("software.memory.layer_workspace_factor", memory.layer_workspace_factor, Course::up);
      one("software.memory.score_bytes", memory.score_bytes, Course::up);
      break;
    case Uncertain::all:
    case Uncertain::peak: break;  // of the answer, not of a file
  }
}

Uncertain constant_at(const Cursor& cursor) {
  const std::string text = cursor.text();
  const auto found = uncertain_named(text);
  if (!found) {
    cursor.problem("unknown constant " + in_quotes(text) +
                   did_you_mean(text, {kUncertainNames.begin(), kUncertainNames.end()}));
  }
  return found.value_or(Uncertain::all);
}

NoisePrior read_noise(const Cursor& cursor) {
  NoisePrior parts;
  for (const Cursor& part : cursor.items()) {
    parts.push_back({part.at("weight").number(kPositive), part.at("median").number(kPositive),
                     part.at("log_sd").number(kPositive)});
  }
  if (parts.empty()) cursor.problem("expected at least one part");
  return parts;
}

KnownSpread read_known(const Cursor& cursor) {
  return {cursor.at("level").number(kPositive), cursor.at("noise").number(kPositive),
          static_cast<std::size_t>(cursor.at("rows").integer(0, 1'000'000))};
}

RunKind read_kind(const Cursor& cursor) {
  const auto adapters = cursor.find("adapters");
  return {cursor.at("experts").boolean(), adapters && adapters->boolean()};
}

}  // namespace

RunKind kind_of(const Scenario& scenario) {
  return {scenario.model.has_experts(), trains_adapters(scenario.plan.tuning)};
}

std::string cell_of(const Transformer& model, const Device& device) {
  const std::int64_t experts = model.has_experts() ? model.experts.count : 0;
  return fmt::format("{}x{}x{}{} {}", model.layers, model.hidden,
                     experts > 0 ? model.experts.ffn_hidden : model.ffn_hidden,
                     experts > 0 ? fmt::format("x{}", experts) : "", device.name);
}

std::optional<Uncertain> uncertain_named(std::string_view text) {
  const auto found = std::ranges::find(kUncertainNames, text);
  if (found == kUncertainNames.end()) return std::nullopt;
  return Uncertain(found - kUncertainNames.begin());
}

double log_density(const NoisePrior& prior, double noise) {
  double density = 0.0, weights = 0.0;
  for (const NoisePart& part : prior) {
    const double z = portable::log(noise / part.median) / part.log_sd;
    density += part.weight * portable::exp(-0.5 * z * z) /
               (part.log_sd * std::sqrt(2.0 * std::numbers::pi));
    weights += part.weight;
  }
  return portable::log(std::max(density / weights, 1e-300));
}

double typical(const NoisePrior& prior) {
  double sum = 0.0, weights = 0.0;
  for (const NoisePart& part : prior) {
    sum += part.weight * portable::log(part.median);
    weights += part.weight;
  }
  return portable::exp(sum / weights);
}

Uncertainty read_uncertainty(const Document& document) {
  Uncertainty uncertainty;
  const Cursor root = document.root();
  expect_schema(root, "prequel/uncertainty/1");
  const Cursor constants = root.at("constants");
  for (std::size_t i = 0; i < kUncertain; ++i) {
    const Cursor constant = constants.at(kUncertainNames[i]);
    ConstantPrior& prior = uncertainty.constants[i];
    prior.sd = constant.at("sd").number(kPositive);
    if (const auto least = constant.find("least")) prior.least = least->number(kNonNegative);
    if (const auto from = constant.find("from_zero")) prior.from_zero = from->number(kNonNegative);
    if (const auto guess = constant.find("guess")) prior.guess = guess->number(kPositive);
  }
  for (const Cursor& item : root.at("correlations").items()) {
    const std::vector<Cursor> between = item.at("between").items();
    if (between.size() != 2) {
      item.problem("expected two constants between which the correlation is");
      continue;
    }
    uncertainty.correlations.push_back(
        {constant_at(between[0]), constant_at(between[1]), item.at("value").number({-1.0, 1.0})});
  }
  uncertainty.time_noise = read_noise(root.at("time_noise"));
  uncertainty.memory_noise = read_noise(root.at("memory_noise"));
  for (const Cursor& item : root.at("checked").items()) {
    CheckedStack stack;
    stack.software = item.at("software").text();
    stack.kind = read_kind(item);
    for (const Cursor& cluster : item.at("clusters").items()) {
      stack.clusters.push_back({cluster.at("name").text(), cluster.at("time").number(kNonNegative),
                                cluster.at("memory").number(kNonNegative)});
    }
    if (const auto releases = item.find("releases")) {
      for (const Cursor& release : releases->items()) stack.releases.push_back(release.text());
    }
    stack.time = read_known(item.at("time"));
    stack.memory = read_known(item.at("memory"));
    uncertainty.checked.push_back(std::move(stack));
  }
  const Cursor levels = root.at("levels");
  uncertainty.levels = {
      levels.at("own").number(kPositive),     levels.at("own_memory").number(kPositive),
      levels.at("other").number(kPositive),   levels.at("other_memory").number(kPositive),
      levels.at("unseen").number(kPositive),  levels.at("unknown").number(kPositive),
      levels.at("machine").number(kPositive), levels.at("drift").number(kNonNegative)};
  if (const auto news = root.find("news")) {
    uncertainty.news = {
        news->at("cell").number(kNonNegative), news->at("release").number(kNonNegative),
        news->at("site").number(kNonNegative), news->at("doubling").number(kNonNegative)};
    if (const auto mixers = news->find("mixers")) {
      uncertainty.news.mixers = mixers->number(kNonNegative);
    }
  }
  if (const auto scatter = root.find("scatter")) {
    uncertainty.scatter.all = scatter->at("all").number(kNonNegative);
    for (std::size_t i = 0; i < kPlanTraits; ++i) {
      uncertainty.scatter.traits[i] = scatter->at(kPlanTraitNames[i]).number(kNonNegative);
    }
  }
  if (const auto families = root.find("families")) {
    for (const Cursor& item : families->items()) {
      KnownFamily family{item.at("framework").text(),
                         read_kind(item),
                         {},
                         item.at("cell_sd").number(kNonNegative),
                         item.at("nodes").number(kPositive),
                         item.at("ep").number(kPositive),
                         item.at("cp").number(kPositive),
                         item.at("seq_len").number(kPositive)};
      for (const Cursor& cell : item.at("cells").items()) family.cells.push_back(cell.text());
      std::ranges::sort(family.cells);
      uncertainty.families.push_back(std::move(family));
    }
  }
  for (const Cursor& item : root.at("benchmarks").items()) {
    uncertainty.benchmarks.push_back({constant_at(item.at("constant")), item.at("what").text(),
                                      item.at("sd").number(kPositive),
                                      item.at("minutes").number(kPositive)});
  }
  document.finish();
  return uncertainty;
}

Uncertainty shipped_uncertainty(const Library& library) {
  return library.open("uncertainty", "priors").read_once(read_uncertainty);
}

std::vector<UncertainField> fields_of(const Scenario& scenario, Uncertain constant) {
  Scenario copy = scenario;
  std::vector<UncertainField> fields;
  visit_fields(copy, constant, [&](const auto& path, double& value, Course) {
    fields.push_back({path(), value});
  });
  return fields;
}

void move(Scenario& scenario, const Uncertainty& uncertainty, Uncertain constant, double u) {
  const ConstantPrior& prior = uncertainty.constants[index_of(constant)];
  visit_fields(scenario, constant, [&](const auto&, double& value, Course course) {
    value = moved(value, course, prior, u);
  });
}

LogAnswer log_answer(Scenario scenario, const Uncertainty& uncertainty, const Deviations& moved) {
  for (std::size_t i = 0; i < kUncertain; ++i) {
    if (moved[i] != 0) move(scenario, uncertainty, Uncertain(i), moved[i]);
  }
  const Prediction prediction = predict(scenario);
  double needed = 0.0;
  for (const StagePrediction& stage : prediction.stages) {
    needed = std::max(needed, stage.memory.needed().value);
  }
  const double peak = moved[index_of(Uncertain::peak)];
  return {portable::log(prediction.sec_per_iter.value) + moved[index_of(Uncertain::all)],
          portable::log(memory_of(prediction, scenario.software.memory.prints).value) + peak,
          portable::log(needed) + peak};
}

}  // namespace prequel
