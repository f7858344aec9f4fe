// SPDX-License-Identifier: Apache-2.0
#include "study/job/this_machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "core/base/error.h"
#include "core/base/processors.h"
#include "core/base/units.h"
#include "core/machine/cluster_tasks.h"
#include "core/machine/device_config.h"
#include "core/machine/tasks.h"
#include "exec/measure/gpu_machine.h"
#include "study/job/gpu_shares.h"
#include "study/job/job.h"

namespace lanescope::study {
namespace {

// The GPUs of it that were chosen.
Machine Chosen(const Machine& machine, const MachineChoice& choice) {
  if (choice.visible_devices.empty() && choice.logical_devices.empty()) return machine;
  DeviceConfig config;
  config.visible_device_list = choice.visible_devices;
  if (!choice.logical_devices.empty()) config.logical_devices = ParseLogicalDevices(choice.logical_devices);
  return ConfigureDevices(machine, config);
}

exec::GpuMemoryOptions MemoryOf(const MachineChoice& choice) {
  exec::GpuMemoryOptions memory;
  memory.fraction = choice.memory_fraction;
  if (!choice.memory_limit.empty()) memory.limit_bytes = ParseBytes(choice.memory_limit);
  return memory;
}

void RequireNoMemoryOptions(const MachineChoice& choice) {
  if (choice.memory_fraction == 0 && choice.memory_limit.empty()) return;
  Throw(Code::kInvalidArgument,
        "a memory fraction or limit is for the GPUs found here; a machine file says each device's memory");
}

Machine TwoVirtualGpus(const MachineChoice& choice) {
  RequireNoMemoryOptions(choice);
  return Chosen(VirtualMachine(2, std::max(1, NumProcessors() / 2)), choice);
}

Machine PhysicalMachine(const MachineChoice& choice, const Notes& note) {
  std::vector<std::string> notes;
  const Machine machine = exec::DetectGpus(MemoryOf(choice), &notes);
  for (const std::string& each : notes) Tell(note, "note: " + each);
  if (machine.Gpus().empty())
    Throw(Code::kFailedPrecondition, "no physical GPU can be used: all are left out");
  return Chosen(machine, choice);
}

// The physical GPUs that this process sees.
struct SeenGpus {
  std::vector<int> ordinals;
  std::vector<std::string> ids;
  std::string reason;  // why there are none
};

// `whose`: begins what is noted.
SeenGpus SeeGpus(const Notes& note, const std::string& whose) {
  SeenGpus seen;
  if (!exec::LoadGpuBackend(&seen.reason)) return seen;
  std::vector<std::string> notes;
  seen.ordinals = exec::UsableGpus(&notes);
  for (const std::string& each : notes) Tell(note, "note: " + whose + each);
  for (const int ordinal : seen.ordinals) seen.ids.push_back(OwnGpuId(ordinal));
  if (seen.ordinals.empty()) seen.reason = "all are left out";
  return seen;
}

// By task, the ids of the GPUs that its process sees. Where this one plays all tasks, it does so on each
// host.
std::vector<std::vector<std::string>> SeenByTasks(const SeenGpus& own, const std::vector<ClusterTask>& tasks,
                                                  exec::Transport* ranks) {
  std::vector<std::vector<std::string>> seen;
  if (ranks == nullptr) {
    for (const ClusterTask& task : tasks) {
      seen.emplace_back();
      for (const std::string& id : own.ids) seen.back().push_back(task.host + " " + id);
    }
    return seen;
  }
  std::string mine;
  for (const std::string& id : own.ids) mine += id + "\n";
  for (const std::string& theirs : ranks->Share(mine)) {
    std::istringstream lines(theirs);
    seen.emplace_back();
    for (std::string id; std::getline(lines, id);) seen.back().push_back(id);
  }
  return seen;
}

// By task, its GPUs as places among those that it sees. None at all: too few are seen to count.
std::optional<std::vector<std::vector<int>>> SharesOfTasks(const MachineChoice& choice, const SeenGpus& own,
                                                           const std::vector<ClusterTask>& tasks,
                                                           exec::Transport* ranks) {
  const std::vector<std::vector<std::string>> seen = SeenByTasks(own, tasks, ranks);
  std::set<std::string> all(own.ids.begin(), own.ids.end());
  if (ranks != nullptr) {
    for (const std::vector<std::string>& of_task : seen) all.insert(of_task.begin(), of_task.end());
  }
  const bool asks_for_gpus = choice.file == MachineChoice::kPhysical;
  if (asks_for_gpus && all.empty())
    Throw(Code::kFailedPrecondition, "no physical GPU can be used: {}", own.reason);
  if (std::ssize(all) < (asks_for_gpus ? 1 : choice.fewest_gpus)) return std::nullopt;
  return ShareGpus(seen, [&](int task) {
    return ranks != nullptr ? ranks->NameOf(task) : tasks[static_cast<size_t>(task)].name();
  });
}

// Describes one task. `share` null: no GPUs count; without any in it, the task has its host alone.
Machine MachineOfTask(const MachineChoice& choice, const SeenGpus& own, const std::vector<int>* share) {
  if (share == nullptr) return TwoVirtualGpus(choice);
  if (share->empty()) {
    Machine host = VirtualMachine(0, 1);
    host.name = "a host without GPUs";
    host.devices[host.host()].workers = NumProcessors();
    return host;
  }
  std::vector<int> ordinals;
  for (const int place : *share) ordinals.push_back(own.ordinals[static_cast<size_t>(place)]);
  return Chosen(exec::DescribeGpus(ordinals, MemoryOf(choice)), choice);
}

// Each task with what its host has: this computer, again and again.
Machine MachineOfHostsHere(const MachineChoice& choice, const Notes& note) {
  const std::vector<ClusterTask> tasks = ParseClusterTasks(choice.cluster);
  const SeenGpus own = SeeGpus(note, "");
  const auto shares = SharesOfTasks(choice, own, tasks, nullptr);
  std::vector<Machine> each;
  for (size_t task = 0; task < tasks.size(); ++task)
    each.push_back(MachineOfTask(choice, own, shares ? &(*shares)[task] : nullptr));
  return MachineOfTasks(each, tasks);
}

// Describes the processes of a job, each on its own host.
Machine MachineOfHosts(const MachineChoice& choice, const Notes& note, exec::Transport* ranks) {
  const std::vector<ClusterTask> tasks = ParseClusterTasks(choice.cluster);
  if (std::ssize(tasks) != ranks->size()) {
    ThrowForAll(ranks,
                fmt::format("the cluster has {} task{}, but {} processes were started: start one for each",
                            tasks.size(), tasks.size() == 1 ? "" : "s", ranks->size()));
  }
  const std::string name = ranks->NameOf(ranks->rank());
  const SeenGpus own = SeeGpus(note, name + ": ");
  std::optional<std::vector<std::vector<int>>> shares;
  try {
    shares = SharesOfTasks(choice, own, tasks, ranks);
  } catch (const Error& error) {
    ThrowForAll(ranks, error.message());
  }
  if (shares && own.ids.empty())
    Tell(note, fmt::format("note: {} sees no GPU, its task has its host alone: {}", name, own.reason));
  const auto rank = static_cast<size_t>(ranks->rank());
  const Machine mine = MachineOfTask(choice, own, shares ? &(*shares)[rank] : nullptr);
  std::vector<Machine> each;
  for (const std::string& theirs : ranks->Share(MachineToJson(mine))) each.push_back(ParseMachine(theirs));
  return MachineOfTasks(each, tasks);
}

}  // namespace

std::string HostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string ClockName() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::array<char, 64> space{};
  if (!std::getline(file, boot) || readlink("/proc/self/ns/time", space.data(), space.size() - 1) <= 0)
    return "";
  return boot + " " + space.data();
}

