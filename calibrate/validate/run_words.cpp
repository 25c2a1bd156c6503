#include "calibrate/validate/run_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/base/csv.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/schema.hpp"
#include "models/axes/adapter_targets.hpp"
#include "models/axes/axis_text.hpp"
#include "models/axes/axis_words.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

using CellTexts = std::map<std::string, std::string>;

std::string text_of(const CellTexts& cells, const std::string& column) {
  const auto found = cells.find(column);
  return found == cells.end() ? std::string() : lower_case(found->second);
}

/// Tests whether a row has a cell (`tuning`) whose text is a word (`tuning=full`), holds it
/// (`notes~gptq`), or begins or ends with it (`framework^hf-trainer`, `id$-packed`).
bool holds(const std::string& condition, const CellTexts& cells) {
  const std::size_t at = std::min(condition.find_first_of("=~^$"), condition.size());
  const std::string text = text_of(cells, condition.substr(0, at));
  if (at == condition.size()) return !text.empty();
  const std::string_view word = std::string_view(condition).substr(at + 1);
  switch (condition[at]) {
    case '=': return text == word;
    case '~': return text.find(word) != std::string::npos;
    case '^': return text.starts_with(word);
    default: return text.ends_with(word);
  }
}

void set_or_erase(CellTexts& cells, const std::string& column, const std::string& value) {
  if (value.empty()) {
    cells.erase(column);
  } else {
    cells[column] = value;
  }
}

/// Puts the axis' word in the place of the column's text: that of the whole text, else that of the
/// longest beginning.
void translate(const WordRule& rule, CellTexts& cells) {
  const std::string text = text_of(cells, rule.column);
  const auto whole = rule.is.find(text);
  const std::string* word = whole == rule.is.end() ? nullptr : &whole->second;
  std::size_t longest = 0;
  for (const auto& [begin, meant] : rule.begins) {
    if (!text.starts_with(begin) || begin.size() <= longest) continue;
    longest = begin.size();
    word = &meant;
  }
  if (word == nullptr) return;
  if (rule.into.empty()) {
    set_or_erase(cells, rule.column, *word);
  } else {
    cells.try_emplace(rule.into, *word);
  }
}

void follow(const WordRule& rule, CellTexts& cells) {
  const auto is = [&](const std::string& one) { return holds(one, cells); };
  if (!std::ranges::all_of(rule.when, is) || std::ranges::any_of(rule.unless, is)) return;
  if (!rule.any.empty() && std::ranges::none_of(rule.any, is)) return;
  for (const std::string& column : rule.lower) {
    set_or_erase(cells, column, text_of(cells, column));
  }
  for (const auto& [column, word] : rule.set) cells[column] = word;
  cells.insert(rule.add.begin(), rule.add.end());
  for (const auto& [column, word] : rule.append) {
    const std::string text = text_of(cells, column);
    cells[column] = text.empty() ? word : text + "," + word;
  }
  for (const std::string& column : rule.drop) cells.erase(column);
  translate(rule, cells);
}

/// Words of such cells that name no module: how much, by which method, whose graphs.
constexpr std::array<std::string_view, 10> kNoModules{
    "no",  "none",  "full",  "uniform",   "block",
    "all", "local", "mamba", "selective", "transformer_engine"};

