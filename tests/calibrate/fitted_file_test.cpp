#include "calibrate/fit/fitted_file.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "hw/base/files.hpp"

namespace prequel {
namespace {

const std::string kBase = PREQUEL_DATA_DIR "/devices/a100-sxm-80gb.json";

FitReport report(const std::string& what) {
  FitReport made;
  made.what = what;
  made.sources = "table";
  made.errors.n = 40;
  return made;
}

TEST_CASE("a fitted device file reads back with its constants, name and origin") {
  Device device = read_device(Document::read(kBase));
  std::get<TiledGemm>(device.gemm).efficiency = 0.8125;
  device.streams[static_cast<std::size_t>(StreamKind::gelu)] = {{1e-6},  {2e6}, 0.9, 0.5,
                                                                {100.0}, {8e9}, 2.0, 0.7};
  device.host_link = {2.2e10};
  device.overlap_loss = 0.25;
  device.attention.push_back(
      {"new",
       {},
       true,
       {{64.0, 64.0, false, {0.5, 1.0, {1e-5}, 0.1, 0.5, 1.0}, {0.4, 1.0, {1e-5}, 0.1, 0.5, 2.5}}},
       {}});
  const std::string text = fitted_device_file(read_file(kBase), device,
                                              {{report("gemm")},
                                               {report("gelu")},
                                               {report("new 64 forward")},
                                               {},
                                               {report("host_link")},
                                               {report("overlap")}},
                                              {"mine", "prequel calibrate fit x.csv"});

  const Device read = read_device(Document::parse("mine.json", text));
  CHECK(read.name == "mine");
  CHECK(std::get<TiledGemm>(read.gemm).efficiency == 0.8125);
  CHECK(read.streams[static_cast<std::size_t>(StreamKind::gelu)].row_rate.value ==
        doctest::Approx(8e9));
  CHECK(read.streams[static_cast<std::size_t>(StreamKind::gelu)].rows_per_unit == 2.0);
  CHECK(read.streams[static_cast<std::size_t>(StreamKind::gelu)].last_wave == 0.7);
  CHECK(read.host_link.value == doctest::Approx(2.2e10));
  CHECK(read.overlap_loss == 0.25);
  CHECK(attention_kernel(read, "new").head_sizes[0].backward.flop_factor == 2.5);
  CHECK(nlohmann::json::parse(text)["gemm"]["origin"] ==
        "fitted to 40 points of table by `prequel calibrate fit x.csv`");
}

TEST_CASE("casts that were fitted inside of layers of experts are written, others stay") {
  const std::string base = read_file(PREQUEL_DATA_DIR "/devices/h100-sxm.json");
  Device device = read_device(Document::parse("h100-sxm.json", base));
  device.streams[static_cast<std::size_t>(StreamKind::quantize_block)].memory_fraction = 0.125;
  const auto cast_in = [&](const FitReport& experts) {
    const std::string text =
        fitted_device_file(base, device, {{}, {}, {}, {experts}, {}, {}}, {"mine", "command"});
    return nlohmann::json::parse(text)["memory_bound"]["quantize_block"];
  };
  FitReport experts = report("grouped_gemm");
  CHECK(cast_in(experts) == nlohmann::json::parse(base)["memory_bound"]["quantize_block"]);
  experts.constants.push_back({"quantize_block memory_fraction"});
  CHECK(cast_in(experts)["memory_fraction"] == 0.125);
  CHECK(cast_in(experts)["origin"] == "fitted to 40 points of table by `command`");
}

TEST_CASE("groups of ranks are told by their nodes") {
  CHECK(groups_text({{1, 8}}) == "8 ranks of 1 node");
  CHECK(groups_text({{2, 16}, {1, 8}, {1, 2}, {1, 4}, {4, 32}}) ==
        "2, 4 and 8 ranks of 1 node, 16 ranks of 2 nodes, 32 ranks of 4 nodes");
}

TEST_CASE("sections that were not fitted stay as they are") {
  const Device device = read_device(Document::read(kBase));
  const auto text = fitted_device_file(read_file(kBase), device, {}, {"mine", "command"});
  auto base = nlohmann::json::parse(read_file(kBase));
  base["name"] = "mine";
  CHECK(nlohmann::json::parse(text) == base);
}

TEST_CASE("fitted collectives replace those of the node and read back") {
  Cluster cluster;
  CollectiveModel& node = cluster.node;
  node.ring = {{8e-6}, {1e-6}, {2.5e11}, {2e-5}, {8e11}};
  node.overrides = {{CollectiveOp::all_to_all, 0, {{1e-5}, {0.0}, {2.4e11}, {0.0}, {}}}};
  node.nvls = LinkModel{{1.5e-5}, {0.0}, {5e11}, {2e-5}, {}};
  node.nvls_min_ranks = 8;
  cluster.network = {0.75, {{2e-5}, {3e-6}, {}, {1e-5}, {}}, 0, false};
  const std::string text =
      fitted_cluster_file(R"({"name": "old", "nodes": 4})", cluster, {report("ring")},
                          {report("network")}, {"new", "command", "ours-h100"});
  const Document document = Document::parse("c.json", text);
  const CollectiveModel read = read_collectives(document.root().at("node").at("collectives"));
  CHECK(read.ring.local_bandwidth.value == doctest::Approx(8e11));
  CHECK(read.overrides.size() == 1);
  CHECK(read.nvls_min_ranks == 8);
  CHECK(document.json()["name"] == "new");
  CHECK(document.json()["device"] == "ours-h100");
  CHECK(document.json()["network"]["fill_s"] == 1e-5);
  CHECK(document.json()["network"]["efficiency"] == 0.75);
}

}  // namespace
}  // namespace prequel
