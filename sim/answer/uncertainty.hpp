#pragma once

/// Constants of device, cluster and software that no file knows exactly and that err together: how
/// far each may be from its value, and how they are moved. A constant moves by u, which is normal
/// around 0 with the constant's spread; at 0 all files are as they are.

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/library.hpp"
#include "sim/answer/plan_scatter.hpp"
#include "sim/price/pricing.hpp"

namespace prequel {

class Document;

/// Constants that err together; those from `framework` on move memory, the others time.
enum class Uncertain : std::uint8_t {
  gemm,           ///< time of matrix products
  attention,      ///< time of attention kernels, fused and not
  pointwise,      ///< traffic of memory-bound kernels
  cross_entropy,  ///< traffic of the loss
  optimizer,      ///< traffic of the update
  node_links,     ///< time of collectives inside a node
  network,        ///< share of the network's rate that is lost
  latency,        ///< of the network
  overlap,        ///< loss of what runs beside each other
  host,           ///< launches
  fixed,          ///< time of an iteration that nothing scales
  blocking,       ///< what blocking launches add to collectives
  small_kernels,  ///< launch and tile overheads of products
  rank_limit,     ///< most that a rank puts on the network
  offload,        ///< host link and fixed time of CPU offload
  all,            ///< every time: clocks, power, containers of a site
  framework,      ///< context, buffers and the allocator's cache
  activations,    ///< what layers keep for the backward pass
  logits,         ///< bytes a logit
  workspace,      ///< live layer and scores
  peak            ///< all memory
};

inline constexpr std::array<std::string_view, 21> kUncertainNames{
    "gemm",          "attention",  "pointwise", "cross-entropy", "optimizer", "node-links",
    "network",       "latency",    "overlap",   "host",          "fixed",     "blocking",
    "small-kernels", "rank-limit", "offload",   "all",           "framework", "activations",
    "logits",        "workspace",  "peak"};
inline constexpr std::size_t kUncertain = kUncertainNames.size();

/// Its place in `kUncertainNames` and in `Deviations`.
constexpr std::size_t index_of(Uncertain constant) {
  return static_cast<std::size_t>(constant);
}
inline constexpr std::size_t kUncertainOfTime = index_of(Uncertain::framework);

constexpr std::string_view name(Uncertain constant) {
  return kUncertainNames[index_of(constant)];
}
std::optional<Uncertain> uncertain_named(std::string_view text);

/// How far each constant is from 0, in the order of `Uncertain`.
using Deviations = std::array<double, kUncertain>;

/// The spread expected of a constant before any run was seen.
struct ConstantPrior {
  double sd{};         ///< of u
  double least{};      ///< bound that the value never crosses
  double from_zero{};  ///< where a value of 0 goes at u = 1, over e - 1
  double guess{};      ///< `sd` before any table tells of it; 0: as `sd`
};

/// ln s of the scale s of a Student t with 4 degrees of freedom: one of several normals.
struct NoisePart {
  double weight{};
  double median{};  ///< of s
  double log_sd{};
};
using NoisePrior = std::vector<NoisePart>;

/// The logarithm of the prior's density at ln s.
double log_density(const NoisePrior& prior, double noise);
/// The scale that is most usual: exp of the mean of ln s.
double typical(const NoisePrior& prior);

struct Correlation {
  Uncertain first{}, second{};
  double value{};
};

/// The spread of an answer's logarithm that remains after runs.
struct KnownSpread {
  double level{1.0};  ///< share of the priors' spread of all constants
  double noise{};     ///< scale of the scatter beside it
  std::size_t rows{};
};

/// A cluster on which a stack was checked: sd of what all its runs there are off by alike, of
/// their seconds and of their bytes.
struct CheckedCluster {
  std::string name;
  double time{}, memory{};
};

/// Runs of a stack, from which on they tell of its constants.
inline constexpr std::size_t kTellingRuns = 10;

/// The kind of a run: of a dense model or of experts, whose weights learn or whose adapters do.
/// Kinds err apart, so that a stack is checked for each.
struct RunKind {
  bool experts{}, adapters{};

