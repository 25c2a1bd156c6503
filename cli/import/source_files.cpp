#include "cli/import/source_files.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/import/configs/config_values.hpp"
#include "cli/import/configs/json_configs.hpp"
#include "cli/import/python/python_values.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

constexpr std::size_t kLongestText = 16u << 20;  // of what is read whole: all but logs

/// Tests whether a JSON object says how something is trained, and is none of the kinds that are
/// read as they are.
bool is_other_config(const std::string& file, const std::string& text) {
  constexpr std::string_view kOfTraining[] = {"batch_size\"", "learning_rate\"", "\"lr\"",
                                              "seq_length\"", "max_seq_len",     "num_layers\"",
                                              "n_layers\"",   "n_layer\""};
  const bool trains = std::ranges::any_of(
      kOfTraining, [&](std::string_view key) { return text.find(key) != std::string::npos; });
  if (!trains || text.find("\"traceEvents\"") != std::string::npos) return false;
  try {
    const Document document = Document::parse(file, without_infinities(text));
    const nlohmann::json& json = document.json();
    return !is_hugging_face_config(document) && !is_deepspeed_config(document) &&
           !json.contains("schema") && !json.contains("nbformat");
  } catch (const InputError&) {
    return false;  // a template, or what is wrong is said when it is read
  }
}

/// GPT-NeoX writes YAML in braces; input of Hugging Face's Trainer may be JSON, which is YAML, too.
SourceKind kind_of_json(const std::string& path, const Source& source) {
  const std::string& text = source.text;
  const bool yaml = path.ends_with(".yml") || path.ends_with(".yaml") ||
                    text.find("\"per_device_train_batch_size\"") != std::string::npos ||
                    is_other_config(source.file, text) || is_neox_config(text) ||
                    is_yaml_in_braces(text);
  return yaml ? SourceKind::yaml : SourceKind::json;
}

Source read_source(const std::string& path) {
  Source source;
  source.file = path == "-" ? "stdin" : path;
  bool json = false;
  TrainingLogReader log;
  bool longer = false;
  read_pieces(path, [&](std::string_view piece) {
    const std::size_t kept = std::min(piece.size(), kLongestText - source.text.size());
    source.text += piece.substr(0, kept);
    longer = longer || kept < piece.size();
    // Neither scripts nor logs nor JSON have such a byte; devices without end have them at once.
    if (longer && piece.find('\0') != std::string_view::npos) {
      throw InputError(source.file +
                       ": holds a NUL byte, so it is not text; expected a config, a "
                       "launch script or a training log");
    }
    json = is_json(source.text);
    if (json) return !longer;
    log.take(piece);
    return true;
  });
  if (!json && !source.text.starts_with("#!")) source.log = log.finish();
  source.kind = json                             ? kind_of_json(path, source)
                : source.log.found()             ? SourceKind::log
                : looks_like_yaml(source.text)   ? SourceKind::yaml
                : looks_like_toml(source.text)   ? SourceKind::toml
                : looks_like_python(source.text) ? SourceKind::python
                                                 : SourceKind::script;
  std::string recipe =
      source.is(SourceKind::python) ? command_of_recipe(source.text) : std::string();
  if (!recipe.empty()) {
    source.text = std::move(recipe);
    source.kind = SourceKind::script;
  }
  if (longer && !source.is(SourceKind::log)) {
    throw InputError(source.file + ": over 16 MiB, and no iteration of a training log in it");
  }
  return source;
}

}  // namespace

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  const std::size_t second = text.find_first_not_of(" \t\r\n", first + 1);
  return second == std::string_view::npos || text[second] != '\'';
}

std::string without_infinities(std::string_view text) {
  std::string json;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (text[at] == '"') quoted = !quoted;
    if (quoted && text[at] == '\\' && rest.size() > 1) json += text[at++];
    const std::string_view words[] = {"-Infinity", "Infinity", "NaN"};
    const auto* const word = std::ranges::find_if(
        words, [&](std::string_view one) { return !quoted && rest.starts_with(one); });
    if (word == std::end(words)) {
      json += text[at];
    } else {
      json += "null";
      at += word->size() - 1;
    }
  }
  return json;
}

void add_sources(const std::string& path, std::vector<Source>& sources) {
  sources.push_back(read_source(path));
  Source& source = sources.back();
  if (source.is(SourceKind::toml)) source.tree = toml_tree(source.file, source.text);
  if (!source.is(SourceKind::yaml)) return;
  source.tree = yaml_tree(source.file, source.text, source.told);
  std::string commands = commands_of_tree(source.tree);
  if (commands.empty()) return;
  Source run;
  run.file = source.file + " (its commands)";
  run.text = std::move(commands);
  run.within = true;
  sources.push_back(std::move(run));
}

const std::string& first_file(const std::vector<Source>& sources) {
  const auto given =
      std::ranges::find_if(sources, [](const Source& one) { return one.named_by.empty(); });
  return (given == sources.end() ? sources.begin() : given)->file;
}

std::string Source::name() const {
  return file_name(file);
}

namespace {

constexpr std::size_t kHead = 4096;  // bytes that are looked at

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// `name = value`, as no shell has it.
bool is_assignment(std::string_view line) {
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
    if (is_assignment(text.substr(0, text.find('\n')))) return true;
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
