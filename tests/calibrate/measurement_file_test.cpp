#include "calibrate/readings/measurement_file.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/error_text.hpp"

namespace prequel {
namespace {

/// A file that is there as long as the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& content)
      : path_(std::filesystem::temp_directory_path() / ("prequel-" + name)) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST_CASE("a table is read row by row, rows that are not sound are named") {
  const TemporaryFile file("table.csv",
                           "m,n,k,dtype,time_us\r\n64,64,64,bf16,2\r\n64,64,64,bf16,\r\n1,2\r\n");
  const MeasurementFile read = read_measurements(file.path());
  CHECK(read.points.size() == 1);
  CHECK(read.unread == std::vector<std::string>{file.path() + ":3: no time_us",
                                                file.path() + ":4: 2 cells under 5 columns"});
}

TEST_CASE("a table of dispatchers has two points a row, or one by its rate") {
  const TemporaryFile times("deepep.csv",
                            "library,ep,tokens,hidden,topk,dispatch_us,combine_us\n"
                            "DeepEP,8,128,2048,8,54.65,62.61\n");
  CHECK(read_measurements(times.path()).points.size() == 2);
  const TemporaryFile rates("hybridep.csv",
                            "library,ep,tokens,hidden,topk,phase,dtype,gb_s,level\n"
                            "HybridEP,8,4096,7168,8,dispatch,fp8,410,nvlink\n");
  CHECK(read_measurements(rates.path()).points.size() == 1);
}

TEST_CASE("a measurement file gives its context and points, a cut-off last line is named") {
  const TemporaryFile file(
      "m.jsonl",
      "{\"schema\": \"prequel/measurement/1\", \"context\": {\"device\": \"X\"}}\n"
      "{\"op\": \"gemm\", \"m\": 64, \"n\": 32, \"k\": 16, \"dtype\": \"bf16\", \"layout\": "
      "\"NT\", "
      "\"time_s\": 1e-5}\n{\"op\": \"ge");
  const MeasurementFile read = read_measurements(file.path());
  REQUIRE(read.points.size() == 1);
  CHECK(std::get<Gemm>(read.points[0].what).pass == GemmPass::wgrad);
  CHECK(read.context.at("device") == "X");
  CHECK(read.unread == std::vector<std::string>{file.path() + ":3: not a JSON object (cut off?)"});
}

TEST_CASE("a measurement file of another version is refused") {
  const TemporaryFile file("v9.jsonl", "{\"schema\": \"prequel/measurement/9\"}\n");
  CHECK(error_text([&] { static_cast<void>(read_measurements(file.path())); }) ==
        file.path() +
            ":1: /schema: expected \"prequel/measurement/1\", got \"prequel/measurement/9\"");
}

TEST_CASE("a file without one sound point is refused, a missing one and a directory too") {
  const TemporaryFile file("junk.txt", "nothing here\n");
  CHECK(error_text([&] { static_cast<void>(read_measurements(file.path())); }) ==
        file.path() +
            ": no measured point; expected a CSV table with time_us, a measurement file, an "
            "nccl-tests log or a PyTorch profiler's trace; of a training log, calibrate runs takes "
            "the rows that prequel import makes");
  CHECK(error_text([&] { static_cast<void>(read_measurements(std::string("/no/such/file"))); }) ==
        "/no/such/file: cannot be read");
  CHECK(error_text([&] { static_cast<void>(read_measurements(std::string("/tmp"))); }) ==
        "/tmp: is a directory, expected a file of measurements");
}

}  // namespace
}  // namespace prequel
