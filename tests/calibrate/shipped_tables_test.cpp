/// Facts about the shipped tables of measured runs, all of them at once.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "calibrate/spread/stack_spread.hpp"
#include "calibrate/validate/validation.hpp"
#include "tests/calibrate/shipped_tables.hpp"

using namespace prequel;

namespace {

/// How far off the tables may be, median of the absolute errors of times: loose guards, to be
/// tightened as the physics gets better. Tables that are not named: anything.
const std::map<std::string, double> kMostMedian{
    {"bigscience-jz-a100", 0.03}, {"bigscience-jz-a100-late", 0.045},
    {"mosaic-a100", 0.03},        {"megatron-sc21", 0.035},
    {"fugaku-124m", 0.06},        {"simumax-b200", 0.06},
    {"internevo", 0.08},          {"bridge-dense", 0.08},
    {"nemo-before-25.09", 0.1},   {"llm-foundry-a100", 0.1},
    {"mosaic-h100", 0.12},        {"mlperf-training", 0.12},
    {"megatron-moe", 0.12}};

std::vector<std::string> tables() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(PREQUEL_DATA_DIR "/runs")) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

const std::vector<ValidatedRun>& all_runs() {
  static const std::vector<ValidatedRun> runs = [] {
    std::vector<MeasuredRun> rows;
    for (const std::string& file : tables()) {
      for (MeasuredRun& row : read_measured_runs(file)) rows.push_back(std::move(row));
    }
    return validate_runs(Library({PREQUEL_DATA_DIR}), std::move(rows), {});
  }();
  return runs;
}

}  // namespace

TEST_CASE("the index of the tables names each file of data/runs once") {
  const Document index = Library({PREQUEL_DATA_DIR}).open("runs", "tables");
  std::vector<std::string> named, there;
  for (const Cursor& table : index.root().at("tables").items()) {
    named.push_back(table.at("name").text());
    CHECK_FALSE(table.at("what").text().empty());
    if (const auto floor = table.find("noise_floor")) {
      CHECK(floor->at("sec_per_iter").number(kPositive) < 0.5);
    }
  }
  for (const std::string& file : tables()) {
    there.push_back(std::filesystem::path(file).stem().string());
  }
  std::ranges::sort(named);
  std::ranges::sort(there);
  CHECK(named == there);
}

TEST_CASE("every row of the shipped tables is predicted, or says why not, by an id of its own") {
  std::set<std::pair<std::string, std::string>> ids;
  std::size_t usable = 0, predicted = 0;
  for (const ValidatedRun& run : all_runs()) {
    CAPTURE(run.run.file);
    CAPTURE(run.run.id);
    CHECK(ids.emplace(run.run.file, run.run.id).second);
    CHECK(run.reason.empty() == (run.outcome == Outcome::predicted));
    if (run.outcome == Outcome::invalid || !run.run.apart.empty()) continue;
    if (run.run.status != RunStatus::ok || !run.run.sec_per_iter) continue;
    ++usable;
    predicted += run.time_error.has_value();
  }
  CHECK(usable > 1000);
  CHECK(static_cast<double>(predicted) >= 0.95 * static_cast<double>(usable));
}

TEST_CASE("groups by any column add up to all rows") {
  const ValidationGroup all = group_runs(all_runs(), {}).front();
  CHECK(all.runs == all_runs().size());
  for (const char* column : {"file", "kind", "card", "precision", "scale", "software"}) {
    CAPTURE(column);
    ValidationGroup sum;
    for (const ValidationGroup& group : group_runs(all_runs(), {column})) {
      CHECK(group.by == column);
      CHECK(group.runs == group.predicted + group.unsupported + group.invalid);
      CHECK(group.apart <= group.runs);
      sum.runs += group.runs;
      sum.apart += group.apart;
      sum.time.n += group.time.n;
      sum.memory.n += group.memory.n;
      sum.fit.ran += group.fit.ran;
      sum.fit.odds += group.fit.odds;
    }
    CHECK(sum.runs == all.runs);
    CHECK(sum.apart == all.apart);
    CHECK(sum.time.n == all.time.n);
    CHECK(sum.memory.n == all.memory.n);
    CHECK(sum.fit.ran == all.fit.ran);
    CHECK(sum.fit.odds == all.fit.odds);
  }
}

