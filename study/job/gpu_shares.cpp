// SPDX-License-Identifier: Apache-2.0
#include "study/job/gpu_shares.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "exec/measure/gpu_machine.h"
#include "study/job/job.h"
#include "study/job/this_machine.h"

namespace lanescope::study {
namespace {

constexpr char kWhole = 'w', kPart = 'p';

// A line for each physical GPU of the task, and for each part of one: what of it, its id, and the device.
std::string GpusOfTask(const Machine& machine, int task) {
  const MachineTasks tasks = TasksOf(machine);
  std::string lines;
  for (const DeviceId d : machine.devices.ids()) {
    const DeviceSpec& device = machine.device(d);
    if (!device.is_hardware() || tasks.task_of[d] != task) continue;
    lines += fmt::format("{}{}\t{}\n", device.kind == DeviceKind::kLogical ? kPart : kWhole,
                         OwnGpuId(device.physical), device.local_name());
  }
  return lines;
}

// Tasks that see a GPU in common must all see the same GPUs.
void RequireSameOrOthers(const std::vector<std::vector<std::string>>& seen,
                         const std::function<std::string(int)>& name) {
  std::map<std::string, size_t> first;  // who sees the GPU
  for (size_t p = 0; p < seen.size(); ++p) {
    for (const std::string& gpu : seen[p]) {
      const size_t other = first.try_emplace(gpu, p).first->second;
      if (std::set(seen[p].begin(), seen[p].end()) == std::set(seen[other].begin(), seen[other].end()))
        continue;
      Throw(Code::kFailedPrecondition,
            "{} and {} see a GPU in common, but not the same GPUs: give both the same CUDA_VISIBLE_DEVICES, "
            "or each its own",
            name(static_cast<int>(other)), name(static_cast<int>(p)));
    }
  }
}

}  // namespace

std::string OwnGpuId(int ordinal) {
  const std::string id = exec::GpuId(ordinal);
  return id.empty() ? fmt::format("{} of {}", ordinal, HostName()) : id;
}

std::vector<std::vector<int>> ShareGpus(const std::vector<std::vector<std::string>>& seen,
                                        const std::function<std::string(int)>& name) {
  RequireSameOrOthers(seen, name);
  std::map<std::string, std::vector<size_t>> sharing;  // who shares them out, by the least id
  for (size_t p = 0; p < seen.size(); ++p) {
    if (!seen[p].empty()) sharing[*std::ranges::min_element(seen[p])].push_back(p);
  }
  std::vector<std::vector<int>> shares(seen.size());
  for (const auto& [id, processes] : sharing) {
    const std::vector<std::string>& gpus = seen[processes.front()];
    if (gpus.size() < processes.size()) {
      Throw(Code::kFailedPrecondition,
            "{} GPU{} for {} tasks, {} to {}: start fewer of them there, or give --machine a file that says "
            "which devices each has (parts of a GPU, virtual GPUs)",
            gpus.size(), gpus.size() == 1 ? "" : "s", processes.size(),
            name(static_cast<int>(processes.front())), name(static_cast<int>(processes.back())));
    }
    for (size_t k = 0; k < processes.size(); ++k) {
      const std::vector<std::string>& own = seen[processes[k]];
      for (size_t g = k * gpus.size() / processes.size(); g < (k + 1) * gpus.size() / processes.size(); ++g) {
        const auto place = std::ranges::find(own, gpus[g]) - own.begin();
        shares[processes[k]].push_back(static_cast<int>(place));
      }
    }
  }
  return shares;
}

void RequireOwnGpus(const Machine& machine, exec::Transport* transport) {
  const std::vector<std::string> all = transport->Share(GpusOfTask(machine, transport->rank()));
  struct Holder {
    size_t rank;
    char what;
    std::string device;
  };
  std::map<std::string, Holder> holders;  // by id
  for (size_t rank = 0; rank < all.size(); ++rank) {
    std::istringstream lines(all[rank]);
    for (std::string line; std::getline(lines, line);) {
      const size_t tab = line.find('\t');
      const Holder own{rank, line.at(0), line.substr(tab + 1)};
      const Holder& other = holders.try_emplace(line.substr(1, tab - 1), own).first->second;
      if (other.rank == rank || (other.what == kPart && own.what == kPart)) continue;
      ThrowForAll(transport,
                  fmt::format("{} of {} and {} of {} are the same physical GPU: give each task its own "
                              "(`physical` in the machine file), or parts of one (`kind` logical)",
                              other.device, transport->NameOf(static_cast<int>(other.rank)), own.device,
                              transport->NameOf(static_cast<int>(rank))));
    }
  }
}

}  // namespace lanescope::study
