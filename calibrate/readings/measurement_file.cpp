#include "calibrate/readings/measurement_file.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "calibrate/readings/kineto_trace.hpp"
#include "calibrate/readings/nccl_tests.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

void add_point(MeasurementFile& file, const std::string& path, std::size_t line, Fields fields) {
  for (Fields& row : both_ways(std::move(fields))) {
    try {
      file.points.push_back(read_measurement(std::move(row)));
    } catch (const InputError& error) {
      file.unread.push_back(fmt::format("{}:{}: {}", path, line, error.what()));
    }
  }
}

MeasurementFile read_table(std::istream& in, const std::string& path) {
  MeasurementFile file;
  CsvReader reader(in, path);
  while (const auto row = reader.next()) {
    if (row->cells.size() != reader.columns().size()) {
      file.unread.push_back(fmt::format("{}:{}: {} cells under {} columns", path, row->line,
                                        row->cells.size(), reader.columns().size()));
      continue;
    }
    Fields fields;
    for (std::size_t i = 0; i < row->cells.size(); ++i) {
      fields.emplace(reader.columns()[i], row->cells[i]);
    }
    add_point(file, path, row->line, std::move(fields));
  }
  return file;
}

std::string as_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Fields fields_of(const nlohmann::json& object) {
  Fields fields;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_structured() && !value.is_null()) fields.emplace(key, as_text(value));
  }
  return fields;
}

MeasurementFile read_json_lines(std::istream& in, const std::string& path) {
  MeasurementFile file;
  std::string text;
  for (std::size_t line = 1; std::getline(in, text); ++line) {
    if (trimmed(text).empty()) continue;
    const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
    if (!value.is_object()) {
      file.unread.push_back(fmt::format("{}:{}: not a JSON object (cut off?)", path, line));
    } else if (value.contains("schema")) {
      if (value["schema"] != "prequel/measurement/1") {
        throw InputError(fmt::format("{}:{}: /schema: expected \"prequel/measurement/1\", got {}",
                                     path, line, in_quotes(as_text(value["schema"]))));
      }
      if (value.contains("context") && value["context"].is_object()) {
        for (auto& [key, entry] : fields_of(value["context"])) file.context[key] = entry;
      }
    } else {
      add_point(file, path, line, fields_of(value));
    }
  }
  return file;
}

enum class Format { table, json_lines, nccl_json, nccl_text, kineto };

/// Bytes at the beginning of a JSON file within which it says what it is.
constexpr std::size_t kHead = 1 << 16;

/// Seen from the first line that is not blank.
Format format_of(std::istream& in) {
  std::string line;
  while (std::getline(in, line) && trimmed(line).empty()) {
  }
  if (trimmed(line).starts_with('{')) {
    const nlohmann::json first = nlohmann::json::parse(line, nullptr, false);
    if (first.is_object() && !first.contains("results") && !first.contains("traceEvents")) {
      return Format::json_lines;
    }
    // A document over several lines is a log of nccl-tests, or a trace, whose head names its
    // events.
    std::string more(kHead, '\0');
    in.read(more.data(), static_cast<std::streamsize>(more.size()));
    more.resize(static_cast<std::size_t>(in.gcount()));
    constexpr const char* kTraceKeys[] = {"\"traceEvents\"", "\"deviceProperties\"",
                                          "\"distributedInfo\""};
    const bool trace = std::ranges::any_of(kTraceKeys, [&](const char* key) {
      return line.find(key) != std::string::npos || more.find(key) != std::string::npos;
    });
    return trace ? Format::kineto : Format::nccl_json;
  }
  constexpr const char* kTimes[] = {"time_us", "time_ms", "time_s", "combine_us", "gb_s"};
  const bool has_time =
      line.find(",ms") != std::string::npos || std::ranges::any_of(kTimes, [&](const char* column) {
        return line.find(column) != std::string::npos;
      });
  return has_time && line.find(',') != std::string::npos ? Format::table : Format::nccl_text;
}

std::ifstream opened(const std::string& path) {
  if (is_folder(path)) {
    throw InputError(fmt::format("{}: is a directory, expected a file of measurements", path));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(fmt::format("{}: cannot be read", path));
  return in;
}

}  // namespace

MeasurementFile read_measurements(const std::string& path) {
  std::ifstream peek = opened(path);
  const Format format = format_of(peek);
  std::ifstream in = opened(path);
  MeasurementFile file;
  switch (format) {
    case Format::table: file = read_table(in, path); break;
    case Format::json_lines: file = read_json_lines(in, path); break;
    case Format::nccl_json: file = read_nccl_json(in, path); break;
    case Format::nccl_text: file = read_nccl_log(in, path); break;
    case Format::kineto: file = read_kineto_trace(in, path).file; break;
  }
  if (file.points.empty()) {
    std::string why = fmt::format(
        "{}: no measured point; expected a CSV table with time_us, a measurement file, an "
        "nccl-tests log or a PyTorch profiler's trace; of a training log, calibrate runs takes the "
        "rows that prequel import makes",
        path);
    if (!file.notes.empty()) why += fmt::format(" ({})", file.notes.back());
    if (!file.unread.empty()) why += fmt::format(" (first problem: {})", file.unread.front());
    throw InputError(why);
  }
  return file;
}

MeasurementFile read_measurements(const std::vector<std::string>& paths) {
  MeasurementFile all;
  for (const std::string& path : paths) {
    MeasurementFile file = read_measurements(path);
    std::move(file.points.begin(), file.points.end(), std::back_inserter(all.points));
    std::move(file.unread.begin(), file.unread.end(), std::back_inserter(all.unread));
    std::move(file.notes.begin(), file.notes.end(), std::back_inserter(all.notes));
    all.context.merge(file.context);
  }
  return all;
}

RowFilter parse_row_filter(std::string_view text) {
  const auto equals = text.find('=');
  const bool negated = equals != std::string_view::npos && equals > 0 && text[equals - 1] == '!';
  const std::string_view column =
      equals == std::string_view::npos ? "" : text.substr(0, equals - (negated ? 1 : 0));
  if (column.empty()) {
    throw InputError(
        "where", fmt::format("expected COLUMN=VALUE or COLUMN!=VALUE (with * for any text), got {}",
                             in_quotes(text)));
  }
  return {std::string(column), std::string(text.substr(equals + 1)), negated};
}

bool matches(std::string_view text, std::string_view pattern) {
  std::string literal;  // but for *
  for (const char c : pattern) {
    if (c == '?' || c == '[' || c == '\\') literal += '\\';
    literal += c;
  }
  return fnmatch(literal.c_str(), std::string(text).c_str(), 0) == 0;
}

bool meets(const Fields& fields, const std::vector<RowFilter>& filters) {
  return std::all_of(filters.begin(), filters.end(), [&](const RowFilter& filter) {
    const auto found = fields.find(filter.column);
    const std::string_view cell = found == fields.end() ? "" : std::string_view(found->second);
    return matches(cell, filter.pattern) != filter.negated;
  });
}

}  // namespace prequel
