#pragma once

/// Shipped files of data/ for tests.

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "hw/base/csv.hpp"
#include "hw/base/json_cursor.hpp"
#include "models/job/library.hpp"

namespace prequel {

inline Library shipped_library() {
  return Library({PREQUEL_DATA_DIR});
}

inline Transformer shipped_model(const std::string& name) {
  return read_transformer(shipped_library().open("models", name));
}

inline Cluster shipped_cluster(const std::string& name) {
  return read_cluster(shipped_library().open("clusters", name));
}

inline Software shipped_software(const std::string& name) {
  return read_software(shipped_library().open("software", name));
}

/// A row of a table of data/runs/, by column.
using TableRow = std::map<std::string, std::string>;

inline std::vector<TableRow> shipped_runs(const std::string& name) {
  const std::string path = std::string(PREQUEL_DATA_DIR "/runs/") + name;
  std::ifstream in(path);
  CsvReader reader(in, path);
  std::vector<TableRow> rows;
  while (const auto row = reader.next()) {
    TableRow cells;
    for (std::size_t i = 0; i < row->cells.size(); ++i) cells[reader.columns()[i]] = row->cells[i];
    rows.push_back(cells);
  }
  return rows;
}

/// A GPT-2 style model as a row of such a table describes it.
inline Transformer model_of(const TableRow& row) {
  Transformer model;
  model.layers = std::stoll(row.at("layers"));
  model.hidden = std::stoll(row.at("hidden"));
  model.heads = model.kv_heads = std::stoll(row.at("heads"));
  model.head_dim = model.hidden / model.heads;
  model.ffn_hidden = 4 * model.hidden;
  model.vocab = std::stoll(row.at("vocab"));
  model.max_positions = std::stoll(row.at("seq_len"));
  return model;
}

}  // namespace prequel
