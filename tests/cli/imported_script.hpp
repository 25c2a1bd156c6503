#pragma once

/// Launch scripts given as text, for tests of what importers make of them.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/import/foreign_file.hpp"
#include "cli/import/job/name_files.hpp"
#include "models/job/library.hpp"
#include "tests/error_text.hpp"
#include "tests/hw/base/temporary_folder.hpp"

namespace prequel {

inline std::string fixture(const std::string& name) {
  return std::string(PREQUEL_FIXTURES "/") + name;
}

/// A job that knows what other programs call its settings.
inline Facts job_with_names() {
  static const auto names = std::make_shared<const ForeignNames>(
      read_foreign_names(Library({PREQUEL_SOURCE_DIR "/data"})));
  Facts job;
  job.names = names;
  return job;
}

/// The job of files with these names and texts, in this order, predicted with prequel's own data.
inline ImportedJob job_of_files(const std::vector<std::pair<std::string, std::string>>& files,
                                ImportNames names = {}) {
  const TemporaryFolder folder;
  const Library library({PREQUEL_SOURCE_DIR "/data"});
  names.library = &library;
  std::vector<std::string> paths;
  for (const auto& [name, text] : files) paths.push_back(folder.with(name, text));
  return import_files(paths, names).job;
}

inline ImportedJob job_of_yaml(const std::string& yaml, ImportNames names = {}) {
  return job_of_files({{"config.yaml", yaml}}, std::move(names));
}

inline ImportedJob job_of_script(const std::string& script, ImportNames names = {}) {
  return job_of_files({{"s.sh", script}}, std::move(names));
}

/// A script's arguments, and variables of the shell that calls it.
inline ImportNames called_with(std::optional<std::string> arguments,
                               std::vector<std::string> environment = {}) {
  ImportNames names;
  names.script = {std::move(arguments), std::move(environment)};
  return names;
}

/// A model of 1.3 billion parameters, as a YAML and as the flags of a launch.
inline const std::string kSmallShape =
    "num_layers: 24\nhidden_size: 2048\nnum_attention_heads: 16\n";
inline const std::string kSmallLaunch =
    "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
    "--num-attention-heads 16 --seq-length 2048 --vocab-size 50257 --micro-batch-size 1 ";

/// Returns the message about the script `s.sh` where it is refused, without its folder.
inline std::string refusal_of_script(const std::string& script, const ImportNames& names = {}) {
  std::string text = error_text([&] { (void)job_of_script(script, names); });
  const std::size_t end = text.find("s.sh");
  return end == std::string::npos ? text : text.substr(end);
}

inline bool lists(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

inline bool lists_part(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace prequel