bool is_number(const std::string& word) {
  return std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// The words of the text as a list, some by another name, but for those that name no module. One
/// that the enumeration does not know stays, for whoever reads the axis to refuse it.
std::string module_words(std::string text,
                         const std::map<std::string, std::string, std::less<>>& others = {}) {
  std::ranges::replace(text, ',', ' ');
  std::istringstream in(text);
  std::string list;
  for (std::string word; in >> word;) {
    if (const auto other = others.find(word); other != others.end()) word = other->second;
    if (is_number(word) || std::ranges::find(kNoModules, word) != kNoModules.end()) continue;
    list += (list.empty() ? "" : ",") + word;
  }
  return list;
}

void translate_graphs(CellTexts& cells) {
  const std::string said = text_of(cells, "cuda_graphs");
  const std::string scope = text_of(cells, "cuda_graph_scope");
  const auto full = [](const std::string& text) {
    return text == "1" || text.find("full_iteration") != std::string::npos;
  };
  if (full(said) || full(scope)) {
    cells["cuda_graphs"] = "full";
    return;
  }
  const std::string modules = module_words(scope.empty() ? said : scope);
  set_or_erase(cells, "cuda_graphs", modules);
}

/// Megatron's methods of full recompute, with their number of layers, where modules would stand.
void translate_recompute_first(CellTexts& cells) {
  constexpr std::string_view kBlock = "block ";
  const std::string said = text_of(cells, "recompute_modules");
  if (said.starts_with(kBlock)) cells["recompute_first"] = said.substr(kBlock.size());
}

/// Where a table prints the mean tokens of a micro batch alone, rows are taken to be as long.
void translate_mean_tokens(CellTexts& cells) {
  const std::string said = text_of(cells, "length_distribution");
  const std::size_t equals = said.rfind("= ");
  if (cells.contains("seq_len") || equals == std::string::npos) return;
  const auto tokens = parse_integer(said.substr(equals + 2));
  const auto rows = parse_integer(text_of(cells, "mbs"));
  if (tokens && rows && *tokens >= *rows && *rows > 0) {
    cells["seq_len"] = std::to_string(*tokens / *rows);
  }
}

/// Takes the rank and the modules of adapters from one cell: "lora rank 16 on q_proj v_proj".
void translate_adapters(CellTexts& cells) {
  constexpr std::string_view kRank = "rank ";
  const std::string adapter = text_of(cells, "adapter");
  if (const std::size_t at = adapter.find(kRank); at != std::string::npos) {
    const std::size_t begin = at + kRank.size();
    const std::string rank =
        adapter.substr(begin, adapter.find_first_not_of("0123456789", begin) - begin);
    if (!rank.empty()) cells.try_emplace("lora_rank", rank);
  }
  if (const std::size_t on = adapter.find(" on "); on != std::string::npos) {
    cells.try_emplace("lora_targets", adapter.substr(on + 4));
  }
  if (!cells.contains("lora_targets")) return;
  // "q v + wte lm_head trained": tables that learn themselves stand behind the plus.
  std::string said = text_of(cells, "lora_targets");
  // A table of performance was run with the performance recipe's list where there are two.
  if (const std::size_t other = said.find("(default) or "); other != std::string::npos) {
    const bool measured = text_of(cells, "table").find("performance") != std::string::npos;
    said = measured ? said.substr(other + 13, said.find(" (perf", other) - other - 13)
                    : said.substr(0, other);
  }
  WordSet<AdapterTarget> targets = named_targets(said.substr(0, said.find(" + ")));
  // A configuration names modules of several models: those of GPT-2's are fused.
  using enum AdapterTarget;
  if (targets.has(qkv) && targets.has(q)) {
    const bool fused = text_of(cells, "position") == "learned";
    targets = fused ? WordSet<AdapterTarget>{qkv} : WordSet<AdapterTarget>{q, k, v, o};
  }
  set_or_erase(cells, "lora_targets", targets.empty() ? std::string() : cell_of(targets));
}

/// Moves a layout that stands among ways to split stages.
void translate_layout(CellTexts& cells) {
  if (!holds("stage_split~|", cells)) return;
  cells["layout"] = cells["stage_split"];
  cells.erase("stage_split");
}

void translate_modules(CellTexts& cells) {
  if (!cells.contains("recompute_modules")) return;
  set_or_erase(cells, "recompute_modules",
               module_words(text_of(cells, "recompute_modules"), {{"norm", "layernorm"},
                                                                  {"act", "moe_act"},
                                                                  {"op", "operators"},
                                                                  {"per-op", "operators"},
                                                                  {"layer", "blocks"}}));
}

}  // namespace

RunWords read_run_words(const Library& library) {
  const Document file = library.open("names", "run-words");
  const Cursor root = file.root();
  expect_schema(root, "prequel/run-words/1");
  (void)root.at("origin");
  RunWords words;
  for (const Cursor& column : root.at("columns").items()) words.columns.push_back(column.text());
  for (const Cursor& one : root.at("rules").items()) {
    WordRule& rule = words.rules.emplace_back();
    for (const auto& [key, list] : {std::pair("when", &WordRule::when),
                                    {"any", &WordRule::any},
                                    {"unless", &WordRule::unless},
                                    {"lower", &WordRule::lower},
                                    {"drop", &WordRule::drop}}) {
      const auto found = one.find(key);
      for (const Cursor& word : found ? found->items() : std::vector<Cursor>()) {
        (rule.*list).push_back(word.text());
      }
    }
    for (const auto& [key, map] : {std::pair("set", &WordRule::set),
                                   {"add", &WordRule::add},
                                   {"append", &WordRule::append},
                                   {"is", &WordRule::is},
                                   {"begins", &WordRule::begins}}) {
      const auto found = one.find(key);
      if (!found) continue;
      for (const auto& [name, word] : found->members()) (rule.*map).emplace(name, word.text());
    }
    for (const auto& [key, text] :
         {std::pair("column", &WordRule::column), {"into", &WordRule::into}}) {
      if (const auto found = one.find(key)) rule.*text = found->text();
    }
    (void)one.find("note");
  }
  file.finish();
  return words;
}

void translate_cells(const RunWords& words, CellTexts& cells) {
  translate_mean_tokens(cells);
  translate_recompute_first(cells);
  translate_layout(cells);
  for (const WordRule& rule : words.rules) follow(rule, cells);
  translate_adapters(cells);
  translate_graphs(cells);
  translate_modules(cells);
}

std::optional<std::string> attention_kernel(const std::string& said) {
  const std::string word = lower_case(said);
  if (word == "cudnn" || word == "flash-1-triton") return word;
  for (const std::string_view begin : {"flash-", "flash", "fa"}) {
    const bool generation =
        word.size() == begin.size() + 1 && word.back() > '0' && word.back() < '5';
    if (generation && word.starts_with(begin)) return std::string("flash-") + word.back();
  }
  return std::nullopt;
}

bool is_of_fullest_rank(const std::string& notes) {
  return notes.find("max over ranks") != std::string::npos;
}

}  // namespace prequel
