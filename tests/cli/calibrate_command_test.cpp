#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "calibrate/fit/check.hpp"
#include "calibrate/measure/gpu_grid.hpp"
#include "hw/base/json_cursor.hpp"
#include "hw/kernels/attention.hpp"
#include "tests/cli/program.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;

/// Collectives of a cluster of known constants, in one node and across nodes, 2 % up and down.
std::string collectives_of(const Cluster& cluster) {
  std::string table = "op,ranks,nodes,bytes,time_us,source\n";
  double noise = 1.02;
  for (const auto& [ranks, nodes] : {std::pair{2, 1}, {4, 1}, {8, 1}, {2, 2}, {16, 2}, {64, 8}}) {
    for (double bytes = 4096; bytes < 2e9; bytes *= 4) {
      Measurement point;
      point.what = MeasuredCollective{CollectiveOp::all_gather, ranks, nodes, {bytes}};
      table += fmt::format("all_gather,{},{},{:.0f},{:.4f},mine\n", ranks, nodes, bytes,
                           predict(cluster, point).value * noise * 1e6);
      noise = 1.0 / noise;
    }
  }
  return table;
}

Cluster truth() {
  Cluster cluster = read_cluster(Document::read(PREQUEL_SOURCE_DIR "/data/clusters/dgx-a100.json"));
  cluster.node = {};
  cluster.node.ring = {{1.2e-5}, {2e-6}, {1.5e11}, {1e-5}, {}};
  cluster.network = {0.7, {{4e-5}, {7e-6}, {}, {1.5e-5}, {}}, 0, false};
  return cluster;
}

TEST_CASE("measured collectives become a cluster file that meets them, and predicts") {
  const TemporaryFolder folder;
  const std::string table = folder / "links.csv";
  const std::string ours = folder / "ours.json";
  write_file(table, collectives_of(truth()));
  const std::string check = "calibrate check " + table + " --json --by nodes --cluster ";
  const Json with_base = Json::parse(run_prequel(check + "dgx-a100").out);
  for (const Json& group : with_base.at("groups")) {
    CHECK(group.at("mape").get<double>() > 0.1);
  }
  const ProgramResult fit = run_prequel("calibrate fit " + table +
                                        " --kind cluster --cluster dgx-a100 --name ours --json "
                                        "--output " +
                                        ours);
  CHECK(fit.status == 0);
  const Json reports = Json::parse(fit.out).at("fits");
  CHECK(reports.size() == 2);  // inside the node, and the network
  for (const Json& report : reports) {
    CHECK(report.at("held_out_errors").at("mape").get<double>() < 0.04);
  }
  const Json groups = Json::parse(run_prequel(check + ours).out).at("groups");
  CHECK(groups.size() == 3);
  for (const Json& group : groups) CHECK(group.at("mape").get<double>() < 0.025);
  const ProgramResult predicted =
      run_prequel("predict --model gpt3-175b --tp 8 --pp 8 --nodes 16 --gbs 64 --cluster " + ours);
  CHECK(predicted.status != 2);
}

TEST_CASE("copies and products beside collectives become constants, the rest is named") {
  const TemporaryFolder folder;
  std::string lines = R"({"schema":"prequel/measurement/1","context":{}})"
                      "\n";
  for (const double bytes : {2e6, 8e6, 32e6, 128e6}) {
    lines += fmt::format(R"({{"op":"host_to_device","pinned":true,"bytes":{},"time_s":{}}})"
                         "\n",
                         bytes, bytes / 4e10);
  }
  const std::string product = R"("m":4096,"n":4096,"k":4096,"dtype":"bf16","layout":"TN")";
  lines += R"({"op":"gemm",)" + product + R"(,"time_s":1e-3})" + "\n";
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"}) {
    lines += R"({"op":"gemm_beside_collective",)" + product + R"(,"beside":{"op":")" + op +
             R"(","ranks":8,"nodes":1,"bytes":1048576},"time_s":1.2e-3})" + "\n";
  }
  lines += R"({"op":"graph_launch","time_s":1e-5})"
           "\n";
  write_file(folder / "gpu.jsonl", lines);
  const ProgramResult fit =
      run_prequel("calibrate fit " + (folder / "gpu.jsonl") +
                  " --kind device --device h100-sxm --name mine --output " + (folder / "m.json"));
  CHECK(fit.status == 0);
  CHECK(fit.err.find("not fitted: graph_launch: 1 points") != std::string::npos);
  const Device device = read_device(Document::read(folder / "m.json"));
  CHECK(device.host_link.value == doctest::Approx(4e10));
  CHECK(device.overlap_loss == doctest::Approx(0.2));
}

