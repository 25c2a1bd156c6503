#include "models/job/usual_machine.hpp"

#include <doctest/doctest.h>

#include "hw/base/json_cursor.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/cluster.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

const Library& shipped_clusters() {
  static const Library library({PREQUEL_DATA_DIR});
  return library;
}

std::string cluster_of(const std::string& text) {
  return usual_machine(shipped_clusters().open("stand_ins", "machines"), text).value_or("none");
}

}  // namespace

TEST_CASE("a card is found in what sheets, tables and people call it") {
  CHECK(cluster_of("NVIDIA H100-SXM5-80GB") == "dgx-h100");
  CHECK(cluster_of("NVIDIA Blackwell Ultra GPU (B300-SXM-270GB)") == "dgx-b300");
  CHECK(cluster_of("some-site-gb200-nvl72") == "gb200-nvl72");
  CHECK(cluster_of("AMD Instinct MI300X") == "mi300x-node");
}

TEST_CASE("the entry that names most of a card is it") {
  CHECK(cluster_of("a100") == "dgx-a100");
  CHECK(cluster_of("A100-SXM4-40GB") == "azure-nd-a100-v4");
  CHECK(cluster_of("a100 PCIe") == "a100-pcie-node");
  CHECK(cluster_of("NVIDIA A100-PCIE-40GB") == "a100-pcie-40gb-node");
  CHECK(cluster_of("8xH20") == "h20-node");
  CHECK(cluster_of("rtx-3090") == "rtx-3090-node");
}

TEST_CASE("no machine is guessed for a card that is not known, nor for two cards at once") {
  CHECK(cluster_of("gaudi2") == "none");
  CHECK(cluster_of("") == "none");
  CHECK(cluster_of("h100-and-b200") == "none");
}

TEST_CASE("every entry leads to itself, and to a cluster with that card") {
  const Document table = shipped_clusters().open("stand_ins", "machines");
  for (const Cursor& machine : table.root().at("machines").items()) {
    const std::string card = machine.at("card").text();
    CAPTURE(card);
    const std::string found = cluster_of(card);
    REQUIRE(found == machine.at("cluster").text());
    const Cluster cluster = shipped_clusters().open("clusters", found).read_once(read_cluster);
    CHECK_NOTHROW(shipped_clusters().open("devices", cluster.device));
    const std::string device = lower_case(cluster.device);
    std::string chip = words_of(card).front();
    if (chip.starts_with("rtx")) chip = chip.substr(3);
    CHECK(device.find(chip) != std::string::npos);
  }
}

}  // namespace prequel
