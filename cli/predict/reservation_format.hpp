#pragma once

/// A reservation as people and programs read it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/text/terminal.hpp"
#include "sim/run/reserve.hpp"

namespace prequel {

/// The job on another number of nodes.
struct NodesPoint {
  std::int64_t nodes{}, gpus{};
  std::string refused;  ///< why it cannot be; else empty
  double sec_per_iter{}, tokens_per_sec{};
  std::optional<ReservationAnswer> reservation;
};

/// Days, tokens, money and energy with their odds, where the hours go and what would help.
std::string reservation_text(const Plan& plan, const ReservationAnswer& answer,
                             const RunQuestion& question, const Terminal& terminal);

/// Tokens a second that count, against nodes: where more of them stop paying.
std::string over_nodes_text(const std::vector<NodesPoint>& points, const RunQuestion& question);
nlohmann::ordered_json over_nodes_json(const std::vector<NodesPoint>& points);

/// The values below which one in ten, half and nine in ten ways stay; null: never.
nlohmann::ordered_json band_json(const Band& band);

/// The member `reservation` of a prediction.
nlohmann::ordered_json reservation_json(const Plan& plan, const ReservationAnswer& answer,
                                        const RunQuestion& question);

}  // namespace prequel
