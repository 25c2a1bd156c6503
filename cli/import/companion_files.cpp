#include "cli/import/companion_files.hpp"

#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "cli/import/configs/deepspeed_config.hpp"
#include "cli/import/configs/hugging_face_config.hpp"
#include "cli/import/files_beside.hpp"
#include "cli/import/reading.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"

namespace prequel {
namespace {

constexpr std::size_t kMostNamed = 256;  // that are looked for; scripts name a handful

struct NamedFile {
  std::string name;
  bool script{};
  bool before{};  ///< those that name it extend it: a model, a group of settings
};

std::vector<NamedFile> named_files(const std::vector<Source>& sources, const ImportNames& names) {
  std::vector<NamedFile> all;
  Reading reading;
  try {
    reading = read_sources(sources, names);
  } catch (const InputError&) {
    return all;  // what is wrong is said when they are read for good
  }
  const ImportedJob& job = reading.job;
  for (const std::string& one : reading.state.wanted) all.push_back({one, true, false});
  for (const std::string& one : job.bases_named) all.push_back({one, false, true});
  for (const std::string& one : job.files_named) {
    const bool config = one == job.deepspeed_config_file && job.deepspeed_config;
    if (!config) all.push_back({one, false, false});
  }
  for (const auto& [key, value] : job.settings) {
    if (key.ends_with("config_file")) all.push_back({value, false, false});
  }
  const bool shape = job.model.layers && job.model.hidden && !job.marks.model_overrides;
  for (const auto& [flag, value] : job.models_perhaps) {
    if (names.model || shape) break;
    if (value.ends_with(".json")) all.push_back({value, false, true});
  }
  if (!job.model_named.empty() && !names.model && !shape) {
    all.push_back({job.model_named, false, true});
    all.push_back({job.model_named + "/config.json", false, true});
  }
  if (all.size() > kMostNamed) all.resize(kMostNamed);
  return all;
}

/// Tests whether a file is of a kind that can stand beside a script as its configuration.
bool is_companion(const Source& source, bool script) {
  if (source.is(SourceKind::log)) return false;
  if (!source.is(SourceKind::json)) return source.is(SourceKind::script) == script;
  try {
    const Document document = Document::parse(source.file, without_infinities(source.text));
    return is_hugging_face_config(document) || is_deepspeed_config(document);
  } catch (const InputError&) {
    return true;  // a template, or what is wrong is said when it is read
  }
}

}  // namespace

void add_companions(std::vector<Source>& sources, const ImportNames& names) {
  constexpr int kMostRounds = 8;
  constexpr std::size_t kMost = 64;
  std::set<std::string> seen;
  for (const Source& source : sources) seen.insert(source.name());
  for (int round = 0; round < kMostRounds; ++round) {
    bool more = false;
    for (const auto& [name, script, before] : named_files(sources, names)) {
      for (std::size_t i = 0; i < sources.size() && sources.size() < kMost; ++i) {
        const std::string by = sources[i].file;
        if (by == "stdin") continue;
        const auto path = file_beside(name, by);
        if (!path || !seen.insert(std::filesystem::path(*path).filename().string()).second) {
          continue;
        }
        std::vector<Source> found;
        add_sources(*path, found);
        if (!is_companion(found.front(), script)) continue;
        found.front().named_by = by;
        sources.insert(before ? sources.begin() : sources.end(),
                       std::make_move_iterator(found.begin()),
                       std::make_move_iterator(found.end()));
        more = true;
        break;
      }
    }
    if (!more) return;
  }
}

}  // namespace prequel
