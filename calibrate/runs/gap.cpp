#include "calibrate/runs/gap.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "hw/base/student_t.hpp"
#include "hw/device.hpp"

namespace prequel {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kLeastProbability = 0.01;
constexpr double kTold = 0.8;            ///< of the probability, in a sentence
constexpr int kMostTold = 4;             ///< causes, in a sentence
constexpr double kNearlyCertain = 1e-4;  ///< prior deviation of what is held fixed

/// How a cause is told; its number is over what the files say.
struct Phrase {
  std::string_view what, of;
};
constexpr std::array<Phrase, kUncertainOfTime> phrases() {
  std::array<Phrase, kUncertainOfTime> all{};
  const auto say = [&](Uncertain constant, std::string_view what, std::string_view of) {
    all[index_of(constant)] = {what, of};
  };
  say(Uncertain::gemm, "matrix products", "times their time");
  say(Uncertain::attention, "attention kernels", "of their rate");
  say(Uncertain::pointwise, "memory-bound kernels", "times their bytes");
  say(Uncertain::cross_entropy, "the loss", "times its bytes");
  say(Uncertain::optimizer, "the optimizer", "times its time");
  say(Uncertain::node_links, "links inside nodes", "of their rate");
  say(Uncertain::network, "network between nodes", "of its rate");
  say(Uncertain::latency, "latency between nodes", "times");
  say(Uncertain::overlap, "time lost to overlap", "times");
  say(Uncertain::host, "launches by the host", "times their time");
  say(Uncertain::fixed, "fixed time of an iteration", "times");
  say(Uncertain::blocking, "blocking collectives", "times their time");
  say(Uncertain::small_kernels, "overhead of small products", "times");
  say(Uncertain::rank_limit, "the rate of one rank", "times");
  say(Uncertain::offload, "transfers of offload", "times their time");
  say(Uncertain::all, "everything alike (clocks, power)", "times its time");
  return all;
}

/// How the path of the attention that the job runs begins: of its kernel the head size nearest to
/// the model's, or what its stack knows of attention in several kernels.
std::string attention_path(const Scenario& scenario) {
  if (scenario.plan.attention != AttentionKind::flash) {
    return fmt::format("software.kernels.score_traffic.{}", name(scenario.plan.attention));
  }
  const AttentionKernel& kernel =
      attention_kernel(scenario.device, scenario.software.kernels.flash_kernel);
  const Transformer& model = scenario.model;
  const auto unlikeness = [&](const AttentionHeadSize& size) {
    return std::tuple(size.fp8, size.latent() != model.is_latent(),
                      std::abs(size.head_dim - static_cast<double>(model.head_dim)));
  };
  const auto nearest = std::ranges::min_element(kernel.head_sizes, {}, unlikeness);
  return fmt::format("device.attention.kernels.{}.head_sizes.{}.", kernel.name,
                     nearest - kernel.head_sizes.begin());
}

/// The first number of the job's that the constant moves; none: it has a factor alone.
UncertainField number_of(const Scenario& scenario, Uncertain constant) {
  const std::string begin =
      constant == Uncertain::attention ? attention_path(scenario) : std::string();
  for (const UncertainField& field : fields_of(scenario, constant)) {
    if (field.value > 0 && field.path.starts_with(begin)) return field;
  }
  return {{}, 1.0};
}

/// The posterior of one constant alone.
Posterior alone(const std::vector<ObservedRun>& runs, const std::vector<Observation>& seen,
                const Uncertainty& uncertainty, Uncertain constant, double sd) {
  const LogQuantities quantities = log_quantities(runs, uncertainty, {constant}, {});
  Prior prior{Eigen::MatrixXd::Constant(1, 1, sd * sd), uncertainty.time_noise};
  const VectorXd deviation = VectorXd::Constant(1, sd);
  return posterior(prior, seen, quantities, linear_model(quantities, VectorXd::Zero(1), deviation));
}

}  // namespace

std::vector<GapCause> gap_causes(const std::vector<ObservedRun>& runs,
                                 const Uncertainty& uncertainty) {
  constexpr auto kPhrases = phrases();
  std::vector<GapCause> causes;
  if (runs.empty()) return causes;
  std::vector<Observation> seen;
  for (const ObservedRun& run : runs) seen.push_back(run.seen);
  const Scenario& scenario = runs.front().scenario;
  const double reach = t4_half_width(0.8);
  std::vector<double> evidence;
  for (std::size_t i = 0; i < kUncertainOfTime; ++i) {
    const auto constant = Uncertain(i);
    const Posterior found = alone(runs, seen, uncertainty, constant, uncertainty.constants[i].sd);
    if (found.model.slopes.isZero()) continue;  // no run feels it
    const double u = found.constants[0];
    const double sd = std::sqrt(found.covariance(0, 0));
    const UncertainField number = number_of(scenario, constant);
    const auto at = [&](double moved) {
      return value_at(scenario, uncertainty, constant, number.path, moved) / number.value;
    };
    GapCause cause{{}, number.path, 0.0, at(u), 0.0, 0.0};
    std::tie(cause.low, cause.high) = std::minmax({at(u - reach * sd), at(u + reach * sd)});
    cause.what = fmt::format("{} {:.2f} {} ({:.2f}-{:.2f})", kPhrases[i].what, cause.value,
                             kPhrases[i].of, cause.low, cause.high);
    causes.push_back(std::move(cause));
    evidence.push_back(found.log_evidence);
  }
  causes.push_back({"scatter from run to run", {}, 0.0, 1.0, 1.0, 1.0});
  evidence.push_back(alone(runs, seen, uncertainty, Uncertain::all, kNearlyCertain).log_evidence);
  const double most = *std::ranges::max_element(evidence);
  double sum = 0.0;
  for (const double one : evidence) sum += std::exp(one - most);
  for (std::size_t i = 0; i < causes.size(); ++i) {
    causes[i].probability = std::exp(evidence[i] - most) / sum;
  }
  std::erase_if(causes, [](const GapCause& one) { return one.probability < kLeastProbability; });
  std::ranges::stable_sort(causes, std::greater{}, &GapCause::probability);
  return causes;
}

std::string text(const std::vector<GapCause>& causes) {
  if (causes.empty()) return {};
  if (causes.front().path.empty() && causes.front().value == 1.0) {
    return "no cause stands out from the scatter between runs";
  }
  std::string told;
  double sum = 0.0;
  int count = 0;
  for (const GapCause& one : causes) {
    told += fmt::format("{}{}, {:.0f} % likely", told.empty() ? "" : "; or ", one.what,
                        100 * one.probability);
    sum += one.probability;
    if (sum >= kTold || ++count == kMostTold) break;
  }
  return told;
}

}  // namespace prequel
