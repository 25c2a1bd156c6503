#pragma once

/// Options of a search.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/common_options.hpp"
#include "cli/import/shell/script_inputs.hpp"
#include "models/job/library.hpp"
#include "sim/run/reservation_question.hpp"

namespace prequel {

struct SearchOptions {
  JobRequest request;
  ScriptInputs script;
  /// Values as the user wrote them, by axis: "1,2,4", "8:64:8", "none,full".
  std::map<std::string, std::string> axes;
  /// The same for the shape of the model: "layers", "hidden", "heads".
  std::map<std::string, std::string> shape_axes;
  std::optional<double> parameters;            ///< that shapes must have; as the model if not said
  std::optional<double> parameters_tolerance;  ///< a share of them; 0.05 if not said
  std::optional<std::int64_t> gpus;            ///< on whole nodes
  std::optional<std::int64_t> max_nodes;
  std::int64_t reserve{};  ///< nodes kept free of those asked for
  bool everything{};       ///< all values of all axes, whether the stack offers them or not
  std::vector<std::string> requirements;
  std::optional<std::string> plans;  ///< CSV of plans, in place of axes
  std::vector<std::string> explain;  ///< layouts: "tp=8,pp=12"
  bool pareto{};                     ///< show the Pareto front of all plans that fit
  double memory_headroom{};
  std::string objective{"time"};         ///< time, tokens, gpu-hours, cost
  std::optional<double> tokens;          ///< of the whole training
  double price{};                        ///< of one GPU-hour
  std::map<std::string, double> prices;  ///< the same of one cluster by its name
  std::optional<double> within;          ///< seconds that the whole training may take
  bool fewest_gpus{};                    ///< ranked by devices, then seconds
  std::optional<double> risk;       ///< probability with which a plan has to fit; 0.95 if not said
  bool unfold{};                    ///< a row for each plan of a family
  bool draws_cloud{};               ///< every plan that fits is kept for a picture
  ReservationQuestion reservation;  ///< of the first plans, where it is asked for
  std::size_t top{10};
  std::size_t try_first{3};  ///< plans that are named to be run first; 0: the ranking alone
  std::string emit;          ///< the framework to print the best plan for; empty: none
  std::string report;        ///< HTML file to write; empty: none
  OutputFormat format{};
};

}  // namespace prequel
