#pragma once

/// A plan while it is filled and held against rules. The rules stand in files by family:
/// kernel_rules, parallel_rules, expert_rules and memory_rules; rules.cpp has their order, and
/// those of degrees, batch and sequence.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hw/cluster.hpp"
#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"
#include "models/stack/software.hpp"

namespace prequel {

/// The part of a judgement that is put into words: texts take longer than the rules.
enum class Wording : std::uint8_t { nothing, problems, all };

/// A plan that is judged, beside what it is judged by.
struct Ruling {
  const PlanRequest& request;
  const Transformer& model;
  const Cluster& cluster;
  const Software& software;
  Wording wording{};
  Plan plan{};
  bool is_legal{true};
  std::vector<std::string> problems{};
  std::vector<std::string> warnings{};

  /// `text` makes what is said of a broken rule, where anyone wants to read it.
  template <class Text>
  void problem(const Text& text) {
    is_legal = false;
    if (wording != Wording::nothing) problems.push_back("plan: " + text());
  }
  void problem(const char* text) {
    problem([&] { return std::string(text); });
  }
  template <class... Values>
  void warn(fmt::format_string<Values...> text, Values&&... values) {
    if (wording == Wording::all) {
      warnings.push_back(fmt::format(text, std::forward<Values>(values)...));
    }
  }
};

/// The divisor of `whole` that is nearest to `wanted` (the smaller one on a tie).
std::int64_t nearest_divisor(std::int64_t whole, std::int64_t wanted);
/// The multiples of `unit` around `wanted`, as words: "2040 or 2048".
std::string nearest_multiples(std::int64_t unit, std::int64_t wanted);

/// Leaves chosen attention without a kernel for it where nobody asks for one (Megatron's default).
void fill_chosen_attention(Ruling& its);
/// Flash attention is a kernel of 16-bit products that the stack must have.
void check_attention(Ruling& its);
/// Recipes are of 8 or 4 bits, and of the one that is asked for.
void check_formats(Ruling& its);

void check_tensor_parallel(Ruling& its);
/// Ranks take a piece of the front and one of the back of each sequence, so that the causal mask
/// is shared evenly.
void check_context_parallel(Ruling& its);
void check_pipeline(Ruling& its);

/// Megatron-Core: "sequence parallelism must be used" with experts and tensor parallelism.
bool offers_sequence_parallel(const Ruling& its);
void check_expert_parallel(Ruling& its);
/// How many times the mean the busiest rank's experts get.
void fill_imbalance(Ruling& its);

void check_zero(Ruling& its);
void check_optimizer(Ruling& its);
/// Checks that hosts can hold what leaves the device.
void check_host_memory(Ruling& its);
void check_recompute(Ruling& its);
/// Checks the choice of parameters that learn, and of adapters beside them.
void check_tuning(Ruling& its);

}  // namespace prequel