/// A measurement file of a GPU's fused attention by cuDNN, as `prequel-measure` writes it; times
/// are those of `truth` by its kernel "cudnn", 1 % up and down.
std::string cudnn_attention_of(const Device& truth) {
  std::string lines =
      R"({"schema":"prequel/measurement/1","context":{"backend":"cuda","cudnn":"91900"}})"
      "\n";
  double noise = 1.01;
  for (const Work& work : gpu_grid(nvidia_abilities(80, true))) {
    const auto* what = std::get_if<FusedAttention>(&work);
    if (!what) continue;
    Json line = Json::parse(work_text(work));
    line["time_s"] = price(truth, *what, "cudnn").value * noise;
    line["kernel"] = "cudnn";
    lines += line.dump() + "\n";
    noise = 1.0 / noise;
  }
  return lines;
}

TEST_CASE("fused attention measured by cuDNN becomes a kernel of its own") {
  const TemporaryFolder folder;
  const std::string file = folder / "node.jsonl";
  const std::string ours = folder / "ours.json";
  const std::string shipped = PREQUEL_SOURCE_DIR "/data/devices/a100-sxm-80gb.json";
  Device truth = read_device(Document::read(shipped));
  const AttentionPass forward{0.7, 150.0, {8e-6}, 0.3, 0.5, 1.0};
  const AttentionPass backward{0.6, 250.0, {2e-5}, 0.3, 0.5, 2.5};
  truth.attention.push_back(
      {"cudnn",
       {},
       true,
       {{64.0, 64.0, false, forward, backward}, {128.0, 128.0, false, forward, backward}},
       {}});
  write_file(file, cudnn_attention_of(truth));

  const ProgramResult fit =
      run_prequel("calibrate fit " + file +
                  " --kind device --device a100-sxm-80gb --name ours --json --output " + ours);
  CHECK(fit.status == 0);
  const Json reports = Json::parse(fit.out).at("fits");
  CHECK(reports.size() == 4);  // two head sizes, two passes
  const Device fitted = read_device(Document::read(ours));
  CHECK(fitted.attention.size() == truth.attention.size());
  CHECK(attention_kernel(fitted, "cudnn").head_sizes.size() == 2);
  const Device before = read_device(Document::read(shipped));
  const FusedAttention what{2, 4096, 32, 8, 128, true, true};
  CHECK(price(fitted, what, "cudnn").value ==
        doctest::Approx(price(truth, what, "cudnn").value).epsilon(0.03));
  CHECK(price(fitted, what, "flash-2").value == price(before, what, "flash-2").value);
}

TEST_CASE("a second fit in several environments takes one scale out of each") {
  const TemporaryFolder folder;
  const std::string table = folder / "two.csv";
  std::string text = collectives_of(truth());
  const std::string header = text.substr(0, text.find('\n') + 1);
  std::string slower;
  for (std::size_t at = header.size(); at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string row = text.substr(at, end - at);
    const std::size_t source = row.rfind(',');
    const std::size_t time = row.rfind(',', source - 1);
    const double scaled = 1.3 * std::stod(row.substr(time + 1, source - time - 1));
    slower += row.substr(0, time + 1) + fmt::format("{:.4f},theirs\n", scaled);
    at = end + 1;
  }
  write_file(table, text + slower);
  const Json answer = Json::parse(
      run_prequel("calibrate check " + table + " --cluster dgx-a100 --scale-per source --json")
          .out);
  const Json scales = answer.at("scales");
  REQUIRE(scales.size() == 2);
  CHECK(scales[1].at("scale").get<double>() / scales[0].at("scale").get<double>() ==
        doctest::Approx(1.3).epsilon(0.03));
}

TEST_CASE("logs of nccl-tests, cut off and mixed with NCCL's own lines, become a cluster file") {
  const TemporaryFolder folder;
  std::string log =
      "# nThread 1 nGpus 8 minBytes 1024 maxBytes 1073741824 step: 2(factor)\n"
      "#  Rank  0 Group  0 Pid  1 on  n1 device  0 [0x07] NVIDIA A100\n";
  for (int rank = 1; rank < 8; ++rank) {
    log +=
        fmt::format("#  Rank  {0} Group  0 Pid  1 on  n1 device  {0} [0x0{0}] NVIDIA A100\n", rank);
  }
  log +=
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n";
  for (double bytes = 1024; bytes < 1.1e9; bytes *= 2) {
    const double time_us = 30.0 + bytes * 1.75 / 2e11 * 1e6;
    const double rate = bytes / time_us / 1e3;  // GB/s
    const std::string results = fmt::format("{:.2f}  {:.2f}  {:.2f}", time_us, rate, 1.75 * rate);
    log += fmt::format("{0:12.0f} {1:12.0f}     float     sum      -1  {2}      0  {2}      0\r\n",
                       bytes, bytes / 4, results);
    log += "n1:1:1 [0] NCCL INFO Channel 00/24 : 0 1 2 3\n";
  }
  log += "  2147483648     5368";
  write_file(folder / "all_reduce_perf.log", log);
  const ProgramResult fit = run_prequel("calibrate fit " + (folder / "all_reduce_perf.log") +
                                        " --kind cluster --cluster dgx-a100 --name ours --output " +
                                        (folder / "ours.json"));
  CHECK(fit.status == 0);
  const Json ring = Json::parse(read_file(folder / "ours.json")).at("node").at("collectives");
  const std::string bandwidth = ring.at("bandwidth");
  CHECK(std::stod(bandwidth) == doctest::Approx(200.0).epsilon(0.03));
  CHECK(ring.at("origin").get<std::string>().starts_with(
      "fitted to 21 points (8 ranks of 1 node) of "));
  CHECK(fit.out.find("\nring was measured with 8 ranks of 1 node\n") != std::string::npos);
}

