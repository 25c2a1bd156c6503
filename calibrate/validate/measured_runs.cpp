#include "calibrate/validate/measured_runs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "calibrate/validate/run_words.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/nearest.hpp"
#include "hw/base/text.hpp"
#include "models/axes/axis_text.hpp"
#include "models/axes/plan_request.hpp"

namespace prequel {
namespace {

constexpr std::string_view kJobColumns[] = {
    "id",         "source", "table",  "cluster", "framework", "software",
    "gpus",       "model",  "layers", "hidden",  "heads",     "kv_heads",
    "ffn_hidden", "vocab",  "params", "mlp",     "position",  "tied_embeddings"};
constexpr std::string_view kRunColumns[] = {
    "date", "launch", "clock_ghz", "sec_per_iter", "tflops_per_gpu", "flops_definition",
    "mfu",  "hfu",    "mem_gib",   "mem_kind",     "status",         "notes"};

/// By the words in which tables say what a figure of memory counts; none where they do not.
std::optional<MemoryKind> memory_kind(const std::string& said) {
  const auto has = [&](std::string_view word) { return said.find(word) != std::string::npos; };
  if (has("smi")) return MemoryKind::smi;
  // torchtune's "active" memory: blocks that are in use, but for what streams still wait for.
  if (has("alloc") || has("active")) return MemoryKind::allocated;
  if (has("reserved")) return MemoryKind::reserved;
  return std::nullopt;
}

/// Returns the GiB of a unit of a table's figures: GB are decimal where a program printed them;
/// whole ones, of which nobody knows how they were read, stay as they are.
double unit_in_gib(const std::string& said) {
  const bool decimal =
      said.find("GB") != std::string::npos && said.find("whole GB") == std::string::npos;
  return decimal ? 1e9 / kGiB : 1.0;
}

/// Reads typed cells of one row; the first thing that is wrong is kept.
class Cells {
 public:
  explicit Cells(const std::map<std::string, std::string>& cells) : cells_(cells) {}

  [[nodiscard]] std::string text(const std::string& column) const {
    const auto found = cells_.find(column);
    return found == cells_.end() ? std::string() : found->second;
  }

  std::optional<std::int64_t> whole(const std::string& column, std::int64_t least,
                                    std::int64_t most) {
    const std::string cell = text(column);
    if (cell.empty()) return std::nullopt;
    const auto value = parse_integer(cell);
    if (value && *value >= least && *value <= most) return *value;
    wrong(column, cell, fmt::format("a whole number from {} to {}", least, most));
    return std::nullopt;
  }

  std::optional<double> positive(const std::string& column) {
    const std::string cell = text(column);
    if (cell.empty()) return std::nullopt;
    const auto value = parse_number(cell);
    if (value && *value > 0 && *value < 1e15) return *value;
    wrong(column, cell, "a positive number");
    return std::nullopt;
  }

  /// A share of the peak; one that a table rounds to 0 says nothing.
  std::optional<double> share(const std::string& column) {
    if (parse_number(text(column)) == 0.0) return std::nullopt;
    return positive(column);
  }

  template <Worded Enum>
  std::optional<Enum> choice(const std::string& column) {
    const std::string cell = text(column);
    const auto value = named<Enum>(cell);
    if (!value && !cell.empty()) {
      wrong(column, cell, fmt::format("one of {}", fmt::join(kWordsOf<Enum>, ", ")));
    }
    return value;
  }

  /// In its column, or in that of its name.
  template <class Axis>
  std::optional<typename Axis::Value> axis(const Axis& axis) {
    std::string column(axis.column);
    if (text(column).empty()) column = axis.name;
    const std::string cell = text(column);
    if (cell.empty()) return std::nullopt;
    auto value = of_cell(cell, axis.domain);
    if (!value) wrong(column, cell, expected(axis.domain));
    return value;
  }

  void wrong(const std::string& column, const std::string& cell, const std::string& expected) {
    note(fmt::format("{}: expected {}, got {}", column, expected, in_quotes(cell)));
  }
  void note(const std::string& contradiction) {
    if (contradiction_.empty()) contradiction_ = contradiction;
  }
  [[nodiscard]] const std::string& contradiction() const { return contradiction_; }

