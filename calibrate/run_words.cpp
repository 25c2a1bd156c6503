#include "calibrate/run_words.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "models/axes/axis_words.hpp"

namespace prequel {
namespace {

using Cells = std::map<std::string, std::string>;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return text;
}

std::string text_of(const Cells& cells, const std::string& column) {
  const auto found = cells.find(column);
  return found == cells.end() ? std::string() : lower(found->second);
}

/// The second of the pair whose first the text begins with; the text itself where there is none.
using Beginnings = std::vector<std::pair<std::string_view, std::string_view>>;
void translate(Cells& cells, const std::string& column, const Beginnings& words) {
  const std::string text = text_of(cells, column);
  if (text.empty()) return;
  const auto found =
      std::ranges::find_if(words, [&](const auto& word) { return text.starts_with(word.first); });
  if (found == words.end()) return;
  if (found->second.empty()) {
    cells.erase(column);
  } else {
    cells[column] = found->second;
  }
}

/// Of the words of the text those that the enumeration knows, as a list; some by another name.
template <class Enum>
std::string known_words(const std::string& text,
                        const std::map<std::string, std::string, std::less<>>& others = {}) {
  std::istringstream in(text);
  std::string list;
  for (std::string word; in >> word;) {
    if (const auto other = others.find(word); other != others.end()) word = other->second;
    if (named<Enum>(word)) list += (list.empty() ? "" : ",") + word;
  }
  return list;
}

void set_or_erase(Cells& cells, const std::string& column, const std::string& value) {
  if (value.empty()) {
    cells.erase(column);
  } else {
    cells[column] = value;
  }
}

bool is_on(const Cells& cells, const std::string& column) {
  const std::string text = text_of(cells, column);
  return text == "1" || text == "true";
}

void translate_graphs(Cells& cells) {
  const std::string said = text_of(cells, "cuda_graphs");
  const std::string scope = text_of(cells, "cuda_graph_scope");
  const auto full = [](const std::string& text) {
    return text == "1" || text.find("full_iteration") != std::string::npos;
  };
  if (full(said) || full(scope)) {
    cells["cuda_graphs"] = "full";
    return;
  }
  const std::string modules = known_words<GraphedModule>(scope.empty() ? said : scope);
  set_or_erase(cells, "cuda_graphs", modules);
}

/// Megatron's methods of full recompute, with their number of layers, where modules would stand.
void translate_recompute_first(Cells& cells) {
  constexpr std::string_view kBlock = "block ";
  const std::string said = text_of(cells, "recompute_modules");
  if (said.starts_with(kBlock)) cells["recompute_first"] = said.substr(kBlock.size());
}

void translate_overlap(Cells& cells) {
  std::string overlap = text_of(cells, "overlap");
  const auto add = [&](const char* word) {
    overlap += (overlap.empty() ? "" : ",") + std::string(word);
  };
  if (is_on(cells, "tp_comm_overlap")) add("tp");
  const bool beside = text_of(cells, "dispatcher").find("overlapped") != std::string::npos;
  if (is_on(cells, "a2a_overlap") || beside) add("ep");
  set_or_erase(cells, "overlap", overlap);
}

}  // namespace

void translate_cells(Cells& cells) {
  translate_overlap(cells);
  translate_graphs(cells);
  translate(cells, "precision", {{"nvfp4", "fp4"}});
  translate(cells, "fp8_recipe",
            {{"current", "current"},
             {"tensorwise", "current"},
             {"hybrid", "delayed"},
             {"mxfp8", "mxfp8"},
             {"blockwise", "block"},
             {"rowwise", "rowwise"}});
  translate(cells, "dispatcher",
            {{"alltoall", "alltoall"},
             {"uccl", "uccl"},
             {"deepep (uccl", "uccl"},
             {"deepep", "deepep"},
             {"hybridep", "hybridep"},
             {"allgather", "allgather"}});
  // Primus' names; the second has two chunks a stage and the memory of 1F1B.
  translate(cells, "schedule", {{"zero-bubble-zbb", "zb-v"}, {"zero-bubble", "zb-h1"}});
  translate(cells, "router_balance", {{"token drop", "dropped"}, {"capacity factor", "dropped"}});
  translate_recompute_first(cells);
  if (cells.contains("recompute_modules")) {
    set_or_erase(
        cells, "recompute_modules",
        known_words<RecomputeModule>(text_of(cells, "recompute_modules"), {{"norm", "layernorm"},
                                                                           {"act", "moe_act"},
                                                                           {"op", "operators"},
                                                                           {"per-op", "operators"},
                                                                           {"layer", "blocks"}}));
  }
  if (const std::string split = text_of(cells, "stage_split");
      split.find('|') != std::string::npos) {
    cells["layout"] = cells["stage_split"];
    cells.erase("stage_split");
  }
  if (cells.contains("layout") && cells["layout"].find('|') == std::string::npos) {
    cells.erase("layout");
  }
  if (const std::string fp32 = text_of(cells, "grad_reduce_fp32");
      !fp32.empty() && !cells.contains("grad_precision")) {
    cells["grad_precision"] = is_on(cells, "grad_reduce_fp32") ? "fp32" : "bf16";
  }
  if (const std::string moments = text_of(cells, "moments_dtype");
      !moments.empty() && !cells.contains("moments_precision")) {
    cells["moments_precision"] = moments.find("bf") != std::string::npos ? "bf16" : "fp32";
  }
  translate(cells, "offload", {{"0", "none"}});
}

}  // namespace prequel
