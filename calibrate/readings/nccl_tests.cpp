#include "calibrate/readings/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "hw/collectives/collective.hpp"

namespace prequel {
namespace {

/// Bus and algorithm bandwidth are printed with two digits.
constexpr double kSameRatio = 0.01;

/// One row, out of place (in place where the first half is blank).
struct Row {
  double bytes{};
  std::string type;
  double time_us{};
  double algorithm_rate{};  ///< GB/s
  double bus_rate{};        ///< GB/s
};

/// The content of a log besides its rows.
struct Run {
  std::optional<CollectiveOp> op;
  int ranks{0};
  std::set<std::string> hosts;
};

std::optional<CollectiveOp> op_in(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, CollectiveOp>, 6> kPrograms{{
      {"all_reduce_perf", CollectiveOp::all_reduce},
      {"all_gather_perf", CollectiveOp::all_gather},
      {"reduce_scatter_perf", CollectiveOp::reduce_scatter},
      {"alltoall_perf", CollectiveOp::all_to_all},
      {"broadcast_perf", CollectiveOp::broadcast},
      {"sendrecv_perf", CollectiveOp::send_recv},
  }};
  for (const auto& [program, op] : kPrograms) {
    if (text.find(program) != std::string_view::npos) return op;
  }
  return std::nullopt;
}

std::vector<std::string> tokens_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> tokens;
  for (std::string token; in >> token;) tokens.push_back(token);
  return tokens;
}

/// The part of a line before a debug message: "host:1234:1250 [0] NCCL INFO …".
std::string_view without_debug(std::string_view line) {
  const auto nccl = line.find(" NCCL ");
  if (nccl == std::string_view::npos) return line;
  const auto bracket = line.rfind(" [", nccl);
  if (bracket == std::string_view::npos) return line.substr(0, nccl);
  const auto blank = line.find_last_of(" \t", bracket - (bracket > 0 ? 1 : 0));
  return blank == std::string_view::npos ? std::string_view{} : line.substr(0, blank);
}

/// The line without what `srun --label` ("0: ") and `mpirun --tag-output` ("[1,0]<stdout>:") put
/// before it.
std::string_view without_label(std::string_view line) {
  const std::string_view digits = "0123456789";
  const auto skip = [&line](std::size_t count) { line = trimmed(line.substr(count)); };
  if (line.starts_with('[')) {
    const auto close = line.find(']');
    const bool ranks =
        close != std::string_view::npos &&
        line.substr(1, close - 1).find_first_not_of("0123456789,") == std::string_view::npos;
    const auto colon = line.find(">:");
    if (ranks && colon != std::string_view::npos && line.substr(close + 1).starts_with("<std")) {
      skip(colon + 2);
    }
    return line;
  }
  const auto end = line.find_first_not_of(digits);
  if (end != std::string_view::npos && end > 0 && line.substr(end).starts_with(": ")) skip(end + 2);
  return line;
}

bool begins_row(const std::vector<std::string>& tokens) {
  return tokens.size() >= 3 && parse_integer(tokens[0]) && parse_integer(tokens[1]) &&
         !parse_number(tokens[2]);
}

/// Takes the numbers of a row's tokens; `first_time` is how many columns stand before the first
/// time. Nothing if they are not all there or contradict each other.
std::optional<Row> parse_row(const std::vector<std::string>& tokens, std::size_t first_time) {
  if (tokens.size() < first_time + 3) return std::nullopt;
  Row row;
  row.bytes = parse_number(tokens[0]).value_or(0.0);
  row.type = tokens[2];
  const auto time = parse_number(tokens[first_time]);
  const auto algorithm = parse_number(tokens[first_time + 1]);
  const auto bus = parse_number(tokens[first_time + 2]);
  if (!time || !algorithm || !bus || *time <= 0.0 || row.bytes <= 0.0) return std::nullopt;
  row.time_us = *time;
  row.algorithm_rate = *algorithm;
  row.bus_rate = *bus;
  // Rates are printed with two digits, so small ones say nothing about the time.
  const double expected = row.bytes / (*time * 1e3);
  if (expected > 1.0 && std::abs(*algorithm / expected - 1.0) > 0.05) return std::nullopt;
  return row;
}

/// As `parse_row`, also where columns that the header names are blank: gathers of 2021 have no
/// redop.
std::optional<Row> parse_any_row(const std::vector<std::string>& tokens, std::size_t first_time) {
  constexpr std::size_t kFirst = 3;  // after size, count and type
  for (std::size_t at = first_time; at >= kFirst; --at) {
    if (auto row = parse_row(tokens, at)) return row;
  }
  return std::nullopt;
}

/// busbw / algbw of the largest message.
double bus_ratio(const std::vector<Row>& rows) {
  const auto best = std::ranges::max_element(rows, {}, &Row::algorithm_rate);
  return best->algorithm_rate > 0.0 ? best->bus_rate / best->algorithm_rate : 0.0;
}

/// Fills in from busbw / algbw what the log does not say. Throws InputError where that is not
/// enough.
void complete(Run& run, const std::vector<Row>& rows, const std::string& file) {
  const double ratio = bus_ratio(rows);
  if (!run.op) run.op = op_in(file);
  if (!run.op && (ratio > 1.02 || (run.ranks == 2 && ratio > 0.98))) {
    run.op = CollectiveOp::all_reduce;
  }
  if (!run.op) {
    throw InputError(
        fmt::format("{}: does not say which collective this is; put its program's "
                    "name (e.g. all_gather_perf) into the file's name",
                    file));
  }
  const bool tells = *run.op != CollectiveOp::broadcast && *run.op != CollectiveOp::send_recv;
  const double told = run.ranks > 1 ? wire_factor(*run.op, run.ranks) : 0.0;
  // The head of a log may be cut; its rates are not.
  if (run.ranks > 1 && (!tells || std::abs(ratio / told - 1.0) < kSameRatio)) return;
  const double factor = *run.op == CollectiveOp::all_reduce ? ratio / 2.0 : ratio;
  const double ranks = factor < 0.9999 ? std::round(1.0 / (1.0 - factor)) : 0.0;
  if (tells && ranks >= 2.0 && ranks <= 1 << 20) {
    run.ranks = static_cast<int>(ranks);
  } else if (run.ranks == 1) {
    throw InputError(
        fmt::format("{}: one rank, which sends nothing; run nccl-tests on two or more (-g, or "
                    "built with MPI=1)",
                    file));
  } else if (*run.op == CollectiveOp::send_recv) {
    run.ranks = 2;
  } else if (run.ranks == 0) {
    throw InputError(fmt::format("{}: does not say the number of ranks", file));
  }
}

std::string type_name(const std::string& type) {
  if (type == "float") return "fp32";
  if (type == "half") return "fp16";
  if (type == "bfloat16") return "bf16";
  return type;
}

void add_points(MeasurementFile& result, Run run, const std::vector<Row>& rows,
                const std::string& file) {
  if (rows.empty()) return;
  complete(run, rows, file);
  for (const Row& row : rows) {
    result.points.push_back(
        read_measurement({{"op", std::string(name(*run.op))},
                          {"ranks", std::to_string(run.ranks)},
                          {"nodes", std::to_string(std::max<std::size_t>(run.hosts.size(), 1))},
                          {"bytes", fmt::format("{:.0f}", row.bytes)},
                          {"dtype", type_name(row.type)},
                          {"time_us", fmt::format("{}", row.time_us)},
                          {"source", file}}));
  }
}

/// Reads a comment line: the header's columns, the program's name, the ranks and their hosts.
void read_comment(std::string_view line, Run& run, std::size_t& first_time) {
  if (const auto op = op_in(line)) run.op = op;
  const auto tokens = tokens_of(line.substr(1));
  const auto find = [&tokens](std::string_view word) {
    return std::find(tokens.begin(), tokens.end(), word);
  };
  if (find("size") != tokens.end() && find("time") != tokens.end()) {
    first_time = static_cast<std::size_t>(find("time") - tokens.begin());
  }
  if (tokens.size() > 2 && tokens[0] == "Rank" && parse_integer(tokens[1])) {
    ++run.ranks;
    const auto on = find("on");
    if (on != tokens.end() && on + 1 != tokens.end()) run.hosts.insert(*(on + 1));
  }
}

}  // namespace

