#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

struct Traced {
  Json answer, events;
};

Traced traced(const std::string& arguments) {
  const TemporaryFolder folder;
  const std::string file = folder / "trace.json";
  const ProgramResult result = run_prequel("predict --json --trace '" + file + "' " + arguments);
  REQUIRE(result.status == 0);
  return {Json::parse(result.out), Json::parse(read_file(file, 1u << 30)).at("traceEvents")};
}

std::int64_t nanoseconds(const Json& event, const char* field) {
  return std::llround(event.at(field).get<double>() * 1e3);
}

/// The slices of each thread, as [start, end] in nanoseconds, in the order of the file.
using Threads = std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>>;
Threads threads(const Json& events) {
  Threads slices;
  for (const Json& event : events) {
    if (event.at("ph") != "X") continue;
    const std::int64_t start = nanoseconds(event, "ts");
    slices[{event.at("pid"), event.at("tid")}].emplace_back(start,
                                                            start + nanoseconds(event, "dur"));
  }
  return slices;
}

TEST_CASE("events are of the Trace Event Format, with all that each kind has to say") {
  // Google's "Trace Event Format": phases X, M, C, s and f, and what each requires.
  const Traced trace = traced("bloom-176b-jean-zay --gbs 64 --detail kernel");
  const std::map<std::string, std::vector<std::string>> required{
      {"X", {"name", "pid", "tid", "ts", "dur"}},
      {"M", {"name", "pid", "args"}},
      {"C", {"name", "pid", "ts", "args"}},
      {"s", {"name", "cat", "id", "pid", "tid", "ts"}},
      {"f", {"name", "cat", "id", "pid", "tid", "ts", "bp"}}};
  const auto is_count = [](const Json& value) { return value.is_number_integer() && value >= 0; };
  std::size_t wrong = 0;
  for (const Json& event : trace.events) {
    const auto phase = required.find(event.at("ph").get<std::string>());
    REQUIRE(phase != required.end());
    const bool of_thread = event.at("name") == "thread_name";
    bool good = event.size() == phase->second.size() + (of_thread ? 2 : 1);
    good = good && event.contains("tid") >= of_thread;
    for (const std::string& key : phase->second) good = good && event.contains(key);
    good = good && event.at("name").is_string() && is_count(event.at("pid"));
    for (const char* time : {"ts", "dur"}) {
      good = good && (!event.contains(time) || (event.at(time).is_number() && event.at(time) >= 0));
    }
    if (phase->first == "M") {
      const std::string name = event.at("name");
      good = good && (name == "process_sort_index" ? is_count(event.at("args").at("sort_index"))
                                                   : event.at("args").at("name").is_string());
      good = good && (name.starts_with("process_") || name == "thread_name");
    }
    if (phase->first == "C") good = good && event.at("args").at("GiB").is_number();
    wrong += good ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("who adds begin and duration as doubles finds slices nested, too") {
  const Traced trace = traced("bloom-176b-jean-zay --gbs 64 --detail kernel");
  std::map<std::pair<int, int>, std::vector<double>> open;  // ends, by thread
  std::size_t beyond = 0;
  for (const Json& event : trace.events) {
    if (event.at("ph") != "X") continue;
    const double start = event.at("ts"), end = start + event.at("dur").get<double>();
    std::vector<double>& ends = open[{event.at("pid"), event.at("tid")}];
    while (!ends.empty() && ends.back() <= start) ends.pop_back();
    if (!ends.empty() && end > ends.back()) ++beyond;
    ends.push_back(end);
  }
  CHECK(beyond == 0);
}

TEST_CASE("slices of a trace nest or follow one another, whatever the detail") {
  for (const char* asked : {"--detail layer", "--detail kernel",
                            "--detail kernel --software megatron-core-2024 --ranks 0,320"}) {
    CAPTURE(asked);
    const Traced trace = traced("bloom-176b-jean-zay --gbs 64 " + std::string(asked));
    const Threads all = threads(trace.events);
    CHECK(all.size() >= 6);
    bool good = true;
    for (const auto& [thread, slices] : all) {
      std::vector<std::int64_t> open_until;
      std::int64_t last_start = 0;
      for (const auto& [start, end] : slices) {
        while (!open_until.empty() && open_until.back() <= start) open_until.pop_back();
        good = good && start >= last_start && end >= start;
        good = good && (open_until.empty() || end <= open_until.back());
        open_until.push_back(end);
        last_start = start;
      }
    }
    CHECK(good);
  }
}

TEST_CASE("a trace ends when the predicted iteration does, with its fixed time") {
  const Traced trace = traced("bloom-176b-jean-zay --gbs 64");
  std::int64_t end = 0;
  for (const auto& [thread, slices] : threads(trace.events)) {
    for (const auto& slice : slices) end = std::max(end, slice.second);
  }
  const double seconds = trace.answer.at("sec_per_iter").get<double>();
  CHECK(static_cast<double>(end) * 1e-9 == doctest::Approx(seconds).epsilon(1e-8));
}

TEST_CASE("the memory counter of a trace reaches the predicted peak") {
  const Traced trace = traced("bloom-176b-jean-zay --gbs 64 --ranks 0");
  double most = 0;
  for (const Json& event : trace.events) {
    if (event.at("ph") == "C") most = std::max(most, event.at("args").at("GiB").get<double>());
  }
  CHECK(most ==
        doctest::Approx(trace.answer.at("/memory/stages/0/peak_gib"_json_pointer).get<double>())
            .epsilon(1e-3));
}

TEST_CASE("every arrow of a trace has a beginning and a later end") {
  const Traced trace = traced("bloom-176b-jean-zay --gbs 64");
  std::map<int, std::int64_t> begun;
  int arrows = 0;
  for (const Json& event : trace.events) {
    if (event.at("ph") == "s") begun[event.at("id")] = nanoseconds(event, "ts");
    if (event.at("ph") != "f") continue;
    ++arrows;
    REQUIRE(begun.contains(event.at("id")));
    CHECK(nanoseconds(event, "ts") > begun[event.at("id")]);
  }
  const int per_boundary = 2 * 64 / 8 / trace.answer.at("plan").at("mbs").get<int>();
  CHECK(arrows == 5 * per_boundary);
}

TEST_CASE("layers are named with their number and micro batch, kernels by their operator") {
  const auto has = [](const Traced& trace, const std::string& name) {
    for (const Json& event : trace.events) {
      if (event.at("name") == name) return true;
    }
    return false;
  };
  const Traced layers = traced("bloom-176b-jean-zay --gbs 64 --ranks 0");
  CHECK(has(layers, "layer 0, micro batch 1"));
  CHECK_FALSE(has(layers, "launches"));
  CHECK(has(traced("bloom-176b-jean-zay --gbs 64 --ranks 0 --detail kernel"), "launches"));
}

TEST_CASE(
    "gradient buckets are slices beside the passes, which show their layers in buckets, too") {
  // 36 layers on 2 stages.
  const Traced trace = traced(
      "--model gpt-7.5b --cluster jean-zay-a100 --software megatron-core-2024 --nodes 4 "
      "--tp 2 --pp 2 --mbs 1 --gbs 32 --ranks 16");
  std::map<std::string, int> slices, thread;
  for (const Json& event : trace.events) {
    if (event.at("ph") != "X") continue;
    ++slices[event.at("name")];
    thread[event.at("name")] = event.at("tid");
  }
  for (int bucket = 1; bucket <= 18; ++bucket) {
    CAPTURE(bucket);
    const std::string of = ", bucket " + std::to_string(bucket) + " of 18";
    CHECK(slices["gather parameters layers 18-35, micro batch 0" + of] == 1);
    CHECK(slices["forward layers 18-35, micro batch 0" + of] == 1);
    CHECK(slices["backward layers 18-35, micro batch 3" + of] == 1);
    CHECK(slices["reduce gradients layers 18-35, micro batch 3" + of] == 1);
    CHECK(thread["reduce gradients layers 18-35, micro batch 3" + of] == 3);
    CHECK(thread["backward layers 18-35, micro batch 3" + of] == 0);
    CHECK(slices["layer " + std::to_string(17 + bucket) + ", micro batch 3"] > 0);
  }
}

TEST_CASE("a trace ends when the iteration does, with its fixed time") {
  const Traced trace = traced("bloom-176b-jean-zay --gbs 64");
  std::int64_t end = 0;
  for (const auto& [thread, slices] : threads(trace.events)) {
    for (const auto& [from, to] : slices) end = std::max(end, to);
  }
  CHECK(end == std::llround(trace.answer.at("sec_per_iter").get<double>() * 1e9));
}

TEST_CASE("ranks outside the job are refused with those that are in it") {
  CHECK(run_prequel("predict bloom-176b-jean-zay --trace /tmp/none --ranks 0,384").err ==
        "prequel: --ranks 0,384: expected \"stages\" or ranks from 0 to 383, such as 0,383\n");
}

}  // namespace
}  // namespace prequel