  friend auto operator<=>(const RunKind&, const RunKind&) = default;
};
RunKind kind_of(const Scenario& scenario);

/// A stack whose constants were checked against runs of one kind.
struct CheckedStack {
  std::string software;
  RunKind kind;
  std::vector<CheckedCluster> clusters;
  std::vector<std::string> releases;  ///< without a file, for whose runs it stood in
  KnownSpread time, memory;
};

/// The runs of one kind of a framework's stacks: which models they were of on which cards, and how
/// far they reach.
struct KnownFamily {
  std::string framework;
  RunKind kind;
  std::vector<std::string> cells;         ///< as `cell_of` names them, sorted
  double cell_sd{};                       ///< of what the runs of a cell are off by alike
  double nodes{}, ep{}, cp{}, seq_len{};  ///< the most of any run
};

/// Spreads of ln seconds for new traits of a plan, which make its answer less sure.
struct NewTerms {
  double cell{};      ///< of a model on a card that no run is of, over the family's `cell_sd`
  double release{};   ///< sd of a release that no file is known of
  double site{};      ///< sd of a cluster on which the stack was not checked
  double doubling{};  ///< sd for each doubling beyond the runs' nodes, EP, context ranks, length
  double mixers{};    ///< sd of layers whose mixer is no softmax attention over all keys
};

/// Model and card by what they are, not by their names: "32x4096x14336 h100-sxm".
std::string cell_of(const Transformer& model, const Device& device);

/// How much of the priors' spread remains.
struct SpreadLevels {
  double own{1.0};           ///< around which those of checked stacks lie
  double own_memory{1.0};    ///< likewise, of the constants that move memory
  double other{1.0};         ///< for a stack that was not checked on the cluster
  double other_memory{1.0};  ///< likewise, of the constants that move memory
  double unseen{1.0};        ///< for a stack of which no run was seen anywhere
  double unknown{1.0};       ///< a release that no file is known of, over `other`
  double machine{1.0};       ///< a machine that no file is known of, over `other`
  double drift{};            ///< sd of `all` since a calibration by runs
};

/// A measurement of one constant alone.
struct Benchmark {
  Uncertain constant{};
  std::string what;
  double sd{};  ///< of u, after it
  double minutes{};
};

/// data/uncertainty/priors.json
struct Uncertainty {
  std::array<ConstantPrior, kUncertain> constants;
  std::vector<Correlation> correlations;
  NoisePrior time_noise, memory_noise;
  std::vector<CheckedStack> checked;
  std::vector<KnownFamily> families;
  NewTerms news;
  ScatterShares scatter;
  SpreadLevels levels;
  std::vector<Benchmark> benchmarks;
};

/// Reads a `prequel/uncertainty/1` file. Throws InputError with every problem of the file.
Uncertainty read_uncertainty(const Document& document);
/// The library's, `uncertainty/priors.json`.
Uncertainty shipped_uncertainty(const Library& library);

/// One number of a file, as --set spells it ("software.kernels.gemm_time_factor").
struct UncertainField {
  std::string path;
  double value{};

  friend bool operator==(const UncertainField&, const UncertainField&) = default;
};
/// The numbers that the constant moves, with their values here.
std::vector<UncertainField> fields_of(const Scenario& scenario, Uncertain constant);

/// Moves the numbers of one constant by u: most by a factor e^u or e^-u; shares of a rate on the
/// logistic scale, so that they stay below 1; what has a least value in its distance from it.
void move(Scenario& scenario, const Uncertainty& uncertainty, Uncertain constant, double u);

/// Natural logarithms of an answer: seconds; bytes as printed, and as needed.
struct LogAnswer {
  double time{}, printed{}, needed{};
};
/// The prediction with all constants moved. Throws as `predict`.
LogAnswer log_answer(Scenario scenario, const Uncertainty& uncertainty, const Deviations& moved);

}  // namespace prequel
