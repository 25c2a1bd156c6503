#pragma once

/// Constants of those who carry tokens to their experts.

#include <array>
#include <optional>

#include "hw/base/json_cursor.hpp"
#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// One way of tokens over device links, by kernels on some compute units:
///
///     t = latency + |(rows (row + width / unit_rate) / units, bytes / link_rate)|_4
///
/// with `rows` the copies that a rank sends, its own included, of `width` bytes each, and `bytes`
/// what leaves the rank. Source: form fitted to public tables of DeepEP's kernels, whose few units
/// are the limit where links are fast.
struct TransferModel {
  Seconds latency{};           ///< a call
  Seconds row{};               ///< of one unit for a copy
  BytesPerSecond unit_rate{};  ///< that a unit moves; 0: units are no limit
  BytesPerSecond link_rate{};  ///< of a rank
};

/// One dispatcher. What crosses the network and what crosses device links go on at the same time as
/// far as `network_beside` says; the rest waits, as copies do that are forwarded once they arrived.
struct DispatchModel {
  TransferModel dispatch;     ///< to the experts
  TransferModel combine;      ///< back
  double compute_units{};     ///< that the kernels take from products beside them
  double network_share{1.0};  ///< of what collectives get of the network
  /// Of `link_rate`, what kernels reach that also forward what came over the network.
  double forwarding_share{1.0};
  BytesPerSecond network_limit{};  ///< most that a rank puts on the network; 0: any
  Seconds network_row{};           ///< least that a copy takes which a rank puts there
  double network_beside{1.0};      ///< of the shorter of both, the share that the longer hides
};

/// By Dispatcher; those that a cluster does not tell of are priced by its collectives, but UCCL as
/// DeepEP, whose interface it has.
struct DispatchModels {
  std::array<std::optional<DispatchModel>, kWordsOf<Dispatcher>.size()> models;

  [[nodiscard]] const std::optional<DispatchModel>& of(Dispatcher dispatcher) const {
    return models[static_cast<std::size_t>(dispatcher)];
  }
};

/// Reads `{"deepep": {"compute_units", "dispatch": transfer, "combine": transfer,
/// "network_share"?, "forwarding_share"?, "network_limit"?, "network_row_s"?, "network_beside"?},
/// …}`, a transfer being
/// `{"latency_s", "link_rate", "row_s"?, "unit_rate"?}`; problems go to the cursor's document.
DispatchModels read_dispatch(const Cursor& cursor);

/// The models with every rate over device links at `fraction` of what it is.
DispatchModels scaled(DispatchModels models, double fraction);

/// Time of one way over device links.
Seconds transfer_time(const TransferModel& model, double units, double rows, Bytes width,
                      Bytes bytes);

}  // namespace prequel
