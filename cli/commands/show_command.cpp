#include "cli/commands/commands.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/flags/common_options.hpp"
#include "cli/show/cards.hpp"
#include "cli/show/show_answer.hpp"
#include "cli/text/exit_status.hpp"
#include "cli/text/table.hpp"
#include "cli/text/terminal.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/cluster.hpp"
#include "hw/fabric/cut.hpp"
#include "models/layers/parameters.hpp"

namespace prequel {
namespace {

/// Prints every leaf of a file under the origin that covers it.
void print_values(const nlohmann::json& value, const std::string& path, std::string origin,
                  std::string& last_origin, std::size_t width) {
  if (value.is_object()) {
    if (const auto own = value.find("origin"); own != value.end() && own->is_string()) {
      origin = own->get<std::string>();
    }
    for (const auto& [key, member] : value.items()) {
      if (key == "origin" || key == "schema") continue;
      print_values(member, path.empty() ? key : path + "." + key, origin, last_origin, width);
    }
    return;
  }
  if (value.is_array() && !value.empty() && value.front().is_structured()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      print_values(value[i], fmt::format("{}.{}", path, i), origin, last_origin, width);
    }
    return;
  }
  if (origin != last_origin) {
    fmt::print("\n{}\n", wrapped("# " + (origin.empty() ? "no origin said" : origin), width, "# "));
    last_origin = origin;
  }
  fmt::print("{:<48} {}\n", path, value.is_string() ? value.get<std::string>() : value.dump());
}

/// Prints the traffic between two halves of the cluster. Large ones are cut down, as a graph of
/// every link of 158,976 nodes tells no more.
void print_bisection(const Cluster& cluster) {
  constexpr std::int64_t kMostNodes = 512;
  const auto nodes = static_cast<int>(std::min(cluster.nodes, kMostNodes) / 2 * 2);
  if (nodes < 2) return;
  const Fabric fabric = build_fabric(cluster.fabric->description(), nodes);
  fmt::print("\nbisection bandwidth of {} nodes: {:.1f} GB/s, one direction (maximum flow)\n",
             nodes, bisection_bandwidth(fabric).value / kGB);
}

void print_parameters(const Transformer& model) {
  fmt::print("\nparameters: {}, of which a token passes {}\n", total_parameters(model),
             active_parameters(model));
}

}  // namespace

int run_show(const CommonOptions& common, const ShowOptions& options) {
  const Library library(common.data_directories);
  const Tell tell = tell_stderr(common.quiet);
  const std::size_t width = terminal(stdout, common.color).at_most(98);
  if (options.format == OutputFormat::json) {
    fmt::print("{}", show_json(library, options, tell));
    return kExitDone;
  }
  if (options.kind.empty()) {
    for (const std::string& kind : shown_kinds()) {
      fmt::print("{}\n",
                 wrapped(fmt::format("{:<10} {}", kind, fmt::join(library.names(kind), "  ")),
                         width, std::string(11, ' ')));
    }
    return kExitDone;
  }
  if (options.kind == "constants") {
    fmt::print("{}", constants_text(shown_constants(library)));
    return kExitDone;
  }
  const std::string kind = plural_kind(options.kind);
  if (options.name.empty() && kind == "models") {
    fmt::print("{}", models_text(library));
    return kExitDone;
  }
  if (options.name.empty() && kind == "clusters") {
    fmt::print("{}", known_clusters_text(library));
    return kExitDone;
  }
  if (options.name.empty()) {
    for (const std::string& file : library.names(kind)) fmt::print("{}\n", file);
    return kExitDone;
  }
  const Document document = shown_file(library, options, tell);
  fmt::print("{}\n", document.file());
  std::string last_origin = "\n";
  print_values(document.json(), "", "", last_origin, width);
  if (kind == "clusters") print_bisection(read_cluster(document));
  if (kind == "models") print_parameters(read_transformer(document));
  return kExitDone;
}

}  // namespace prequel
