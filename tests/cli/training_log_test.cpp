#include "cli/import/logs/training_log.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

namespace prequel {
namespace {

std::string line(int iteration, double seconds, int batch = 8) {
  return fmt::format(
      "iteration {}/ 100 | elapsed time per iteration (s): {} | global batch size: {} |\n",
      iteration, seconds, batch);
}

TrainingLog read(const std::string& text, std::size_t piece = 1u << 20) {
  TrainingLogReader reader;
  for (std::size_t at = 0; at < text.size(); at += piece) reader.take(text.substr(at, piece));
  return reader.finish();
}

std::string lines(int first, int last, double seconds, int batch = 8) {
  std::string text;
  for (int i = first; i <= last; ++i) text += line(i, seconds, batch);
  return text;
}

TEST_CASE("the first ten iterations after a start are warm-up") {
  const TrainingLog log = read(lines(1, 10, 9) + lines(11, 14, 2));
  REQUIRE(log.sections.size() == 1);
  const BatchTimes& batch = log.sections[0].batches.at(0);
  CHECK(batch.seconds.seen() == 4);
  CHECK(batch.seconds.at(0.5) == 2);
  CHECK(batch.left_out == 10);
  CHECK(batch.first_iteration == 11);
  CHECK(batch.last_iteration == 14);
}

TEST_CASE("where lines are far apart only the first one is warm-up") {
  const TrainingLog log = read(line(100, 9) + line(200, 2) + line(300, 2));
  CHECK(log.sections.at(0).batches.at(0).seconds.seen() == 2);
}

TEST_CASE("the line in which the batch size changes belongs to neither") {
  const TrainingLog log = read(lines(1, 20, 2, 8) + line(21, 99, 16) + lines(22, 25, 3, 16));
  REQUIRE(log.sections.at(0).batches.size() == 2);
  CHECK(log.sections[0].batches[0].seconds.seen() == 10);
  CHECK(log.sections[0].batches[1].seconds.seen() == 4);
  CHECK(log.sections[0].batches[1].seconds.at(1) == 3);
}

TEST_CASE("going back to an earlier iteration is a start") {
  const TrainingLog log = read(lines(1, 20, 2) + lines(15, 24, 9) + lines(25, 30, 2));
  CHECK(log.sections.at(0).batches.at(0).seconds.seen() == 16);
  CHECK(log.sections.at(0).batches.at(0).seconds.at(1) == 2);
}

TEST_CASE("an iteration that several ranks print counts once") {
  std::string text;
  for (int i = 1; i <= 20; ++i) text += line(i, 2) + line(i, 2);
  CHECK(read(text).sections.at(0).batches.at(0).seconds.seen() == 10);
}

TEST_CASE("where a log is cut into pieces does not matter") {
  const std::string text = "---- arguments ----\n num_layers ... 7\n--- end of arguments ---\n" +
                           lines(1, 30, 2) + "x\r\n" + lines(31, 40, 3);
  for (const std::size_t piece : {1u, 7u, 64u, 1000u}) {
    const TrainingLog log = read(text, piece);
    REQUIRE(log.sections.size() == 1);
    CHECK(log.sections[0].arguments == LogSection::Arguments{{"num_layers", "7"}});
    CHECK(log.sections[0].batches.at(0).seconds.seen() == 30);
    CHECK(log.iteration_lines == 40);
  }
}

TEST_CASE("a line of any length is passed over in bounded memory") {
  const TrainingLog log = read(std::string(1 << 20, 'x') + "\n" + lines(1, 12, 2), 1000);
  CHECK(log.sections.at(0).batches.at(0).seconds.seen() == 2);
}

TEST_CASE("the same arguments again are a restart, others begin a section") {
  const auto dump = [](const char* layers) {
    return fmt::format("---- arguments ----\n num_layers ... {}\n rank ... {}\n", layers,
                       layers[0]);
  };
  const std::string end = "--- end of arguments ---\n";
  const TrainingLog same =
      read(dump("7") + end + lines(1, 20, 2) + dump("7") + end + lines(21, 40, 2));
  CHECK(same.sections.size() == 1);
  CHECK(same.sections.at(0).batches.at(0).seconds.seen() == 20);
  CHECK(
      read(dump("7") + end + lines(1, 20, 2) + dump("8") + end + lines(1, 20, 3)).sections.size() ==
      2);
}

TEST_CASE("a dump without an end ends where iterations begin") {
  const TrainingLog log = read("- arguments -\n num_layers ... 7\n" + lines(1, 12, 2));
  CHECK(log.sections.at(0).arguments.size() == 1);
  CHECK(log.sections.at(0).batches.at(0).seconds.seen() == 2);
}

TEST_CASE("lines that cannot be read are counted, and the first is named") {
  const TrainingLog log = read(lines(1, 2, 2) + "iteration 3/ 9 | elapsed time per iter\n" +
                               lines(4, 5, 2) + "iteration 6/ 9 |");
  CHECK(log.broken_lines == 2);
  CHECK(log.first_broken_line == 3);
}

TEST_CASE("out of memory counts if nothing is timed after it") {
  const std::string out = "torch.cuda.OutOfMemoryError: CUDA out of memory.\n";
  CHECK(read(lines(1, 3, 2) + out).sections.at(0).out_of_memory);
  CHECK_FALSE(read(out + lines(1, 3, 2)).sections.at(0).out_of_memory);
}

TEST_CASE("whole iterations are preferred to rates of sequences") {
  std::string text;
  for (int i = 1; i <= 20; ++i) {
    text += line(i, 2) + fmt::format("global_step={}, CurrSamplesPerSec=3\n", i);
  }
  const TrainingLog log = read(text);
  REQUIRE(log.sections.at(0).batches.size() == 1);
  CHECK(log.sections[0].batches[0].unit == TimedUnit::iteration);
  CHECK(log.sections[0].batches[0].seconds.seen() == 10);
}

TEST_CASE("a text without anything of a log is none") {
  CHECK_FALSE(read("Hello\n|||\niteration 3/ | x\n").found());
  CHECK_FALSE(read("").found());
}

TEST_CASE("a sample is exact while it is short, and keeps its median when it is long") {
  ThinnedSample sample;
  for (int i = 1; i <= 1001; ++i) sample.add(i);
  CHECK(sample.at(0.5) == 501);
  for (int i = 1002; i <= 1'000'001; ++i) sample.add(i);
  CHECK(sample.seen() == 1'000'001);
  CHECK(sample.at(0.5) == doctest::Approx(500'001).epsilon(0.005));
}

}  // namespace
}  // namespace prequel
