// SPDX-License-Identifier: Apache-2.0
#include "traces/report/link_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/machine/machine.h"
#include "traces/read/collectives.h"
#include "traces/read/trace_reader.h"

namespace lanescope::traces {
namespace {

// NVLink of a module, each way: half of what NVIDIA's data sheets add up for both. The longer name first
// where one holds the other.
struct Module {
  std::string_view model;
  double bytes_per_second;
};
constexpr Module kModules[] = {{"P100-SXM2", 80e9},  {"V100-SXM2", 150e9},      {"V100-SXM3", 150e9},
                               {"A800-SXM4", 200e9}, {"A100-SXM4", 300e9},      {"H100-SXM5", 450e9},
                               {"H800", 200e9},      {"H100 80GB HBM3", 450e9}, {"GH200", 450e9},
                               {"H200 NVL", 0},      {"H200", 450e9},           {"GB200", 900e9},
                               {"GB300", 900e9},     {"B200", 900e9},           {"B300", 900e9}};

double OfModule(std::string_view model) {
  if (model.find("PCIe") != std::string_view::npos) return 0;
  const auto* module = std::ranges::find_if(
      kModules, [&](const Module& known) { return model.find(known.model) != std::string_view::npos; });
  return module == std::end(kModules) ? 0 : module->bytes_per_second;
}

LinkRate OfModels(const TraceRun& run) {
  LinkRate rate;
  for (const int gpu : WorkingGpus(run)) {
    const TraceDevice* device = run.FindDevice(gpu);
    const std::string model = device == nullptr ? "" : device->model;
    const double of_model = OfModule(model);
    if (of_model <= 0 || (rate.within > 0 && of_model != rate.within)) return {};
    rate.within = of_model;
    rate.source = fmt::format("NVLink of {} by its data sheet", model);
  }
  return rate;
}

LinkRate OfConnections(const TraceRun& run) {
  std::map<std::string, double> of_end;
  for (const TraceNvlink& link : run.nvlinks) {
    of_end[link.device0] += static_cast<double>(link.bandwidth);
    if (link.device1 != link.device0) of_end[link.device1] += static_cast<double>(link.bandwidth);
  }
  LinkRate rate;
  for (const auto& [end, sum] : of_end) {
    if (!end.starts_with("npu")) rate.within = std::max(rate.within, sum);
  }
  if (rate.within > 0) rate.source = "NVLink connections of the recorded machine";
  return rate;
}

}  // namespace

LinkRate LinkRateOf(const Machine& machine, std::string source) {
  LinkRate rate;
  if (machine.cluster) {
    const Cluster& cluster = *machine.cluster;
    rate.within = cluster.switch_bandwidth;
    rate.across = cluster.nic_bandwidth * cluster.nics_per_node / std::max(1, cluster.gpus_per_node);
    rate.gpus = cluster.gpus_per_node;
  } else {
    const std::vector<DeviceId> gpus = machine.Gpus();
    for (const DeviceId src : gpus) {
      for (const DeviceId dst : gpus) {
        if (src == dst) continue;
        try {
          rate.within = std::max(rate.within, machine.RouteBetween(src, dst).bandwidth);
        } catch (const Error&) {
          // No way leads there.
        }
      }
    }
  }
  if (rate.within > 0) rate.source = std::move(source);
  return rate;
}

LinkRate LinkRateOf(const TraceRun& run) {
  if (!run.info.machine_json.empty()) {
    try {
      const LinkRate rate = LinkRateOf(ParseMachine(run.info.machine_json), "the machine of the run");
      if (rate.within > 0) return rate;
    } catch (const Error&) {
      // A damaged description costs this figure, not the report.
    }
  }
  const LinkRate connections = OfConnections(run);
  return connections.within > 0 ? connections : OfModels(run);
}

}  // namespace lanescope::traces