MeasurementFile read_nccl_log(std::istream& in, const std::string& file) {
  constexpr std::size_t kLineLimit = 1u << 20;
  MeasurementFile result;
  Run run;
  std::vector<Row> rows;
  std::size_t first_time = 5;  // size, count, type, redop, root
  std::vector<std::string> pending;
  std::size_t pending_line = 0;
  const auto finish = [&] {
    if (pending.empty()) return;
    if (auto row = parse_any_row(pending, first_time)) {
      rows.push_back(*row);
    } else {
      result.unread.push_back(
          fmt::format("{}:{}: a row that is cut off or contradicts itself", file, pending_line));
    }
    pending.clear();
  };
  std::string text;
  for (std::size_t line = 1; std::getline(in, text); ++line) {
    if (text.size() > kLineLimit) text.resize(kLineLimit);
    const std::string_view sound = without_label(trimmed(without_debug(trimmed(text))));
    if (sound.starts_with('#')) {
      finish();
      read_comment(sound, run, first_time);
      continue;
    }
    if (!run.op && pending.empty()) run.op = op_in(sound);
    auto tokens = tokens_of(sound);
    if (begins_row(tokens)) {
      finish();
      pending = std::move(tokens);
      pending_line = line;
    } else if (!pending.empty() && pending.size() < first_time + 3) {
      pending.insert(pending.end(), tokens.begin(), tokens.end());
    }
  }
  finish();
  add_points(result, run, rows, file);
  return result;
}

