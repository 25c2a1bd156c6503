/// How answers change where a question is changed so that the right direction is known: on random
/// legal plans of all shipped models, clusters and stacks: 1,000 of them, or as many as
/// PREQUEL_RANDOM_PLANS says.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/student_t.hpp"
#include "models/axes/axis_text.hpp"
#include "models/plan/groups.hpp"
#include "sim/answer/contended_iteration.hpp"
#include "sim/answer/interval.hpp"
#include "sim/answer/known_spread.hpp"
#include "sim/answer/prediction.hpp"
#include "sim/answer/timeline.hpp"
#include "sim/answer/what_if.hpp"
#include "sim/step/plan_memory.hpp"
#include "sim/step/step.hpp"
#include "tests/models/shipped.hpp"

namespace prequel {
namespace {

constexpr double kRounding = 1e-6;
constexpr double kOvertaking = 1e-4;
constexpr double kFilling = 3e-3;  ///< of pipelines that are not in their rhythm yet

/// A question, and the same with some of its plan changed.
struct Asked {
  Job job;
  PlanRequest plan;

  /// Nothing where that is no legal plan.
  [[nodiscard]] std::optional<Scenario> with(const std::function<void(PlanRequest&)>& change =
                                                 [](PlanRequest&) {}) const {
    PlanRequest changed = plan;
    change(changed);
    try {
      const Scenario scenario = resolve(job, changed).scenario;
      (void)step_of(scenario);
      return scenario;
    } catch (const InputError&) {
      return {};
    }
  }
};

/// The same for the same seed.
class Questions {
 public:
  explicit Questions(std::uint32_t seed) : random_(seed), library_(shipped_library()) {}

  Asked next() {
    for (;;) {
      if (std::optional<Asked> found = draw()) return *found;
    }
  }

 private:
  std::optional<Asked> draw() {
    JobRequest request;
    request.model = one_of(models_);
    request.cluster = one_of(clusters_);
    request.software = one_of(software_);
    try {
      Asked asked{read_job(library_, request), {}};
      asked.plan = plan(asked.job);
      if (!asked.with()) return {};
      return asked;
    } catch (const InputError&) {
      return {};
    }
  }

  PlanRequest plan(const Job& job) {
    const std::int64_t nodes = std::min<std::int64_t>(job.cluster.nodes, power(5));
    const std::int64_t gpus = nodes * job.cluster.devices_per_node;
    PlanRequest plan = job.plan;
    plan.seq_len = std::min<std::int64_t>(4096, job.model.max_positions);
    plan.tp = std::min(power(3), job.cluster.devices_per_node);
    plan.pp = power(4);
    if (*plan.tp * *plan.pp > gpus || gpus % (*plan.tp * *plan.pp) != 0) plan.pp = 1;
    plan.dp = gpus / (*plan.tp * *plan.pp);
    if (job.model.has_experts()) plan.ep = std::min(power(3), *plan.dp);
    plan.schedule = one_of(std::vector{Schedule::one_f_one_b, Schedule::one_f_one_b,
                                       Schedule::gpipe, Schedule::interleaved, Schedule::zb_h1});
    plan.vpp = *plan.schedule == Schedule::interleaved ? 2 : 1;
    plan.mbs = power(2);
    plan.gbs = *plan.dp * *plan.mbs * *plan.pp * power(3);
    plan.zero = static_cast<std::int64_t>(random_() % 4);
    plan.recompute = one_of(std::vector{Recompute::none, Recompute::selective, Recompute::full});
    plan.sequence_parallel = *plan.tp > 1 && random_() % 2 == 0;
    plan.attention = one_of(
        std::vector{AttentionKind::flash, AttentionKind::unfused, AttentionKind::fused_softmax});
    return plan;
  }

  std::int64_t power(unsigned most) { return std::int64_t{1} << (random_() % (most + 1)); }
  template <class Value>
  Value one_of(const std::vector<Value>& values) {
    return values[random_() % values.size()];
  }

