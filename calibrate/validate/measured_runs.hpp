#pragma once

/// Tables of measured training runs (data/runs/*.csv): one row a run, checked for contradictions.

#include <array>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/base/words.hpp"
#include "models/job/library.hpp"

namespace prequel {

struct RunWords;

enum class RunStatus : std::uint8_t { ok, oom, failed };
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<RunStatus>{"ok", "oom", "failed"};

/// The cells of one row, before software defaults.
struct MeasuredRun {
  std::string file;
  std::size_t line{};
  std::string id, source, table, cluster, software, date, model_name, flops_definition;
  std::map<std::string, std::string> cells;  ///< every column that is not empty, for grouping
  std::vector<std::string> unknown;          ///< of these columns, those of which nothing is made

  std::optional<std::int64_t> nodes, gpus;
  std::optional<Transformer> model;  ///< empty where the shape is not said
  std::optional<std::int64_t> seq_len;
  PlanRequest plan;
  std::optional<Launch> launch;
  std::optional<double> clock_ghz;

  std::optional<double> sec_per_iter, tflops_per_gpu, mfu, hfu, mem_gib;
  std::optional<MemoryKind> memory_kind;  ///< what mem_gib counts; none: what the stack prints
  RunStatus status{};
  std::string notes;
  /// Why the row contradicts itself or cannot be read; empty when it is sound.
  std::string contradiction;
  /// Why a sound row is counted apart: what its `check` says after "contradicts". It is predicted,
  /// but in no error, verdict, ranking or fit.
  std::string apart;
};

/// Returns the row's cell in a column; empty where it says nothing there.
std::string cell(const MeasuredRun& run, const std::string& column);

/// The model of a row whose name is that of a shipped one: what its columns leave out is as there.
Transformer completed(const Transformer& row, const Transformer& shipped, const MeasuredRun& run);

/// The columns that a table may have, in the order that `import` writes.
std::vector<std::string> run_columns();

/// All columns that are known, those that only describe too.
std::vector<std::string> known_columns(const RunWords& words);

/// Reads a table whole, by the library's words of tables. Throws InputError when the file is no
/// such table (no `id`, `cluster` or `status` column, one that is nearly a known one, broken
/// quoting); a row that cannot be read is kept with its `contradiction`.
std::vector<MeasuredRun> read_measured_runs(std::istream& in, const std::string& file,
                                            const Library& library = Library({}));
std::vector<MeasuredRun> read_measured_runs(const std::string& path,
                                            const Library& library = Library({}));

}  // namespace prequel
