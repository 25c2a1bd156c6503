#include "calibrate/readings/nccl_tests.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "tests/error_text.hpp"

namespace prequel {
namespace {

MeasurementFile read(const std::string& text, const std::string& file = "log.txt") {
  std::istringstream in(text);
  return read_nccl_log(in, file);
}

const MeasuredCollective& collective(const MeasurementFile& file, std::size_t index) {
  return std::get<MeasuredCollective>(file.points.at(index).what);
}

const std::string kRanks =
    "#  Rank  0 Group  0 Pid    100 on   node-a device  0 [0x07] NVIDIA A100-SXM4-80GB\n"
    "#  Rank  1 Group  0 Pid    101 on   node-a device  1 [0x0b] NVIDIA A100-SXM4-80GB\n"
    "#  Rank  2 Group  0 Pid    102 on   node-b device  0 [0x07] NVIDIA A100-SXM4-80GB\n"
    "#  Rank  3 Group  0 Pid    103 on   node-b device  1 [0x0b] NVIDIA A100-SXM4-80GB\n";

const std::string kNcclHeader =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time"
    "   algbw   busbw #wrong\n";

const std::string kRow =
    "     1048576        262144     float     sum      -1    27.76   37.77   56.66      0    27.49"
    "   38.15   57.22      0\n";

TEST_CASE("a current log gives operation, ranks, nodes, sizes and times") {
  const auto file =
      read("# nThread 1 nGpus 4 ./build/all_reduce_perf -b 8\n" + kRanks + kNcclHeader + kRow);
  REQUIRE(file.points.size() == 1);
  CHECK(collective(file, 0).op == CollectiveOp::all_reduce);
  CHECK(collective(file, 0).ranks == 4);
  CHECK(collective(file, 0).nodes == 2);
  CHECK(collective(file, 0).bytes.value == 1048576.0);
  CHECK(file.points[0].time.value == doctest::Approx(27.76e-6));
  CHECK(file.unread.empty());
}

TEST_CASE("logs before 2.13 lack columns, and the operation is told by the rates") {
  const auto all_reduce =
      read(kRanks +
           "#       size    count    type   redop     time   algbw   busbw  error     time   algbw"
           "   busbw  error\n"
           "     1048576   262144   float     sum    27.76   37.77   56.66  1e-07    27.49   38.15"
           "   57.22  1e-07\n");
  REQUIRE(all_reduce.points.size() == 1);
  CHECK(collective(all_reduce, 0).op == CollectiveOp::all_reduce);

  const auto all_gather =
      read(kRanks +
               "#       size    count    type     time   algbw   busbw  error     time   algbw"
               "   busbw  error\n"
               "     1048576    65536   float    27.76   37.77   28.33  0e+00    27.49   38.15"
               "   28.61  0e+00\n",
           "all_gather_perf.log");
  REQUIRE(all_gather.points.size() == 1);
  CHECK(collective(all_gather, 0).op == CollectiveOp::all_gather);
}

TEST_CASE("labels of srun and mpirun before each line are passed over") {
  for (const std::string label : {"0: ", " 12: ", "[1,0]<stdout>:", "[1,3]<stdout>: "}) {
    std::string text;
    std::istringstream lines("# all_reduce_perf\n" + kRanks + kNcclHeader + kRow);
    for (std::string line; std::getline(lines, line);) text += label + line + "\n";
    const auto file = read(text);
    REQUIRE(file.points.size() == 1);
    CHECK(collective(file, 0).ranks == 4);
    CHECK(collective(file, 0).nodes == 2);
    CHECK(file.unread.empty());
  }
}

TEST_CASE("a gather of 2021 leaves the column of its operator blank") {
  const auto file =
      read("# all_gather_perf\n" + kRanks +
           "#       size    count    type   redop     time   algbw   busbw  error     time   algbw"
           "   busbw  error\n"
           "     1048576    65536   float             27.76   37.77   28.33  0e+00    27.49   38.15"
           "   28.61  0e+00\n");
  REQUIRE(file.points.size() == 1);
  CHECK(file.points[0].time.value == doctest::Approx(27.76e-6));
  CHECK(file.unread.empty());
}

TEST_CASE("where the head of a log is cut, the rates say how many ranks there were") {
  const auto file = read(
      "# all_reduce_perf\n#  Rank 71 Group  0 Pid    100 on   node-r device  3 [0x07] GB200\n" +
      kNcclHeader +
      "   536870912     134217728     float     sum      -1   1806.7  297.15  586.06      0\n");
  REQUIRE(file.points.size() == 1);
  CHECK(collective(file, 0).ranks == 72);
}

TEST_CASE("a program that ran on one rank is refused") {
  CHECK(
      error_text([] {
        static_cast<void>(read(
            "# alltoall_perf\n#  Rank  0 Group  0 Pid    100 on   node-r device  0 [0x07] H100\n" +
            kNcclHeader +
            "     1048576        262144      half    none      -1    27.76   37.77    0.00   0\n"));
      }) ==
      "log.txt: one rank, which sends nothing; run nccl-tests on two or more (-g, or built with "
      "MPI=1)");
}

TEST_CASE("debug lines between and inside rows are passed over") {
  const auto file =
      read("# all_reduce_perf\n" + kRanks + kNcclHeader +
           "node-a:100:120 [0] NCCL INFO Channel 00/24 : 0 1 2 3\n"
           "     1048576        262144     float     sum      -1node-a:100:120 [0] NCCL INFO comm "
           "0x55\n" +
           kRow +
           "     2097152        524288     float     sum      -1 node-a:100:120 [0] NCCL INFO x y\n"
           "    40.00   52.43   78.64      0    40.00   52.43   78.64    N/A\n");
  REQUIRE(file.points.size() == 2);
  CHECK(collective(file, 0).bytes.value == 1048576.0);
  CHECK(collective(file, 1).bytes.value == 2097152.0);
  CHECK(file.points[1].time.value == doctest::Approx(40e-6));
  CHECK(file.unread.size() == 1);
}

TEST_CASE("a row that is cut off or contradicts itself is named, the others are read") {
  const auto file = read("# all_reduce_perf\n" + kRanks + kNcclHeader + kRow +
                         "     2097152        524288     float     sum      -1    40.00   99.00   "
                         "1.00  0\n     4194304       1048576     flo");
  CHECK(file.points.size() == 1);
  CHECK(file.unread ==
        std::vector<std::string>{"log.txt:8: a row that is cut off or contradicts itself",
                                 "log.txt:9: a row that is cut off or contradicts itself"});
}

TEST_CASE("carriage returns and bytes that are not UTF-8 do no harm") {
  std::string text = "# all_reduce_perf \xff\xfe\r\n" + kRanks + kNcclHeader + kRow;
  const auto file = read(text + "\xc3\x28 junk\r\n");
  CHECK(file.points.size() == 1);
}

TEST_CASE("without ranks their number follows from the rates") {
  const auto file = read("# all_reduce_perf\n" + kNcclHeader + kRow);
  REQUIRE(file.points.size() == 1);
  CHECK(collective(file, 0).ranks == 4);
}

TEST_CASE("a log that does not say its collective is refused") {
  const std::string rows =
      kNcclHeader +
      "     1048576        262144     float    none      -1    27.76   37.77   28.33      0\n";
  CHECK(error_text([&] { static_cast<void>(read(kRanks + rows)); }) ==
        "log.txt: does not say which collective this is; put its program's name (e.g. "
        "all_gather_perf) into the file's name");
}

TEST_CASE("the JSON of 2025 is read, rows without a time are named") {
  std::istringstream in(R"({"command": "reduce_scatter_perf -J", "nranks": 8, "results": [
    {"size": 1048576, "type": "half", "out_of_place": {"time": 30.0, "alg_bw": 34.9, "bus_bw": 30.6}},
    {"size": 2097152, "type": "half", "out_of_place": {"time": null}}]})");
  const auto file = read_nccl_json(in, "r.json");
  REQUIRE(file.points.size() == 1);
  CHECK(collective(file, 0).op == CollectiveOp::reduce_scatter);
  CHECK(collective(file, 0).ranks == 8);
  CHECK(file.points[0].fields.at("dtype") == "fp16");
  REQUIRE(file.unread.size() == 1);
  CHECK(file.unread[0] == "r.json: /results/1: no size or no time");
}

}  // namespace
}  // namespace prequel
