#include "cli/import/files_beside.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {
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
