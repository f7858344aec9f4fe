// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/machine.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "sims/plans/gpus.h"
#include "sims/plans/nearest.h"

namespace lanescope::sims::plans {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kMachines = {
    {{"dgx-a100", "A100-SXM-80GB"},
     {"dgx-h100", "H100-SXM"},
     {"dgx-h200", "H200-SXM"},
     {"dgx-b200", "B200-SXM"},
     {"dgx-b300", "B300-SXM"},
     {"gb200-nvl72", "GB200"},
     {"gb300-nvl72", "GB300"}}};
constexpr int kMostGpus = 1'000'000;

}  // namespace

PlanMachine MachineOf(std::string_view name, double gpus) {
  const PlanGpu& gpu = FindPlanGpu(name);
  PlanMachine machine;
  machine.name = name;
  machine.gpus = gpus;
  machine.memory_bytes = gpu.memory_bytes;
  machine.kernels = gpu.kernels;
  machine.network = {
      .island = gpu.island, .link_bytes_per_s = gpu.link_bytes_per_s, .nic_bytes_per_s = gpu.nic_bytes_per_s};
  return machine;
}

std::vector<std::string_view> PlanMachineNames() {
  std::vector<std::string_view> names;
  for (const auto& [name, gpu] : kMachines) names.push_back(name);
  return names;
}

PlanMachine NamedMachine(std::string_view name) {
  const size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  for (const auto& [known, gpu] : kMachines) {
    if (known != kind) continue;
    int gpus = static_cast<int>(FindPlanGpu(gpu).island);
    if (colon != std::string_view::npos) {
      const std::string_view count = name.substr(colon + 1);
      const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), gpus);
      if (error != std::errc() || end != count.data() + count.size() || gpus < 1 || gpus > kMostGpus)
        Throw(Code::kInvalidArgument, "{}: a number of GPUs from 1 to {} follows the colon", Printable(name),
              kMostGpus);
    }
    PlanMachine machine = MachineOf(gpu, gpus);
    machine.name = name;
    return machine;
  }
  Throw(Code::kNotFound, "no machine is named {}; did you mean {}:64?", Printable(name),
        NearestName(kind, PlanMachineNames()));
}

}  // namespace lanescope::sims::plans