TEST_CASE("rows that contradict others are predicted but in no statistic") {
  std::size_t apart = 0;
  for (const ValidatedRun& run : all_runs()) {
    const auto check = run.run.cells.find("check");
    const bool says = check != run.run.cells.end() && check->second.starts_with("contradicts");
    if (run.run.contradiction.empty()) CHECK(says == !run.run.apart.empty());
    apart += says;
  }
  CHECK(apart >= 100);
  const ValidationGroup all = group_runs(all_runs(), {}).front();
  std::vector<ValidatedRun> counted = all_runs();
  std::erase_if(counted, [](const ValidatedRun& run) { return !run.run.apart.empty(); });
  const ValidationGroup alone = group_runs(counted, {}).front();
  CHECK(all.time.n == alone.time.n);
  CHECK(all.time.median == alone.time.median);
  CHECK(all.fit.false_oom == alone.fit.false_oom);
  CHECK(all.layouts.sets == alone.layouts.sets);
}

TEST_CASE("the reliability of the probability of fitting adds up") {
  const FitCounts fit = group_runs(all_runs(), {}).front().fit;
  std::size_t rows = 0;
  double ran = 0;
  for (const ReliabilityBin& bin : fit.reliability) {
    CHECK(bin.n > 0);
    CHECK(bin.said >= 0.0);
    CHECK(bin.said <= 1.0);
    rows += bin.n;
    ran += bin.came * static_cast<double>(bin.n);
  }
  CHECK(rows == fit.odds);
  CHECK(ran == doctest::Approx(static_cast<double>(fit.ran)));
  CHECK(fit.brier >= 0.0);
  CHECK(fit.brier <= 1.0);
}

TEST_CASE("no shipped table is further off than its guard") {
  std::set<std::string> seen;
  for (const ValidationGroup& group : group_runs(all_runs(), {"file"})) {
    const auto most = kMostMedian.find(group.name);
    if (most == kMostMedian.end()) continue;
    CAPTURE(group.name);
    CHECK(group.time.median <= most->second);
    seen.insert(group.name);
  }
  CHECK(seen.size() == kMostMedian.size());
}

TEST_CASE("80 % intervals hold about 80 % of all rows, and of no large table nearly none or all") {
  const auto groups = group_runs(all_runs(), {});
  const Coverage& all = groups.front().time_coverage;
  CHECK(all.inside[1] >= 0.7);
  CHECK(all.inside[1] <= 0.92);
  CHECK(all.inside[0] < all.inside[1]);
  CHECK(all.inside[1] < all.inside[2]);
}

TEST_CASE("what the runs say of each stack is the same again, and covers their rows") {
  const StackSpreadReport report = stack_spreads(all_runs(), priors());
  CHECK(report.time.inside[1] >= 0.75);
  CHECK(report.time.inside[1] <= 0.9);
  CHECK(report.held_out.n == report.time.n);
  CHECK(report.other >= report.own);
  const StackSpreadReport again = stack_spreads(all_runs(), priors());
  REQUIRE(again.stacks.size() == report.stacks.size());
  for (std::size_t i = 0; i < report.stacks.size(); ++i) {
    CHECK(again.stacks[i].time.level == report.stacks[i].time.level);
    CHECK(report.stacks[i].time.level > 0);
    CHECK(report.stacks[i].time.noise > 0);
  }
}

namespace {

/// Two rows of a table that differ in one switch alone: without it and with it.
struct Pair {
  const char* without;
  const char* with;
};

const ValidatedRun& run_of(const std::string& id) {
  return *std::ranges::find(all_runs(), id, [](const ValidatedRun& run) { return run.run.id; });
}

/// Logarithm of how much faster the switch made the step.
double gained(const Pair& pair, double (*seconds)(const ValidatedRun&)) {
  return std::log(seconds(run_of(pair.without)) / seconds(run_of(pair.with)));
}

}  // namespace