/// A measurement file of few small products and many passes over memory.
std::string small_measurement(const std::string& context) {
  std::string text = R"({"schema":"prequel/measurement/1","context":{)" + context + "}}\n";
  for (const int size : {64, 128, 256}) {
    text += fmt::format(R"({{"m":{0},"n":{0},"k":{0},"dtype":"fp32","time_s":1e-4}})", size) + "\n";
  }
  for (double bytes = 1e5; bytes < 1e9; bytes *= 2) {
    text += fmt::format(R"({{"op":"fused_pointwise","bytes":{:.0f},"time_s":{}}})", bytes,
                        1e-5 + bytes / 1e10) +
            "\n";
  }
  return text;
}

TEST_CASE("a measurement's own context says of which device the rest is") {
  const TemporaryFolder folder;
  const std::string file = folder / "mine.jsonl";
  const std::string fit =
      "calibrate fit " + file + " --kind device --name mine --output " + (folder / "mine.json");
  const auto base = [&](const std::string& context) {
    write_file(file, small_measurement(context));
    const ProgramResult fitted = run_prequel(fit);
    CAPTURE(fitted.err);
    REQUIRE(fitted.status == 0);
    const std::string text = read_file(folder / "mine.json");
    const std::size_t at = text.find("--device ") + 9;
    return text.substr(at, text.find(' ', at) - at);
  };
  CHECK(base(R"("backend":"cpu")") == "cpu");
  CHECK(base(R"("backend":"cuda","device":"NVIDIA H100 80GB HBM3")") == "h100-sxm");
  CHECK(base(R"("backend":"cuda","device":"NVIDIA H100 PCIe")") == "h100-pcie");
  CHECK(base(R"("backend":"cuda","device":"NVIDIA H200")") == "h200-sxm");
  CHECK(base(R"("backend":"cuda","device":"NVIDIA H20")") == "h20-sxm");
  CHECK(base(R"("backend":"cuda","device":"NVIDIA GH200 480GB")") == "gh200-96gb");
  CHECK(base(R"("backend":"cuda","device":"NVIDIA GB200")") == "gb200");
  CHECK(base(R"("backend":"hip","device":"AMD Instinct MI300X OAM")") == "mi300x");
  CHECK(base(R"("backend":"hip","device":"AMD Instinct MI325X")") == "mi325x");
  CHECK(base(R"("backend":"rccl","device":"AMD Instinct MI355X")") == "mi355x");
  write_file(file, small_measurement(R"("backend":"cuda","device":"Some Card")"));
  const ProgramResult unknown = run_prequel(fit);
  CHECK(unknown.status == 2);
  CHECK(unknown.err.find("measured on \"Some Card\"") != std::string::npos);
  write_file(file, small_measurement(""));
  const ProgramResult unsaid = run_prequel(fit);
  CHECK(unsaid.status == 2);
  CHECK(unsaid.err.find("--device NAME would do") != std::string::npos);
}

TEST_CASE("nothing to fit or to check is an error that says what it takes, and writes no file") {
  const TemporaryFolder folder;
  const std::string table = folder / "few.csv";
  write_file(table, "op,ranks,nodes,bytes,time_us\nall_reduce,8,1,1024,30\n");
  const std::string out = folder / "ours.json";
  const ProgramResult fit = run_prequel(
      "calibrate fit " + table + " --kind cluster --cluster dgx-a100 --name ours --output " + out);
  CHECK(fit.status == 2);
  CHECK(fit.err ==
        "prequel: calibrate fit: too few points for a cluster: it takes 8 collectives inside one "
        "node, or 8 across nodes\n");
  CHECK(run_prequel("calibrate fit " + table +
                    " --kind cluster --cluster dgx-a100 --name ours --scale-per rank")
            .err ==
        "prequel: --scale-per rank: the measurements have no column \"rank\" (did you mean "
        "\"ranks\"?)\n");
  CHECK(run_prequel("calibrate check " + out + " --cluster dgx-a100").status == 2);
  write_file(table, "op,ranks,nodes,bytes,time_us\nall_reduce,8,1,1024,nan\n");
  CHECK(run_prequel("calibrate check " + table + " --cluster dgx-a100").status == 2);
}

}  // namespace
}  // namespace prequel
