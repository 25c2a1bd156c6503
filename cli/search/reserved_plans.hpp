#pragma once

/// The first plans of a search as reservations: in how many days, for how much and with which
/// probability in time.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/search/search_options.hpp"
#include "sim/answer/interval.hpp"
#include "sim/run/reserve.hpp"
#include "sim/search/search.hpp"

namespace prequel {

/// So many plans are played.
inline constexpr std::size_t kReserved = 10;

/// A plan, played from the first hour to the last token on nodes that are paid until then.
struct ReservedPlan {
  std::size_t rank{};  ///< among the plans of the search, from 0
  std::int64_t nodes{}, spares{};
  double expected_days{};  ///< by the closed form
  Band days;
  double days_at_risk{};            ///< with the probability that is asked for, no more than these
  std::optional<double> in_time;    ///< probability, where there is a deadline
  std::optional<double> cost, kwh;  ///< in that many days
  double value{};                   ///< what it is ranked by; less is better
};

/// Tests whether the options ask for reservations: tokens, and a word about odds, sites or saving.
bool asks_for_reservations(const SearchOptions& options);

/// Share of time that counts on so many nodes as candidates have, by the closed form and the number
/// of nodes.
std::vector<double> counted_by_nodes(const SearchInputs& inputs, const Site& site,
                                     const SearchOptions& options, const Candidates& candidates);

/// Plays the first plans; those that are in time with the probability asked for come first, the
/// best of them at the front. `intervals` are of the same plans.
std::vector<ReservedPlan> reserved_plans(const SearchInputs& inputs, const Site& site,
                                         const SearchOptions& options,
                                         const std::vector<FoundPlan>& plans,
                                         const std::vector<Interval>& intervals, double price);

std::string reserved_plans_text(const std::vector<ReservedPlan>& plans,
                                const SearchOptions& options, const std::string& maturity);
nlohmann::ordered_json reserved_plans_json(const std::vector<ReservedPlan>& plans);

}  // namespace prequel
