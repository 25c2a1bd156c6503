#include "cli/import/file_kinds.hpp"

#include <algorithm>
#include <cctype>

#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kHead = 4096;  // bytes that are looked at

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// `name = value`, as no shell has it.
bool assigns(std::string_view line) {
  const std::size_t blank = line.find(' ');
  return blank != std::string_view::npos && blank > 0 && line.substr(blank, 3) == " = " &&
         std::ranges::all_of(line.substr(0, blank),
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

bool is_python(std::string_view text) {
  if (text.starts_with("import ") || text.starts_with("from ") || has(text, "\nimport ") ||
      has(text, "\ndef ")) {
    return true;
  }
  for (; !text.empty(); text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1)) {
    if (assigns(text.substr(0, text.find('\n')))) return true;
  }
  return false;
}

bool is_table(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const auto commas = std::count(line.begin(), line.end(), ',');
  return (commas >= 2 || (commas == 1 && !has(line, " "))) && !has(line, "--") && !has(line, "{") &&
         !has(line, "=");
}

struct Kind {
  bool (*is)(std::string_view head);
  std::string_view what;
};
constexpr Kind kKinds[] = {
    {[](std::string_view head) { return head.starts_with("SQLite format 3"); },
     "an SQLite database, as Nsight Systems exports; the job is in its launch script or log"},
    {[](std::string_view head) { return has(head, "\"traceEvents\""); },
     "a trace of kernels, as PyTorch's profiler writes; the job is in its launch script or log"},
    {[](std::string_view head) { return has(head, "\"nbformat\""); },
     "a notebook, which prequel does not run; give its log, launch script or configuration"},
    {[](std::string_view head) {
       return head.starts_with("\x1f\x8b") || head.starts_with("PK\x03");
     },
     "a compressed file; unpack it first"},
    {[](std::string_view head) { return has(head, "nThread") && has(head, "busbw"); },
     "output of nccl-tests; prequel calibrate fit reads it"},
    {[](std::string_view head) { return head.starts_with("{'"); },
     "metrics of Hugging Face's Trainer without times; give the log with its progress bar or "
     "train_steps_per_second"},
    {[](std::string_view head) {
       return has(head, "\n```") || (head.starts_with("# ") && has(head, "\n## "));
     },
     "a page of text; give the script, configuration or log that it describes"},
    {is_python,
     "a program in Python, which prequel does not run; give its log, launch script or "
     "configuration"},
    {is_table, "a table; prequel validate reads tables of measured runs"},
};

}  // namespace

bool looks_like_toml(std::string_view text) {
  std::string_view line;
  while (!text.empty() && (line.empty() || line.starts_with('#'))) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return line.size() > 2 && line.front() == '[' && line.back() == ']' &&
         std::all_of(line.begin() + 1, line.end() - 1, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
         });
}

std::string what_it_looks_like(std::string_view text) {
  const std::string_view head = text.substr(0, kHead);
  const auto found = std::ranges::find_if(kKinds, [&](const Kind& kind) { return kind.is(head); });
  return found == std::end(kKinds) ? std::string() : std::string(found->what);
}

}  // namespace prequel
