#include "models/plan/overlap.hpp"

#include <utility>

#include <fmt/format.h>

#include "models/plan/plan.hpp"
#include "models/shape/transformer.hpp"

namespace prequel {
namespace {

bool as_said(const Plan& plan, Overlapped word, Overlapped opposite, bool by_itself) {
  if (plan.overlap.has(opposite)) return false;
  return plan.overlap.has(word) || by_itself;
}

}  // namespace

bool exchanges_tokens(const Plan& plan, const Transformer& model) {
  return model.has_experts() && plan.ep > 1;
}

GradientOverlap gradient_overlap(const Plan& plan, const Software& software) {
  if (plan.overlap.has(Overlapped::no_grads)) return GradientOverlap::none;
  return plan.overlap.has(Overlapped::grads) ? GradientOverlap::always
                                             : software.communication.gradient_overlap;
}

bool reduces_beside(const Plan& plan, const Software& software) {
  const CommunicationStack& stack = software.communication;
  // A stack that gathers from owners beside no pass also reduces to them beside none.
  const bool to_owners = plan.zero == 1 && !stack.reduces_to_all;
  const bool kept_apart = to_owners && stack.prefetch_layers == 0;
  if (kept_apart && !plan.overlap.has(Overlapped::grads)) return false;
  const GradientOverlap overlap = gradient_overlap(plan, software);
  return overlap == GradientOverlap::always ||
         (overlap == GradientOverlap::no_pipeline && plan.pp == 1);
}

bool gathers_beside(const Plan& plan, const Software& software) {
  return as_said(plan, Overlapped::params, Overlapped::no_params,
                 software.communication.prefetch_layers > 0);
}

bool sends_beside(const Plan& plan, const Software& software) {
  return as_said(plan, Overlapped::p2p, Overlapped::no_p2p, !software.communication.p2p_wait);
}

std::string overlap_problem(WordSet<Overlapped> overlap) {
  using enum Overlapped;
  for (const auto& [word, opposite] :
       {std::pair{grads, no_grads}, std::pair{params, no_params}, std::pair{p2p, no_p2p}}) {
    if (overlap.has(word) && overlap.has(opposite)) {
      return fmt::format("overlap {}, {}: one of the two would do", name(word), name(opposite));
    }
  }
  return {};
}

}  // namespace prequel