namespace {

// A text that is no file and does not look like one is the name of a machine.
Machine ReadMachineFile(const std::string& path) {
  std::error_code ignored;
  const bool is_path =
      path.ends_with(".json") || path.substr(0, path.find(',')).find('/') != std::string::npos;
  return is_path || std::filesystem::exists(path, ignored) ? ReadMachine(path) : MakeCluster(path);
}

}  // namespace

Machine LoadMachine(const MachineChoice& choice, const Notes& note, exec::Transport* ranks) {
  const bool reads_file = !choice.file.empty() && choice.file != MachineChoice::kPhysical;
  if (reads_file) {
    RequireNoMemoryOptions(choice);
    Machine file = ReadMachineFile(choice.file);
    // GPUs of other tasks may be of other computers.
    if (TasksOf(file).size() == 1) exec::CompleteGpus(&file);
    const Machine machine = Chosen(file, choice);
    return choice.cluster.empty() ? machine : MachineOfTasks(machine, ParseClusterTasks(choice.cluster));
  }
  if (!choice.cluster.empty())
    return ranks != nullptr ? MachineOfHosts(choice, note, ranks) : MachineOfHostsHere(choice, note);
  if (choice.file == MachineChoice::kPhysical) return PhysicalMachine(choice, note);
  std::string reason;
  if (exec::CountVisibleGpus(&reason) >= choice.fewest_gpus && exec::LoadGpuBackend(&reason))
    return PhysicalMachine(choice, note);
  return TwoVirtualGpus(choice);
}

bool IsEmulated(const Machine& machine) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [](const DeviceSpec& device) { return device.kind == DeviceKind::kVirtual; });
}

}  // namespace lanescope::study
