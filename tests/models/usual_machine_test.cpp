#include "models/job/usual_machine.hpp"

#include <doctest/doctest.h>

#include "hw/base/json_cursor.hpp"
#include "hw/cluster.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

const Library& shipped_clusters() {
  static const Library library({PREQUEL_DATA_DIR});
  return library;
}

std::string cluster_of(const std::string& text) {
  const auto machine = usual_machine(shipped_clusters().open("stand_ins", "machines"), text);
  if (!machine) return "none";
  return machine->cluster + (machine->device.empty() ? "" : " with " + machine->device);
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
  CHECK(cluster_of("NVIDIA A100-PCIE-40GB") == "a100-pcie-node with a100-pcie-40gb");
  CHECK(cluster_of("8xH20") == "dgx-h100 with h20-sxm");
  CHECK(cluster_of("rtx-3090") == "rtx-4090-node with rtx-3090");
}

TEST_CASE("no machine is guessed for a card that is not known, nor for two cards at once") {
  CHECK(cluster_of("gaudi2") == "none");
  CHECK(cluster_of("") == "none");
  CHECK(cluster_of("h100-and-b200") == "none");
}

TEST_CASE("every entry leads to itself, to a cluster and to a device of that card") {
  const Document table = shipped_clusters().open("stand_ins", "machines");
  for (const Cursor& entry : table.root().at("machines").items()) {
    const std::string card = entry.at("card").text();
    CAPTURE(card);
    const auto found = usual_machine(table, card);
    REQUIRE(found);
    CHECK(found->cluster == entry.at("cluster").text());
    const Cluster cluster =
        shipped_clusters().open("clusters", found->cluster).read_once(read_cluster);
    const std::string device = found->device.empty() ? cluster.device : found->device;
    CHECK_NOTHROW(shipped_clusters().open("devices", device));
    std::string chip = words_of(card).front();
    if (chip.starts_with("rtx")) chip = chip.substr(3);
    CHECK(device.find(chip) != std::string::npos);
  }
}

}  // namespace prequel
