// SPDX-License-Identifier: Apache-2.0
#include "core/machine/gpu_facts.h"

#include <algorithm>

#include "core/base/units.h"
#include "core/machine/fact_table.h"

namespace lanescope {
namespace {

constexpr std::string_view kGpuTable =
#if __has_include("gpus_tsv.inc")
#include "gpus_tsv.inc"
#else
    ""
#endif
    ;

// NVLink switches sum from the generation of Hopper on.
constexpr double kLinkOfHopper = 450e9;

// "-": has none.
double RateOf(std::string_view text) { return text == "-" ? 0 : ParseFlopRate(text); }
double BandwidthOf(std::string_view text) { return text == "-" ? 0 : ParseBandwidth(text); }

GpuFacts FactsOf(const FactRow& row) {
  GpuFacts gpu;
  gpu.name = row["name"];
  gpu.short_name = row["short_name"];
  gpu.link_bandwidth = BandwidthOf(row["link"]);
  gpu.pcie_bandwidth = BandwidthOf(row["pcie"]);
  gpu.float4_flops = RateOf(row["float4"]);
  if (row["law"] != "-") gpu.law = row["law"];
  gpu.sums_in_switch = gpu.link_bandwidth >= kLinkOfHopper;
  gpu.source = row["source"];
  DeviceSpec& device = gpu.device;
  ParseLocalDeviceName("GPU:0", &device.parsed);
  device.kind = DeviceKind::kModelled;
  device.model = row["model"];
  device.memory_bytes = ParseBytes(row["memory"]);
  device.in_order = true;
  device.peak_flops = {{DataType::kHalf, RateOf(row["float16"])},
                       {DataType::kBfloat16, RateOf(row["float16"])},
                       {DataType::kFloat, RateOf(row["float32"])},
                       {DataType::kDouble, RateOf(row["float64"])}};
  device.tf32_flops = RateOf(row["tf32"]);
  device.float8_flops = RateOf(row["float8"]);
  device.memory_bandwidth = BandwidthOf(row["memory_bandwidth"]);
  device.multiprocessors = static_cast<int>(row.Number("multiprocessors"));
  device.rates = "data sheet";
  device.launch_ns = 3'000;
  return gpu;
}

}  // namespace

const std::vector<GpuFacts>& KnownGpus() {
  static const std::vector<GpuFacts> gpus = [] {
    std::vector<GpuFacts> facts;
    for (const FactRow& row : ReadFactTable(kGpuTable)) facts.push_back(FactsOf(row));
    return facts;
  }();
  return gpus;
}

const GpuFacts* FindGpu(std::string_view name) {
  const std::vector<GpuFacts>& gpus = KnownGpus();
  const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const GpuFacts& gpu) {
    return gpu.name == name || gpu.short_name == name;
  });
  return found == gpus.end() ? nullptr : &*found;
}

std::string GpuNames() {
  std::string names;
  for (const GpuFacts& gpu : KnownGpus()) {
    if (!names.empty()) names += ", ";
    names += gpu.name;
  }
  return names;
}

}  // namespace lanescope
