#include "cli/import/companion_files.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "cli/import/configs/json_configs.hpp"
#include "cli/import/reading.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"

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
  const Facts& job = reading.job;
  for (const std::string& one : reading.state.wanted) all.push_back({one, true, false});
  for (const std::string& one : job.bases_named) all.push_back({one, false, true});
  for (const std::string& one : job.files_named) {
    const bool config = one == job.text("deepspeed_config_file") && job.says("deepspeed_config");
    if (!config) all.push_back({one, false, false});
  }
  for (const auto& [key, value] : job.settings) {
    if (key.ends_with("config_file")) all.push_back({value, false, false});
  }
  const bool shape = job.has_shape() && !job.says("mark.model_overrides");
  for (const ImportedClue& one : job.model_clues) {
    const bool config = one.rank == ClueRank::flag && one.text.ends_with(".json");
    if (config && !names.model && !shape) all.push_back({one.text, false, true});
  }
  if (job.says("model_named") && !names.model && !shape) {
    all.push_back({job.text("model_named"), false, true});
    all.push_back({job.text("model_named") + "/config.json", false, true});
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
  constexpr int kLongestChain = 8;
  constexpr std::size_t kMost = 64;
  std::set<std::string> seen;
  for (const Source& source : sources) seen.insert(source.name());
  for (int round = 0; round < kLongestChain; ++round) {
    bool more = false;
    for (const auto& [name, script, before] : named_files(sources, names)) {
      for (std::size_t i = 0; i < sources.size() && sources.size() < kMost; ++i) {
        const std::string by = sources[i].file;
        if (by == "stdin") continue;
        const auto path = file_beside(name, by);
        if (!path || !seen.insert(file_name(*path)).second) {
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

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 512;
constexpr int kMostFolders = 64;                  // from a file up to its repository
constexpr std::uintmax_t kLargest = 16ULL << 20;  // bytes

/// How long the `$…` or what stands in backticks is that a name begins with; 0 where it begins with
/// none.
std::size_t open_begin(std::string_view name) {
  if (name.starts_with('`')) return name.find('`', 1) + 1;  // npos + 1 is 0
  if (!name.starts_with('$') || name.size() < 2) return 0;
  const bool braces = name[1] == '{';
  if (!braces && name[1] != '(') {
    const auto end = std::find_if(name.begin() + 1, name.end(),
                                  [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
    return static_cast<std::size_t>(end - name.begin());
  }
  int depth = 0;
  for (std::size_t at = 1; at < name.size(); ++at) {
    if (name[at] == (braces ? '{' : '(')) ++depth;
    if (name[at] == (braces ? '}' : ')') && --depth == 0) return at + 1;
  }
  return 0;
}

/// The part of a name that is known; empty for what is no path of a file here.
std::string known_part(std::string_view name) {
  const std::size_t open = open_begin(name);
  if (open > 0) {
    if (name.substr(open, 1) != "/") return {};
    name.remove_prefix(open + 1);
  }
  if (name.empty() || name.size() > kLongestName) return {};
  const bool strange = name.find_first_of("$`*?<>|\n\t\"'") != std::string_view::npos ||
                       name.find('\0') != std::string_view::npos ||
                       name.find("://") != std::string_view::npos;
  if (strange || name.starts_with('~') || name.starts_with('-')) return {};
  return std::string(name);
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

/// The outermost folder whose files may be read for a file in `folder`.
fs::path outermost(const fs::path& folder) {
  std::error_code failed;
  fs::path at = folder;
  for (int i = 0; i < kMostFolders; ++i) {
    if (fs::exists(at / ".git", failed)) return at;
    if (at == at.parent_path()) break;
    at = at.parent_path();
  }
  const fs::path working = fs::canonical(fs::current_path(failed), failed);
  const bool in_it = !failed && working != working.root_path() && is_within(folder, working);
  return in_it ? working : folder;
}

/// As a user would write it from the working folder, a link by its own name.
std::string in_brief(const fs::path& path) {
  std::error_code failed;
  const fs::path brief = path.lexically_proximate(fs::canonical(fs::current_path(failed), failed));
  return failed || brief.empty() || *brief.begin() == ".." ? path.string() : brief.string();
}

}  // namespace

std::optional<std::string> file_beside(const std::string& name, const std::string& by) {
  const std::string known = known_part(name);
  std::error_code failed;
  const fs::path given = fs::canonical(
      fs::path(by).parent_path().empty() ? fs::path(".") : fs::path(by).parent_path(), failed);
  if (known.empty() || failed) return std::nullopt;
  const fs::path last = outermost(given);
  fs::path folder = given;
  for (int i = 0; i < kMostFolders; ++i, folder = folder.parent_path()) {
    const fs::path named =
        fs::canonical((folder / known).parent_path(), failed) / fs::path(known).filename();
    const fs::path path = fs::canonical(folder / known, failed);
    if (!failed && fs::is_regular_file(path, failed) && is_within(path, last)) {
      const std::uintmax_t bytes = fs::file_size(path, failed);
      if (!failed && bytes > kLargest) {
        throw InputError(printable(in_brief(named)) + ", which " + printable(by) +
                         " names, is over 16 MiB");
      }
      return in_brief(named);
    }
    if (folder == last || folder == folder.parent_path()) break;
  }
  return std::nullopt;
}

}  // namespace prequel
