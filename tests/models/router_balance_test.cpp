#include "models/plan/router_balance.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "tests/error_text.hpp"

namespace prequel {
namespace {

TEST_CASE("the busiest rank has at least the mean, and no more than all") {
  std::mt19937 random(7);
  std::exponential_distribution<double> load;
  for (int i = 0; i < 200; ++i) {
    std::vector<double> loads(64);
    for (double& each : loads) each = load(random);
    double before = 1;
    for (const std::int64_t ranks : {1, 2, 4, 8, 16, 32, 64}) {
      const double found = imbalance_of(loads, ranks);
      CHECK(found >=
            doctest::Approx(before));  // halves of a rank are no busier than the busier one
      CHECK(found <= static_cast<double>(ranks));
      before = found;
    }
  }
  CHECK(imbalance_of(std::vector<double>(64, 3.0), 8) == doctest::Approx(1));
  CHECK(imbalance_of({1, 1, 2, 0, 0, 0, 4, 0}, 4) == doctest::Approx(2));
}

TEST_CASE("one rank has no imbalance, and two no more than twofold") {
  CHECK(natural_imbalance(1.5, {128, 8, 1, 4096}) == 1);
  CHECK(natural_imbalance(9.0, {128, 8, 2, 4096}) == 2);
  CHECK(natural_imbalance(1.5, {128, 8, 8, 1e9}) == doctest::Approx(1.5));
}

TEST_CASE("the busiest rank's share grows with ranks, falls with experts a rank and tokens") {
  CHECK(natural_imbalance(1.5, {128, 8, 32, 4096}) > natural_imbalance(1.5, {128, 8, 8, 4096}));
  CHECK(natural_imbalance(1.5, {256, 16, 8, 4096}) < natural_imbalance(1.5, {128, 8, 8, 4096}));
  CHECK(natural_imbalance(1.5, {128, 8, 8, 64}) > natural_imbalance(1.5, {128, 8, 8, 4096}));
  CHECK(natural_imbalance(1.0, {128, 8, 8, 1e12}) == doctest::Approx(1.0).epsilon(1e-4));
  // No expert gets more than each token once.
  CHECK(natural_imbalance(50.0, {8, 2, 8, 4096}) == 4.0);
  // Where a token takes all experts, none is busier.
  CHECK(expert_load_deviation(1.5, 8, 8) == 0.0);
}

TEST_CASE("a histogram has a number an expert") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "prequel_histogram.txt").string();
  const auto read = [&](const char* text, std::int64_t experts) {
    std::ofstream(path) << text;
    return read_histogram(path, experts);
  };
  CHECK(read("1, 2.5\n0 4e3", 4) == std::vector<double>{1, 2.5, 0, 4000});
  const auto problem = [&](const char* text) { return error_text([&] { (void)read(text, 2); }); };
  CHECK(problem("1 2 3").ends_with("3 numbers, but the model has 2 experts"));
  CHECK(problem("1 -2").ends_with("expected a number an expert, 0 or more, got \"-2\""));
  CHECK(problem("0 0").find("all numbers are 0") != std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace prequel