 private:
  const std::map<std::string, std::string>& cells_;
  std::string contradiction_;
};

/// Depths of multi-token prediction: a number, or a word that it is on.
std::int64_t depths_of(const std::string& text) {
  const auto depths = parse_integer(text);
  return depths && *depths >= 0 && *depths < 64 ? *depths : 1;
}

constexpr std::string_view kContradicts = "contradicts";  ///< begins the `check` of rows apart
constexpr std::int64_t kMost = 1 << 20;

/// Experts in the place of the MLP, in the last `moe_layers` of the layers.
void read_experts(Cells& cells, Transformer& model) {
  const auto count = cells.whole("experts", 1, 1 << 16);
  const auto top_k = cells.whole("top_k", 1, 1 << 16);
  const auto inner = cells.whole("expert_ffn", 1, 1 << 24);
  const auto shared = cells.whole("shared_ffn", 1, 1 << 24);
  const auto with_experts = cells.whole("moe_layers", 1, 100'000);
  if (!count) return;
  if (!top_k) return cells.note("top_k: empty, with experts");
  model.experts.count = *count;
  model.experts.top_k = *top_k;
  model.experts.ffn_hidden = inner.value_or(model.ffn_hidden);
  model.experts.shared_hidden = shared.value_or(0);
  model.experts.first_dense =
      std::max<std::int64_t>(0, model.layers - with_experts.value_or(model.layers));
}

/// The shape, if the row says enough of it.
std::optional<Transformer> read_shape(Cells& cells, std::optional<std::int64_t> seq_len) {
  Transformer model;
  const auto layers = cells.whole("layers", 1, 100'000);
  const auto hidden = cells.whole("hidden", 1, 1 << 24);
  const auto heads = cells.whole("heads", 1, 1 << 24);
  const auto vocab = cells.whole("vocab", 1, 1 << 24);
  const auto kv_heads = cells.whole("kv_heads", 1, 1 << 24);
  const auto ffn_hidden = cells.whole("ffn_hidden", 1, 1 << 24);
  const auto mlp = cells.choice<Mlp>("mlp");
  const auto position = cells.choice<PositionEmbedding>("position");
  const auto tied = cells.whole("tied_embeddings", 0, 1);
  const auto head_dim = cells.whole("head_dim", 1, 1 << 24);
  if (!layers || !hidden || !heads || !vocab || !seq_len) return std::nullopt;
  model.name = cells.text("model");
  model.layers = *layers;
  model.hidden = *hidden;
  model.heads = *heads;
  model.kv_heads = kv_heads.value_or(*heads);
  model.vocab = *vocab;
  model.max_positions = *seq_len;
  model.ffn_hidden = ffn_hidden.value_or(4 * *hidden);
  model.mlp = mlp.value_or(Mlp::gelu);
  model.position = position.value_or(PositionEmbedding::learned);
  model.tied_embeddings = tied.value_or(1) == 1;
  // The tables say position and MLP; the rest of the modern block comes with rotary positions.
  const bool llama_like = is_gated(model.mlp) && model.position == PositionEmbedding::rope;
  model.norm = llama_like ? Norm::rms_norm : Norm::layer_norm;
  model.linear_bias = !llama_like;
  model.qkv_bias = model.linear_bias;
  model.dropout = !llama_like;
  model.score_dropout = model.dropout;
  model.embedding_norm = model.position == PositionEmbedding::alibi;
  read_experts(cells, model);
  if (head_dim) {
    model.head_dim = *head_dim;
    return model;
  }
  if (*hidden % *heads != 0) {
    cells.note(fmt::format("hidden {} is not a multiple of heads {}", *hidden, *heads));
    return std::nullopt;
  }
  model.head_dim = *hidden / *heads;
  return model;
}

PlanRequest read_layout(Cells& cells) {
  PlanRequest plan;
  each_axis([&](const auto& axis) { axis.of(plan) = cells.axis(axis); });
  return plan;
}

/// Cells that contradict each other.
void check_agreement(Cells& cells, const MeasuredRun& run) {
  const PlanRequest& plan = run.plan;
  if (run.gpus && plan.dp && plan.tp && plan.pp) {
    const std::int64_t ranks = *plan.dp * ranks_of_replica(plan);
    if (ranks != *run.gpus) {
      cells.note(fmt::format("dp {} x tp {} x pp {} = {} ranks, but gpus is {}", *plan.dp, *plan.tp,
                             *plan.pp, ranks, *run.gpus));
    }
  }
  if (run.nodes && run.gpus && *run.gpus < *run.nodes) {
    cells.note(fmt::format("{} gpus on {} nodes", *run.gpus, *run.nodes));
  }
  if (plan.gbs && plan.dp && plan.mbs && *plan.gbs % (*plan.dp * *plan.mbs) != 0) {
    cells.note(
        fmt::format("gbs {} is not a multiple of dp {} x mbs {}", *plan.gbs, *plan.dp, *plan.mbs));
  }
  if (run.sec_per_iter && run.status == RunStatus::failed) {
    cells.note("a failed run with a time per iteration");
  }
}

MeasuredRun read_run(const std::vector<std::string>& columns, const CsvRow& row,
                     const std::string& file, const std::vector<std::string>& known,
                     const RunWords& words) {
  MeasuredRun run;
  run.file = file;
  run.line = row.line;
  for (std::size_t i = 0; i < std::min(columns.size(), row.cells.size()); ++i) {
    if (const auto cell = trimmed(row.cells[i]); !cell.empty()) run.cells[columns[i]] = cell;
  }
  for (const auto& [column, text] : run.cells) {
    if (std::find(known.begin(), known.end(), column) == known.end()) run.unknown.push_back(column);
  }
  std::map<std::string, std::string> translated = run.cells;
  translate_cells(words, translated);
  if (translated.contains("engine")) run.cells["engine"] = translated["engine"];
  Cells cells(translated);
  run.id = cells.text("id");
  run.source = cells.text("source");
  run.table = cells.text("table");
  run.cluster = cells.text("cluster");
  run.software = cells.text("software");
  run.date = cells.text("date");
  run.model_name = cells.text("model");
  run.flops_definition = cells.text("flops_definition");
  run.notes = cells.text("notes");
  if (row.cells.size() != columns.size()) {
    cells.note(fmt::format("{} cells in a table of {} columns", row.cells.size(), columns.size()));
  }
  if (run.id.empty()) cells.note("id: empty");
  run.gpus = cells.whole("gpus", 1, kMost);
  run.seq_len = cells.whole("seq_len", 1, 1 << 24);
  run.model = read_shape(cells, run.seq_len);
  run.plan = read_layout(cells);
  run.nodes = std::exchange(run.plan.nodes, std::nullopt);
  run.launch = cells.choice<Launch>("launch");
  run.clock_ghz = cells.positive("clock_ghz");
  run.sec_per_iter = cells.positive("sec_per_iter");
  run.tflops_per_gpu = cells.positive("tflops_per_gpu");
  run.mfu = cells.share("mfu");
  run.hfu = cells.share("hfu");
  run.mem_gib = cells.positive("mem_gib");
  if (run.mem_gib) *run.mem_gib *= unit_in_gib(cells.text("mem_kind"));
  run.memory_kind = memory_kind(cells.text("mem_kind"));
  if (const auto status = cells.choice<RunStatus>("status")) {
    run.status = *status;
  } else {
    cells.note("status: empty; expected ok, oom or failed");
  }
  check_agreement(cells, run);
  run.contradiction = cells.contradiction();
  const std::string check = cells.text("check");
  if (check.starts_with(kContradicts)) run.apart = check;
  return run;
}

void check_columns(const CsvReader& table, const std::string& file,
                   const std::vector<std::string>& known) {
  std::vector<std::string> problems;
  if (std::none_of(known.begin(), known.end(),
                   [&](const auto& one) { return table.column(one); })) {
    throw InputError(file +
                     ": no table of measured runs (its first line should name columns such as id, "
                     "cluster and status); prequel import makes one of a training log");
  }
  for (const std::string& column : table.columns()) {
    // Others are somebody's own: rows say that nothing is made of them.
    if (std::find(known.begin(), known.end(), column) == known.end() && nearest(column, known)) {
      problems.push_back(fmt::format("{}: column {}: unknown{}", file, in_quotes(column),
                                     did_you_mean(column, known)));
      if (problems.size() == 5) break;
    }
  }
  for (const char* needed : {"id", "cluster", "status"}) {
    if (!table.column(needed)) {
      problems.push_back(fmt::format("{}: column \"{}\": missing", file, needed));
    }
  }
  if (!problems.empty()) throw InputError(problems);
}

}  // namespace

std::string cell(const MeasuredRun& run, const std::string& column) {
  const auto found = run.cells.find(column);
  return found == run.cells.end() ? std::string() : found->second;
}

Transformer completed(const Transformer& row, const Transformer& shipped, const MeasuredRun& run) {
  const auto says = [&](const char* column) { return run.cells.contains(column); };
  Transformer model = shipped;
  model.max_positions = row.max_positions;
  model.hidden = row.hidden;
  model.heads = row.heads;
  if (says("kv_heads")) model.kv_heads = row.kv_heads;
  if (says("ffn_hidden")) model.ffn_hidden = row.ffn_hidden;
  model.vocab = row.vocab;
  if (says("mlp")) model.mlp = row.mlp;
  if (says("position")) model.position = row.position;
  if (says("tied_embeddings")) model.tied_embeddings = row.tied_embeddings;
  if (row.has_experts()) {
    model.experts.count = row.experts.count;
    model.experts.top_k = row.experts.top_k;
    model.experts.ffn_hidden = row.experts.ffn_hidden;
    if (model.experts.every == 1) model.experts.first_dense = row.experts.first_dense;
    if (says("shared_ffn")) model.experts.shared_hidden = row.experts.shared_hidden;
  }
  // A cut of a model has its blocks alone.
  if (row.layers != shipped.layers) model.next_token_layers = 0;
  if (says("mtp")) model.next_token_layers = depths_of(run.cells.at("mtp"));
  model.layers = row.layers;
  if (shipped.hidden != row.hidden && !shipped.is_latent()) model.head_dim = row.head_dim;
  return model;
}

std::vector<std::string> run_columns() {
  std::vector<std::string> columns(std::begin(kJobColumns), std::end(kJobColumns));
  each_axis([&](const auto& axis) { columns.emplace_back(axis.column); });
  columns.insert(columns.end(), std::begin(kRunColumns), std::end(kRunColumns));
  return columns;
}

std::vector<std::string> known_columns(const RunWords& words) {
  std::vector<std::string> known = run_columns();
  each_axis([&](const auto& axis) {
    if (axis.column != axis.name) known.emplace_back(axis.name);
  });
  known.insert(known.end(), words.columns.begin(), words.columns.end());
  return known;
}

std::vector<MeasuredRun> read_measured_runs(std::istream& in, const std::string& file,
                                            const Library& library) {
  CsvReader table(in, file);
  const RunWords words = read_run_words(library);
  const std::vector<std::string> known = known_columns(words);
  check_columns(table, file, known);
  std::vector<MeasuredRun> runs;
  std::set<std::string> ids;
  while (const auto row = table.next()) {
    MeasuredRun run = read_run(table.columns(), *row, file, known, words);
    if (!ids.insert(run.id).second && run.contradiction.empty()) {
      run.contradiction = fmt::format("id {}: used by an earlier row", in_quotes(run.id));
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<MeasuredRun> read_measured_runs(const std::string& path, const Library& library) {
  if (is_folder(path)) {
    throw InputError(path + ": a directory; expected a CSV table of measured runs");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + ": cannot be read; no such file, or no permission");
  return read_measured_runs(in, path, library);
}

}  // namespace prequel