TEST_CASE("what switches gained in measured pairs is predicted, two thirds of it at least") {
  const std::map<std::string, std::vector<Pair>> switches{
      {"experts' exchange beside another micro batch",
       {{"aws-qwen3-235b-a22b-b300-64-pp4-ep16-mb4-novl-a2a",
         "aws-qwen3-235b-a22b-b300-64-pp4-ep16-mb4-ovl-a2a"},
        {"aws-qwen3-30b-a3b-h100-64-pp4-ep16-mb4-novl-a2a",
         "aws-qwen3-30b-a3b-h100-64-pp4-ep16-mb4-ovl-a2a"},
        {"aws-qwen3-30b-a3b-h100-64-pp4-ep16-mb4-novl-uccl",
         "aws-qwen3-30b-a3b-h100-64-pp4-ep16-mb4-ovl-uccl"},
        {"aws-qwen3-30b-a3b-h100-64-pp4-ep16-mb4-novl-nvshmem",
         "aws-qwen3-30b-a3b-h100-64-pp4-ep16-mb4-ovl-nvshmem"},
        {"aws-qwen3-30b-a3b-h100-64-pp2-ep32-mb4-novl-a2a",
         "aws-qwen3-30b-a3b-h100-64-pp2-ep32-mb4-ovl-a2a"},
        {"aws-qwen3-30b-a3b-h100-64-pp2-ep32-mb4-novl-nvshmem",
         "aws-qwen3-30b-a3b-h100-64-pp2-ep32-mb4-ovl-nvshmem"},
        {"aws-deepseek-v3-b300-256-pp8-ep32-mb4-novl-a2a",
         "aws-deepseek-v3-b300-256-pp8-ep32-mb4-ovl-a2a"},
        {"aws-deepseek-v3-b300-256-pp8-ep32-mb4-novl-uccl",
         "aws-deepseek-v3-b300-256-pp8-ep32-mb4-ovl-uccl"},
        {"modelzoo-q235-ep32", "modelzoo-q235-ep32-ovl"}}},
      {"one graph of the iteration in place of one a module",
       {{"mcore-recipe-qwen3-235b-a22b-gb200-mxfp8-128gpu-tp1pp1ep64-partial-cg-overlap-2026-06",
         "mcore-recipe-qwen3-235b-a22b-gb200-mxfp8-128gpu-tp1pp1ep64-paged-stash-fullcg-overlap-"
         "2026-06"},
        {"mcore-recipe-qwen3-235b-a22b-gb200-mxfp8-128gpu-tp1pp1ep64-partial-cg-overlap-2026-07",
         "mcore-recipe-qwen3-235b-a22b-gb200-mxfp8-128gpu-tp1pp1ep64-paged-stash-fullcg-overlap-"
         "2026-07"}}},
      {"communication of tensor ranks beside products",
       {{"torchtitan-70b-2d-0", "torchtitan-70b-2d-1"},
        {"torchtitan-atp-70b-bf16-0", "torchtitan-atp-70b-bf16-1"},
        {"torchtitan-atp-70b-tensorwise-0", "torchtitan-atp-70b-tensorwise-1"},
        {"torchtitan-atp-70b-rowwise-0", "torchtitan-atp-70b-rowwise-1"},
        {"torchtitan-atp-8b-bf16-0", "torchtitan-atp-8b-bf16-1"}}},
      {"optimizer on the device in place of the host",
       {{"deepspeed-zero-05", "deepspeed-zero-04"},
        {"deepspeed-zero-08", "deepspeed-zero-07"},
        {"deepspeed-zero-19", "deepspeed-zero-18"},
        {"deepspeed-zero-17", "deepspeed-zero-16"}}},
      {"operators not recomputed", {{"torchtitan-a100-5", "torchtitan-a100-3"}}},
      {"forced balance of experts in place of early natural routing",
       {{"modelzoo-q235-long-16k-natural", "modelzoo-q235-long-16k-forced"},
        {"modelzoo-q235-long-64k-natural", "modelzoo-q235-long-64k-forced"}}}};
  for (const auto& [what, pairs] : switches) {
    CAPTURE(what);
    double measured = 0;
    double predicted = 0;
    for (const Pair& pair : pairs) {
      CAPTURE(pair.with);
      measured += gained(pair, [](const ValidatedRun& run) { return *run.run.sec_per_iter; });
      const double gain =
          gained(pair, [](const ValidatedRun& run) { return run.prediction->sec_per_iter.value; });
      CHECK(gain > 0);
      predicted += gain;
    }
    CHECK(predicted > 2.0 / 3 * measured);
    CHECK(predicted < 3.0 / 2 * measured);
  }
}