  std::mt19937 random_;
  Library library_;
  std::vector<std::string> models_ = library_.names("models");
  std::vector<std::string> clusters_ = library_.names("clusters");
  std::vector<std::string> software_ = library_.names("software");
};

/// Where a check plays each plan many times, so many plans do.
constexpr std::uint32_t kFew = 120;

/// Calls `check` on as many questions as are asked for, by default `usual` ones.
void on_random_plans(const std::function<void(const Asked&, const Scenario&)>& check,
                     std::uint32_t usual = 1000) {
  const char* asked = std::getenv("PREQUEL_RANDOM_PLANS");
  const std::uint32_t plans =
      asked ? static_cast<std::uint32_t>(std::strtoul(asked, nullptr, 10)) : usual;
  for (std::uint32_t seed = 1000; seed < 1000 + plans; ++seed) {
    CAPTURE(seed);
    Questions questions(seed);
    const Asked question = questions.next();
    const Scenario scenario = *question.with();
    CAPTURE(scenario.model.name);
    CAPTURE(scenario.cluster.name);
    CAPTURE(scenario.software.name);
    std::string plan;
    each_axis([&](const auto& axis) {
      plan += fmt::format("{} {} ", axis.name, cell_of(axis.of(scenario.plan)));
    });
    CAPTURE(plan);
    check(question, scenario);
  }
}

double step_seconds(const Scenario& scenario) {
  return iteration_time(scenario, price_layers(scenario)).value;
}

double peak(const Scenario& scenario) {
  return plan_memory(scenario, weights_of(scenario),
                     chunks_in_flight(scenario.plan, scenario.software))
      .needed()
      .value;
}

/// Without what is whole for a while only: layers that are gathered.
double kept(const Scenario& scenario) {
  double most = 0;
  const PlanMemory memory = plan_memory(scenario, weights_of(scenario),
                                        chunks_in_flight(scenario.plan, scenario.software));
  for (const StageMemory& stage : memory.stages) {
    most = std::max(most, (stage.needed() - stage.buffers).value);
  }
  return most;
}

TEST_CASE("parts of time and memory add up, none below 0, and the peak is the fullest stage's") {
  on_random_plans([](const Asked& /*asked*/, const Scenario& scenario) {
    const Prediction found = predict(scenario);
    double most = 0;
    for (const StagePrediction& stage : found.stages) {
      const Breakdown& time = stage.time;
      CHECK(time.total() == doctest::Approx(found.sec_per_iter.value).epsilon(1e-9));
      for (const double part :
           {time.compute, time.recompute, time.tp_comm, time.cp_comm, time.ep_comm, time.pp_comm,
            time.dp_comm, time.bubble, time.optimizer, time.host, time.other}) {
        CHECK(part >= 0);
      }
      most = std::max(most, stage.memory.total().value);
    }
    CHECK(found.peak_memory.value == doctest::Approx(most));
    CHECK(found.hardware_flops_rate(scenario.plan) >=
          found.model_flops_rate(scenario.plan) * (1 - kRounding));
    // An indexer works in 16 bits, whatever the plan's format, whose peak this is.
    if (scenario.model.indexer.heads == 0) {
      CHECK(found.hardware_flops_rate(scenario.plan) <= found.peak.value);
    }
    CHECK(predict(scenario).sec_per_iter == found.sec_per_iter);
  });
}

TEST_CASE("no low end of an interval is below what is left without the host's part and its doubt") {
  const Uncertainty uncertainty = read_uncertainty(shipped_library().open("uncertainty", "priors"));
  on_random_plans([&](const Asked& /*asked*/, const Scenario& scenario) {
    const Prediction found = predict(scenario);
    const Interval sure = interval(scenario, found, uncertainty);
    CHECK(sure.time_low <= found.sec_per_iter);
    CHECK(sure.time_high >= found.sec_per_iter);
    // The doubt of kernels and links, without that of the host.
    const Spread spread = spread_of(scenario, uncertainty);
    Deviations others = sure.slopes;
    others[index_of(Uncertain::host)] = others[index_of(Uncertain::fixed)] = 0.0;
    const double scale =
        std::sqrt(variance_of(others, spread) + spread.time_noise * spread.time_noise);
    const double doubt = 1.0 - std::exp(-t4_half_width(kIntervalLevel) * scale);
    const double without_host =
        found.sec_per_iter.value - found.breakdown.host - found.breakdown.other;
    CHECK(sure.time_low.value >= 0.8 * without_host * (1.0 - doubt));
    const double of_host = 1.0 - without_host / found.sec_per_iter.value;
    if (of_host < 0.1 && scale < 0.25) {
      CHECK(sure.time_high.value < 4.0 * found.sec_per_iter.value);
    }
  });
}

/// A pass that grows may overtake another where passes go beside each other.
constexpr double kAnomaly = 4e-3;

/// The scenario with one thing of its machine changed.
template <class Change>
double seconds_with(Scenario scenario, const Change& change) {
  change(scenario);
  return step_seconds(scenario);
}

TEST_CASE("accounts of all schedules add up, and more of any resource is never slower") {
  on_random_plans([](const Asked& asked, const Scenario& drawn) {
    // Every schedule, where it is legal.
    const auto other = asked.with([&](PlanRequest& plan) {
      constexpr auto kSchedules = kWordsOf<Schedule>.size();
      plan.schedule = static_cast<Schedule>((*plan.gbs + *plan.pp + *plan.tp) % kSchedules);
      plan.vpp.reset();
      if (traits(*plan.schedule).interleaved) plan.vpp = 2;
    });
    const Scenario& scenario = other ? *other : drawn;
    CAPTURE(name(scenario.plan.schedule));
    const Prediction found = predict(scenario);
    const double usual = found.sec_per_iter.value;
    for (const StagePrediction& stage : found.stages) {
      CHECK(stage.time.total() == doctest::Approx(usual).epsilon(kRounding));
      CHECK(stage.time.ep_comm >= 0);
      CHECK(stage.time.bubble >= -kRounding * usual);
    }
    const double overtaken = usual * kAnomaly;
    const auto faster = [&](const auto& change) {
      CHECK(seconds_with(scenario, change) <= usual + overtaken);
    };
    const auto slower = [&](const auto& change) {
      CHECK(seconds_with(scenario, change) >= usual - overtaken);
    };
    faster([](Scenario& its) {
      for (double& peak : its.device.peaks) peak *= 1.1;
    });
    faster([](Scenario& its) { its.device.memory_rate = its.device.memory_rate * 1.1; });
    slower([](Scenario& its) {
      for (const LinkClass level : link_levels(its.cluster.fabric->description())) {
        its.cluster = with_link_fraction(its.cluster, level, 0.9);
      }
    });
    slower([](Scenario& its) {
      its.cluster.network.link.latency = its.cluster.network.link.latency * 3.0;
    });
    slower([](Scenario& its) {
      its.software.host.one_launch = its.software.host.one_launch * 2.0;
      its.software.host.async_launch_per_layer = its.software.host.async_launch_per_layer * 2.0;
    });
    Scenario roomy = scenario;
    roomy.device.memory = roomy.device.memory * 1.2;
    CHECK(step_seconds(roomy) == usual);
  });
}

TEST_CASE("schedules with more in flight, or with passes split by hand, are not slower") {
  on_random_plans([](const Asked& asked, const Scenario& /*drawn*/) {
    const auto with = [&](Schedule schedule) {
      const auto other = asked.with([&](PlanRequest& plan) {
        plan.schedule = schedule;
        plan.vpp = 1;
      });
      return other ? step_seconds(*other) : 0.0;
    };
    const double one = with(Schedule::zb_h1), two = with(Schedule::zb_h2);
    if (one > 0 && two > 0) CHECK(two <= one * (1 + kRounding));
    const double free = with(Schedule::zb_2p);
    if (two > 0 && free > 0) CHECK(free <= two * (1 + kRounding));
  });
}

TEST_CASE("exchanges beside passes are not slower by more than what is measured") {
  on_random_plans([](const Asked& asked, const Scenario& /*drawn*/) {
    const auto with = [&](bool beside) {
      return asked.with([&](PlanRequest& plan) {
        plan.overlap = beside ? WordSet<Overlapped>{Overlapped::ep} : WordSet<Overlapped>{};
      });
    };
    const auto beside = with(true), apart = with(false);
    if (!beside || !apart || !beside->model.has_experts()) return;
    // Reductions of every micro batch run beside no pass that exchanges, and are exposed.
    if (beside->plan.zero == 2) return;
    const Prediction before = predict(*apart);
    double launched = 0;
    for (const StagePrediction& stage : before.stages) {
      launched = std::max(launched, stage.time.compute + stage.time.recompute + stage.time.host);
    }
    const double measured = beside->software.host.beside_launch_share * launched;
    // The first forward and the last backward have nothing beside them.
    constexpr double kFills = 0.01;
    CHECK(step_seconds(*beside) <= before.sec_per_iter.value * (1 + kFills) + measured);
  });
}

TEST_CASE("slower links never make a step faster") {
  on_random_plans([](const Asked& /*asked*/, const Scenario& scenario) {
    const double usual = step_seconds(scenario);
    for (const LinkClass level : link_levels(scenario.cluster.fabric->description())) {
      Scenario slower = scenario;
      slower.cluster = with_link_fraction(scenario.cluster, level, 0.5);
      CHECK(step_seconds(slower) >= usual * (1 - kRounding));
    }
  });
}

TEST_CASE("twice the batch takes longer, and every further one as much more at least") {
  on_random_plans([](const Asked& asked, const Scenario& scenario) {
    const auto times = [&](std::int64_t factor) {
      const auto more = asked.with([&](PlanRequest& plan) { *plan.gbs *= factor; });
      return more ? step_seconds(*more) : 0.0;
    };
    CHECK(times(2) > step_seconds(scenario));
    // A pipeline is in its rhythm from about four micro batches a stage on.
    const std::int64_t filled = scenario.plan.pp > 1 ? 4 : 1;
    const double once = times(filled), twice = times(2 * filled), four = times(4 * filled);
    CHECK(four - twice >= 2 * (twice - once) * (1 - kFilling) - kRounding * four);
  });
}

TEST_CASE("more recompute is never faster, and takes no more memory where stages have layers") {
  on_random_plans([](const Asked& asked, const Scenario& scenario) {
    // One layer that is live as a whole, and its input, are what a stage of one layer holds anyway.
    if (scenario.model.layers < 2 * scenario.plan.pp * scenario.plan.vpp) return;
    double before = 0;
    double held = std::numeric_limits<double>::infinity();
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
      const auto other = asked.with([&](PlanRequest& plan) { plan.recompute = recompute; });
      if (!other) continue;
      CHECK(step_seconds(*other) >= before * (1 - kOvertaking));
      // Few micro batches are fullest at the end of a backward, beside whole gradients, when a
      // layer that is repeated is there as a whole.
      if (other->plan.micro_batches() > other->plan.pp)
        CHECK(peak(*other) <= held * (1 + kRounding));
      before = step_seconds(*other);
      held = peak(*other);
    }
  });
}

TEST_CASE("sharding more of the states, or sequences, never takes more memory") {
  on_random_plans([](const Asked& asked, const Scenario& /*scenario*/) {
    double held = std::numeric_limits<double>::infinity();
    double most = held;
    for (const std::int64_t zero : {0, 1, 2, 3}) {
      const auto other = asked.with([&](PlanRequest& plan) { plan.zero = zero; });
      if (!other) continue;
      CAPTURE(zero);
      // An update keeps no activations: where the stage before was fullest at it, and this one is
      // not, the whole says which of them takes more.
      CHECK((kept(*other) <= held * (1 + kRounding) || peak(*other) <= most * (1 + kRounding)));
      held = kept(*other);
      most = peak(*other);
    }
    const auto sequence = [&](bool on) {
      return asked.with([&](PlanRequest& plan) { plan.sequence_parallel = on; });
    };
    const auto whole = sequence(false), shared = sequence(true);
    if (!whole || !shared) return;
    // An input that is gathered again may be larger than what little is shared out.
    const double input =
        2.0 * real(shared->plan.mbs * shared->plan.seq_len) * real(shared->model.hidden);
    CHECK(peak(*shared) <= peak(*whole) * (1 + kRounding) + input);
  });
}

/// Bytes of the table's gradients that wait on GPipe's last stage: a loss that makes its gradients
/// in the forward pass (Liger's) has a whole one a head for each micro batch, however small.
double early_tables(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const bool early = plan.loss == LossForm::fused && !scenario.software.kernels.transformer_engine;
  if (!early || plan.schedule != Schedule::gpipe) return 0;
  const std::int64_t heads = whole_model(scenario.model).parts[Part::head];
  return real(heads * plan.micro_batches()) * bytes_per_element(activation_precision(plan)) *
         real(scenario.model.hidden) *
         real(head_outputs(scenario.model, plan.tp, scenario.software.vocab_multiple));
}

TEST_CASE("smaller micro batches never take more memory, nor do more replicas") {
  on_random_plans([](const Asked& asked, const Scenario& scenario) {
    // Where one micro batch is all of a step, gradients of the step before are gone.
    if (scenario.plan.mbs > 1 && scenario.plan.micro_batches() > 1) {
      const auto smaller = asked.with([](PlanRequest& plan) { *plan.mbs /= 2; });
      if (smaller) {
        const double tables = early_tables(*smaller) - early_tables(scenario);
        CHECK(peak(*smaller) <= peak(scenario) * (1 + kRounding) + tables);
      }
    }
    const auto more = asked.with([](PlanRequest& plan) {
      *plan.dp *= 2;
      *plan.gbs *= 2;
      plan.nodes.reset();
    });
    // A first replica, of experts too, brings buffers to reduce gradients in.
    const bool copied =
        !scenario.model.has_experts() || rank_group(scenario.plan, GroupAxis::expert_data).size > 1;
    if (more && scenario.plan.dp > 1 && copied) {
      CHECK(peak(*more) <= peak(scenario) * (1 + kRounding));
    }
  });
}

TEST_CASE("twice the replicas on twice the batch are never faster, but for the optimizer's share") {
  on_random_plans([](const Asked& asked, const Scenario& scenario) {
    auto more = asked.with([](PlanRequest& plan) {
      *plan.dp *= 2;
      *plan.gbs *= 2;
      plan.nodes.reset();
    });
    if (!more) return;
    // Inside a node, few ranks use fewer of its links than many, as was measured.
    const RankGroup group = rank_group(scenario.plan, GroupAxis::data);
    if (!group_shape(scenario.cluster, scenario.plan.gpus, group.size, group.stride)
             .crosses_network()) {
      return;
    }
    const auto optimizer = [](const Prediction& found) {
      double most = 0;
      for (const auto& stage : found.stages) most = std::max(most, stage.time.optimizer);
      return most;
    };
    // Buckets that grow with the replicas need fewer collectives: both keep the smaller ones.
    Scenario fewer = scenario;
    fewer.software.communication.gradient_bucket = {Bytes{160e6}};
    more->software.communication.gradient_bucket = {Bytes{160e6}};
    const Prediction before = predict(fewer), after = predict(*more);
    const double shared = std::max(0.0, optimizer(before) - optimizer(after));
    CHECK(after.sec_per_iter.value >= (before.sec_per_iter.value - shared) * (1 - kRounding));
  });
}

TEST_CASE("ranks at full speed take the time predicted, a slow node more, up to its own loss") {
  on_random_plans(
      [](const Asked& /*asked*/, const Scenario& scenario) {
        const double usual = step_seconds(scenario);
        const auto slow = [&](double speed) {
          WhatIf question;
          question.slow_nodes = {{0, speed}};
          return what_if(scenario, question).mean;
        };
        CHECK(slow(1.0) == doctest::Approx(usual).epsilon(1e-9));
        CHECK(slow(0.8) >= usual * (1 - kRounding));
        CHECK(slow(0.8) <= usual / 0.8 * (1 + kRounding));
      },
      kFew);
}

TEST_CASE("things in each other's way are never faster, but for what the clock says too much") {
  on_random_plans(
      [](const Asked& /*asked*/, const Scenario& scenario) {
        if (scenario.plan.tp > scenario.cluster.devices_per_node) return;
        const ContendedIteration contended = contended_iteration(scenario, {});
        const double usual = step_seconds(scenario);
        // The clock's surplus in sharing or loss is told, and may be less than nothing;
        // what starts later may overlap less.
        const double spared = std::min(0.0, contended.links) + std::min(0.0, contended.overlap);
        CHECK(contended.seconds >= (usual + spared) * (1 - kOvertaking));
      },
      kFew);
}

TEST_CASE("a timeline ends with the iteration") {
  on_random_plans(
      [](const Asked& /*asked*/, const Scenario& scenario) {
        const Timeline told = timeline(scenario);
        CHECK(told.seconds == doctest::Approx(step_seconds(scenario)).epsilon(1e-9));
        double end = 0;
        for (const TimelineSlice& slice : told.slices) end = std::max(end, slice.end_s);
        CHECK(end +
                  beside_the_passes(scenario.software.host, scenario.model.layers, scenario.plan.pp)
                      .value ==
              doctest::Approx(told.seconds).epsilon(1e-9));
      },
      kFew);
}

}  // namespace
}  // namespace prequel
