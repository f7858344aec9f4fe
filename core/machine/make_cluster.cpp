// Machines of thousands of GPUs from one line.
#include <array>
#include <charconv>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/machine/machine.h"

namespace lanescope {
namespace {

constexpr int kMostGpus = 32768;

// By data sheets: NVIDIA, "DGX A100 System Architecture" (2020), "H100 Tensor Core GPU Architecture" (2022),
// "GB200 NVL72" (2024). Rates without sparsity; float16 by tensor cores.
struct NodeKind {
  std::string_view name, model;
  int gpus;
  std::string_view memory, memory_bandwidth, float16, float32, float64;
  std::string_view switch_bandwidth, nic_bandwidth, host_bandwidth;
};
constexpr std::array<NodeKind, 3> kNodeKinds{{
    {"dgx-a100", "NVIDIA A100-SXM4-80GB", 8, "80GiB", "2039GB/s", "312TFLOP/s", "19.5TFLOP/s", "9.7TFLOP/s",
     "300GB/s", "25GB/s", "25GB/s"},
    {"dgx-h100", "NVIDIA H100-SXM5-80GB", 8, "80GiB", "3350GB/s", "989TFLOP/s", "66.9TFLOP/s", "33.5TFLOP/s",
     "450GB/s", "50GB/s", "50GB/s"},
    {"gb200-nvl72", "NVIDIA GB200", 72, "186GiB", "8000GB/s", "2500TFLOP/s", "80TFLOP/s", "40TFLOP/s",
     "900GB/s", "50GB/s", "450GB/s"},
}};

[[noreturn]] void Refuse(std::string_view part, std::string_view why) {
  Throw(
      Code::kInvalidArgument,
      "'{}': {}; a machine is made as dgx-a100:64,fat-tree,400Gb/s (kinds of nodes: {}; networks: fat-tree, "
      "rails; also nics=N, radix=N, oversubscription=X)",
      part, why, ClusterNodeKinds());
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
    Refuse(part, "is neither a network nor a bandwidth nor a known setting");
  }
  if (!(rate > 0 && rate < 1e15)) Refuse(part, "is out of range");
  return rate;
}

void ReadPart(std::string_view part, Cluster* cluster) {
  const size_t equals = part.find('=');
  if (part == "fat-tree" || part == "rails") {
    cluster->network = part == "rails" ? NetworkKind::kRails : NetworkKind::kFatTree;
  } else if (equals == std::string_view::npos) {
    cluster->nic_bandwidth = ParsePort(part);
  } else {
    const std::string_view name = part.substr(0, equals), value = part.substr(equals + 1);
    if (name == "nics") {
      cluster->nics_per_node = ParseCount(part, value, 1, 1024);
    } else if (name == "radix") {
      cluster->radix = ParseCount(part, value, 2, 4096);
    } else if (name == "oversubscription") {
      cluster->oversubscription = ParseNumber(part, value);
      if (!(cluster->oversubscription >= 1 && cluster->oversubscription <= 1000))
        Refuse(part, "must be from 1 to 1000");
    } else {
      Refuse(part, "there is no such setting");
    }
  }
}

const NodeKind& KindOf(std::string_view part, std::string_view name) {
  for (const NodeKind& kind : kNodeKinds) {
    if (kind.name == name) return kind;
  }
  Refuse(part, "there is no such kind of node");
}

DeviceSpec GpuOf(const NodeKind& kind) {
  DeviceSpec gpu;
  ParseLocalDeviceName("GPU:0", &gpu.parsed);
  gpu.kind = DeviceKind::kModelled;
  gpu.model = kind.model;
  gpu.memory_bytes = ParseBytes(kind.memory);
  gpu.in_order = true;
  gpu.peak_flops = {{DataType::kHalf, ParseFlopRate(kind.float16)},
                    {DataType::kBfloat16, ParseFlopRate(kind.float16)},
                    {DataType::kFloat, ParseFlopRate(kind.float32)},
                    {DataType::kDouble, ParseFlopRate(kind.float64)}};
  gpu.memory_bandwidth = ParseBandwidth(kind.memory_bandwidth);
  gpu.launch_ns = 3'000;
  return gpu;
}

}  // namespace

std::string ClusterNodeKinds() {
  std::string names;
  for (const NodeKind& kind : kNodeKinds) {
    if (!names.empty()) names += ", ";
    names += kind.name;
  }
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

Machine MakeCluster(std::string_view text) {
  const size_t comma = std::min(text.find(','), text.size());
  const std::string_view node = text.substr(0, comma);
  const size_t colon = std::min(node.find(':'), node.size());
  const NodeKind& kind = KindOf(node, node.substr(0, colon));
  Machine machine = VirtualMachine(0, 1);
  machine.name = text;
  Cluster& cluster = machine.cluster.emplace();
  cluster.gpus_per_node = kind.gpus;
  cluster.nics_per_node = kind.gpus;
  if (colon < node.size()) cluster.nodes = ParseCount(node, node.substr(colon + 1), 1, kMostGpus / kind.gpus);
  cluster.switch_bandwidth = ParseBandwidth(kind.switch_bandwidth);
  cluster.nic_bandwidth = ParseBandwidth(kind.nic_bandwidth);
  cluster.host_bandwidth = ParseBandwidth(kind.host_bandwidth);
  for (size_t begin = comma; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin + 1), text.size());
    ReadPart(text.substr(begin + 1, end - begin - 1), &cluster);
    begin = end;
  }
  if (cluster.nodes * cluster.nics_per_node > 4 * kMostGpus)
    Refuse(text, fmt::format("more than {} network ports", 4 * kMostGpus));
  AddClusterGpus(GpuOf(kind), &machine);
  return machine;
}

}  // namespace lanescope