namespace {

constexpr double kMostBias = 0.04;
constexpr std::size_t kFewestPlans = 3;

/// Returns the cells that tell plans of a group apart: rows of other releases repeat a plan.
std::string plan_of(const MeasuredRun& run) {
  std::string plan;
  for (const char* column :
       {"model", "gpus", "tp", "pp", "cp", "ep", "etp", "vpp", "zero_stage", "schedule", "mbs",
        "gbs", "seq_len", "precision", "recompute", "recompute_modules", "attention", "tuning"}) {
    plan += cell(run, column) + "|";
  }
  return plan;
}

/// Medians of signed errors by model, precision and release on a card, of at least three plans.
std::map<std::string, double> biases_on_cards() {
  struct Group {
    std::vector<double> errors;
    std::set<std::string> plans;
  };
  std::map<std::string, Group> groups;
  for (const ValidatedRun& run : all_runs()) {
    if (!run.time_error || !run.run.apart.empty()) continue;
    for (const char* column : {"model", "precision", "software"}) {
      const std::string value = cell(run.run, column);
      if (value.empty()) continue;
      Group& group = groups[value + " on " + cell(run.run, "card")];
      group.errors.push_back(*run.time_error);
      group.plans.insert(plan_of(run.run));
    }
  }
  std::map<std::string, double> biases;
  for (auto& [name, group] : groups) {
    if (group.plans.size() < kFewestPlans) continue;
    biases[name] = quantile(group.errors, 0.5);
  }
  return biases;
}

std::vector<std::string> split(const std::string& text, const std::string& at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + at.size()) {
    end = text.find(at, begin);
    const std::string part = text.substr(begin, end - begin);
    const std::size_t first = part.find_first_not_of(' ');
    if (first != std::string::npos) {
      parts.push_back(part.substr(first, part.find_last_not_of(' ') - first + 1));
    }
    if (end == std::string::npos) break;
  }
  return parts;
}

/// The table of docs/accuracy.md: per cent of each group, of which each line names a cause.
std::map<std::string, double> biases_of_the_page() {
  std::ifstream page(PREQUEL_DATA_DIR "/../docs/accuracy.md");
  std::map<std::string, double> biases;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| what | bias | cause |")) inside = true;
    if (!inside || line.starts_with("| ---")) continue;
    if (!line.starts_with("| ")) {
      if (!biases.empty()) break;
      continue;
    }
    const std::vector<std::string> cells = split(line, "|");
    if (cells.front() == "what") continue;
    CAPTURE(line);
    REQUIRE(cells.size() == 3);  // a group without a cause is none
    const auto names = split(cells[0], ";"), values = split(cells[1], ";");
    REQUIRE(names.size() == values.size());
    for (std::size_t i = 0; i < names.size(); ++i) biases[names[i]] = std::stod(values[i]);
  }
  return biases;
}

}  // namespace

TEST_CASE("a model, precision or release on a card is met without bias, or the page says why not") {
  const std::map<std::string, double> there = biases_on_cards(), named = biases_of_the_page();
  std::size_t biased = 0;
  for (const auto& [name, bias] : there) {
    INFO(name << " has a bias of " << std::lround(100 * bias) << " % of its times");
    const bool is_biased = std::abs(bias) > kMostBias;
    biased += is_biased;
    CHECK(is_biased == named.contains(name));  // docs/accuracy.md, "Biases that stand"
    if (is_biased && named.contains(name)) CHECK(std::abs(100 * bias - named.at(name)) <= 1);
  }
  CHECK(named.size() == biased);  // no name of a group that there is not
  std::ifstream page(PREQUEL_DATA_DIR "/../docs/accuracy.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  const std::string count =
      std::to_string(there.size() - biased) + " of " + std::to_string(there.size()) + " groups";
  INFO(count);
  CHECK(text.find(count) != std::string::npos);
}

TEST_CASE("adapters and quantised bases take as much of full training and of adapters as runs do") {
  // Megatron-Bridge's full and LoRA runs of 70B; Qwen-7B's LoRA and Q-LoRA from 2,048 tokens on.
  const std::vector<Pair> pairs{{"bridge-2606-sft-gb200-fp8", "bridge-2606-lora-gb200-fp8"},
                                {"bridge-2606-sft-gb200-mxfp8", "bridge-2606-lora-gb200-mxfp8"},
                                {"bridge-2606-sft-h100-fp8", "bridge-2606-lora-h100-fp8"},
                                {"qwen1-7b-lora-s2048", "qwen1-7b-q-lora-s2048"},
                                {"qwen1-7b-lora-s4096", "qwen1-7b-q-lora-s4096"},
                                {"qwen1-7b-lora-s8192", "qwen1-7b-q-lora-s8192"}};
  for (const Pair& pair : pairs) {
    CAPTURE(pair.with);
    const double measured =
        gained(pair, [](const ValidatedRun& run) { return *run.run.sec_per_iter; });
    const double predicted =
        gained(pair, [](const ValidatedRun& run) { return run.prediction->sec_per_iter.value; });
    CHECK(std::abs(predicted - measured) < std::log(1.1));
  }
}
