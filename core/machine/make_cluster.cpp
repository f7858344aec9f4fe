// SPDX-License-Identifier: Apache-2.0
// Machines of thousands of GPUs from one line.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/edit_distance.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/machine/fact_table.h"
#include "core/machine/gpu_facts.h"
#include "core/machine/machine.h"
#include "core/machine/named_cluster.h"

namespace lanescope {
namespace {

constexpr int kMostGpus = 1'000'000;  // of a cluster; plans need no list of them
constexpr int kMostDevices = 32768;   // of a machine
constexpr int kMostGpusOfNode = 1024;

constexpr std::string_view kNodeTable =
#if __has_include("nodes_tsv.inc")
#include "nodes_tsv.inc"
#else
    ""
#endif
    ;

// Boards on PCIe, and nodes that are named by their GPUs, are joined by ports of 400 Gb/s, one a GPU; copies
// reach four fifths of a PCIe link.
constexpr double kPort = 50e9, kPcieShare = 0.8;

struct NodeKind {
  const GpuFacts* gpu = nullptr;
  int gpus = 1, nics = 1;
  double link = 0;  // of each GPU to the others, each way
  double nic = kPort, host = 0;
  bool any_gpus = false;  // a node has as many GPUs as are asked for
  bool part = false;      // and may have fewer than `gpus` of them
};

// The counts of the text, before the kind of node is known to have as many.
struct Counts {
  std::optional<int> gpus, nodes, gpus_per_node;
};

[[noreturn]] void Refuse(std::string_view part, std::string_view why) {
  Throw(Code::kInvalidArgument, "'{}': {}; a machine of 64 GPUs is dgx-h100:64", Printable(part), why);
}
[[noreturn]] void RefuseSetting(std::string_view part) {
  Throw(Code::kInvalidArgument,
        "'{}': there is no such setting of a machine; there are fat-tree, rails, 400Gb/s, nodes=N, gpus=N, "
        "nics=N, radix=N and oversubscription=X",
        Printable(part));
}

double ParseNumber(std::string_view part, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) Refuse(part, "no number stands there");
  return value;
}
int ParseCount(std::string_view part, std::string_view text, int low, int high) {
  const double value = ParseNumber(part, text);
  if (!(value >= low && value <= high) || value != static_cast<int>(value))
    Refuse(part, fmt::format("must be a whole number from {} to {}", low, high));
  return static_cast<int>(value);
}

// Networks are sold by bits.
double ParsePort(std::string_view part) {
  for (const auto& [unit, bytes] : {std::pair<std::string_view, double>{"Gb/s", 125e6}, {"Gbit/s", 125e6}}) {
    if (!part.ends_with(unit)) continue;
    const double rate = ParseNumber(part, part.substr(0, part.size() - unit.size())) * bytes;
    if (!(rate > 0 && rate < 1e15)) Refuse(part, "is out of range");
    return rate;
  }
  double rate = 0;
  try {
    rate = ParseBandwidth(part);
  } catch (const Error&) {
    RefuseSetting(part);
  }
  if (!(rate > 0 && rate < 1e15)) Refuse(part, "is out of range");
  return rate;
}

void ReadPart(std::string_view part, Counts* counts, Cluster* cluster) {
  const size_t equals = part.find('=');
  if (part == "fat-tree" || part == "rails") {
    cluster->network = part == "rails" ? NetworkKind::kRails : NetworkKind::kFatTree;
  } else if (equals == std::string_view::npos) {
    cluster->nic_bandwidth = ParsePort(part);
  } else {
    const std::string_view name = part.substr(0, equals), value = part.substr(equals + 1);
    if (name == "nodes") {
      counts->nodes = ParseCount(part, value, 1, kMostGpus);
    } else if (name == "gpus") {
      counts->gpus_per_node = ParseCount(part, value, 1, kMostGpusOfNode);
    } else if (name == "nics") {
      cluster->nics_per_node = ParseCount(part, value, 1, 1024);
    } else if (name == "radix") {
      cluster->radix = ParseCount(part, value, 2, 4096);
    } else if (name == "oversubscription") {
      cluster->oversubscription = ParseNumber(part, value);
      if (!(cluster->oversubscription >= 1 && cluster->oversubscription <= 1000))
        Refuse(part, "must be from 1 to 1000");
    } else {
      RefuseSetting(part);
    }
  }
}

std::optional<NodeKind> KnownNode(std::string_view name) {
  for (const FactRow& row : ReadFactTable(kNodeTable)) {
    if (row["name"] != name) continue;
    const GpuFacts* gpu = FindGpu(row["gpu"]);
    LANESCOPE_CHECK(gpu != nullptr);
    return NodeKind{.gpu = gpu,
                    .gpus = static_cast<int>(row.Number("gpus")),
                    .nics = static_cast<int>(row.Number("nics")),
                    .link = gpu->link_bandwidth,
                    .nic = ParseBandwidth(row["nic"]),
                    .host = ParseBandwidth(row["host"]),
                    .part = true};
  }
  return std::nullopt;
}

NodeKind NodeOf(const GpuFacts& gpu, int gpus) {
  return {.gpu = &gpu,
          .gpus = gpus,
          .nics = gpus,
          .link = gpu.link_bandwidth > 0 ? gpu.link_bandwidth : gpu.pcie_bandwidth,
          .host = gpu.pcie_bandwidth * kPcieShare};
}

// "pcie-4090": boards of one host.
std::optional<NodeKind> PcieNode(std::string_view part, std::string_view name) {
  constexpr std::string_view kPrefix = "pcie-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string board(name.substr(kPrefix.size()));
  const GpuFacts* gpu = FindGpu(board + "-pcie");
  if (gpu == nullptr) gpu = FindGpu(board);
  if (gpu == nullptr) return std::nullopt;
  if (gpu->link_bandwidth > 0) Refuse(part, fmt::format("no {} is a board on PCIe alone", gpu->name));
  NodeKind kind = NodeOf(*gpu, 1);
  kind.any_gpus = true;
  return kind;
}

// "h100x2": so many GPUs that reach each other as such GPUs do.
std::optional<NodeKind> CountedNode(std::string_view part, std::string_view name) {
  const size_t times = name.rfind('x');
  if (times == std::string_view::npos || times + 1 == name.size()) return std::nullopt;
  const GpuFacts* gpu = FindGpu(name.substr(0, times));
  if (gpu == nullptr) return std::nullopt;
  return NodeOf(*gpu, ParseCount(part, name.substr(times + 1), 1, kMostGpusOfNode));
}

NodeKind KindOf(std::string_view part, std::string_view name) {
  if (const auto kind = KnownNode(name)) return *kind;
  if (const auto kind = PcieNode(part, name)) return *kind;
  if (const auto kind = CountedNode(part, name)) return *kind;
  const std::string_view nearest = NearName(name, NodeNames());
  Throw(Code::kInvalidArgument,
        "'{}': there is no such kind of machine{}; `lanescope devices --machines` lists them",
        Printable(part), nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

// The GPUs of a node and the nodes that the counts mean.
void SetCounts(std::string_view text, const NodeKind& kind, const Counts& counts, Cluster* cluster) {
  if (counts.gpus && counts.nodes)
    Refuse(text, "the GPUs stand behind the colon or the nodes as nodes=N, not both");
  cluster->gpus_per_node = counts.gpus_per_node.value_or(kind.gpus);
  if (!counts.gpus) {
    cluster->nodes = counts.nodes.value_or(1);
    return;
  }
  const int gpus = *counts.gpus;
  if (!counts.gpus_per_node && ((kind.part && gpus < kind.gpus) || kind.any_gpus)) {
    if (gpus > kMostGpusOfNode) Refuse(text, fmt::format("more than {} GPUs of a node", kMostGpusOfNode));
    cluster->gpus_per_node = gpus;
  }
  const int each = cluster->gpus_per_node;
  if (gpus % each != 0) {
    const int whole = std::max(1, gpus / each);
    Refuse(text, fmt::format("{} GPUs are not whole nodes of {}: take {} GPUs, or nodes={}", gpus, each,
                             gpus < each ? each : whole * each, gpus < each ? gpus : whole + 1));
  }
  cluster->nodes = gpus / each;
}

}  // namespace

std::vector<std::string_view> NodeNames() {
  std::vector<std::string_view> names;
  for (const FactRow& row : ReadFactTable(kNodeTable)) names.push_back(row["name"]);
  return names;
}

void AddClusterGpus(DeviceSpec gpu, Machine* machine) {
  machine->first_clustered = machine->devices.next_id();
  for (int g = 0; g < machine->cluster->num_gpus(); ++g) {
    gpu.name = fmt::format("{}/device:GPU:{}", kLocalTask, g);
    ParseDeviceName(gpu.name, &gpu.parsed);
    machine->devices.Add(gpu);
  }
}

std::string ClusterNodeKinds() {
  std::string gpus;
  for (const GpuFacts& gpu : KnownGpus()) gpus += (gpus.empty() ? "" : ", ") + gpu.short_name;
  return fmt::format("{}, h100x2, pcie-4090:8 and the like of {}", fmt::join(NodeNames(), ", "), gpus);
}

NamedCluster ClusterOf(std::string_view text) {
  const size_t comma = std::min(text.find(','), text.size());
  const std::string_view node = text.substr(0, comma);
  const size_t colon = std::min(node.find(':'), node.size());
  const NodeKind kind = KindOf(node, node.substr(0, colon));
  NamedCluster named{.cluster = {}, .gpu = kind.gpu};
  Cluster& cluster = named.cluster;
  cluster.nics_per_node = 0;
  cluster.switch_bandwidth = kind.link;
  cluster.nic_bandwidth = kind.nic;
  cluster.host_bandwidth = kind.host;
  cluster.fabric = kind.gpu->law.empty() ? "" : kind.gpu->name;
  Counts counts;
  if (colon < node.size()) counts.gpus = ParseCount(node, node.substr(colon + 1), 1, kMostGpus);
  for (size_t begin = comma; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin + 1), text.size());
    ReadPart(text.substr(begin + 1, end - begin - 1), &counts, &cluster);
    begin = end;
  }
  SetCounts(text, kind, counts, &cluster);
  if (cluster.nics_per_node == 0)
    cluster.nics_per_node = cluster.gpus_per_node == kind.gpus ? kind.nics : cluster.gpus_per_node;
  if (int64_t{cluster.nodes} * std::max(cluster.gpus_per_node, cluster.nics_per_node) > 4 * kMostGpus)
    Refuse(text, fmt::format("more than {} GPUs or ports of the network", 4 * kMostGpus));
  return named;
}

Machine MakeCluster(std::string_view text) {
  const NamedCluster named = ClusterOf(text);
  Machine machine = VirtualMachine(0, 1);
  machine.name = text;
  machine.cluster = named.cluster;
  if (named.cluster.num_gpus() > kMostDevices) Refuse(text, fmt::format("more than {} GPUs", kMostDevices));
  if (int64_t{named.cluster.nodes} * named.cluster.nics_per_node > 4 * kMostDevices)
    Refuse(text, fmt::format("more than {} network ports", 4 * kMostDevices));
  AddClusterGpus(named.gpu->device, &machine);
  return machine;
}

}  // namespace lanescope