MeasurementFile read_nccl_json(std::istream& in, const std::string& file) {
  using nlohmann::json;
  const json document = json::parse(in, nullptr, false);
  if (!document.is_object() || !document.contains("results") || !document["results"].is_array()) {
    throw InputError(fmt::format("{}: neither a measurement file nor JSON of nccl-tests", file));
  }
  MeasurementFile result;
  Run run;
  json context = document;
  context.erase("results");
  run.op = op_in(context.dump());
  for (const char* key : {"nranks", "ranks", "num_ranks", "total_ranks"}) {
    const auto found = document.find(key);
    if (found == document.end()) continue;
    if (found->is_number_integer()) {
      run.ranks =
          static_cast<int>(std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, 1 << 20));
    } else if (found->is_array()) {
      run.ranks = static_cast<int>(found->size());
    }
  }
  std::vector<Row> rows;
  std::size_t index = 0;
  for (const json& entry : document["results"]) {
    const auto number = [&entry](const std::string& path) {
      const json::json_pointer at(path);
      return entry.contains(at) && entry[at].is_number() ? entry[at].get<double>() : 0.0;
    };
    const bool out_of_place = number("/out_of_place/time") > 0.0;
    const std::string half = out_of_place ? "/out_of_place" : "/in_place";
    const bool typed = entry.is_object() && entry.contains("type") && entry["type"].is_string();
    const Row row{number("/size"), typed ? entry["type"].get<std::string>() : "float",
                  number(half + "/time"), number(half + "/alg_bw"), number(half + "/bus_bw")};
    if (row.bytes > 0.0 && row.time_us > 0.0) {
      rows.push_back(row);
    } else {
      result.unread.push_back(fmt::format("{}: /results/{}: no size or no time", file, index));
    }
    ++index;
  }
  add_points(result, run, rows, file);
  return result;
}

}  // namespace prequel
