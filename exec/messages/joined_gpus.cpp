// SPDX-License-Identifier: Apache-2.0
#include "exec/messages/joined_gpus.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "exec/device/backends.h"

namespace lanescope::exec {
namespace {

constexpr std::string_view kCannot = "-";

std::vector<DeviceId> GpusOfTask(const Machine& machine, const MachineTasks& tasks, int task) {
  std::vector<DeviceId> gpus;
  for (const DeviceId d : machine.devices.ids()) {
    if (machine.device(d).is_hardware() && tasks.task_of[d] == task) gpus.push_back(d);
  }
  return gpus;
}

// A process's own description: its library, then the identity of each of its GPUs in the machine's order,
// line by line; or kCannot and why.
std::string TextOf(const Machine& machine, const std::vector<DeviceId>& gpus) {
  std::string library, lines;
  for (const DeviceId gpu : gpus) {
    std::string reason = "nothing here uses GPUs";
    Backend* const backend = BackendOf(machine.device(gpu));
    if (backend != nullptr) library = backend->PeerLibrary(&reason);
    if (library.empty()) return fmt::format("{}\n{}", kCannot, reason);
    lines += "\n" + backend->IdOf(machine.device(gpu).physical);
  }
  return library + lines;
}

struct ProcessSays {
  std::string library, reason;  // one of them; neither: it has no GPUs
  std::vector<std::string> identities;
};

ProcessSays Read(const std::string& text, size_t gpus) {
  ProcessSays says;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, says.library);
  while (std::getline(lines, line)) says.identities.push_back(line);
  if (says.library == kCannot || says.identities.size() != gpus) {
    says.reason = says.library == kCannot && !says.identities.empty() ? says.identities[0]
                                                                      : "its machine has other GPUs";
    says.library.clear();
    says.identities.clear();
  }
  return says;
}

// Why not all of them are joined; empty: they are. `library`: of the first that has one.
std::string WhyNot(const std::vector<ProcessSays>& says, const std::string& library,
                   const Transport& transport) {
  for (size_t rank = 0; rank < says.size(); ++rank) {
    const std::string name = transport.NameOf(static_cast<int>(rank));
    if (!says[rank].reason.empty()) return fmt::format("{}: {}", name, says[rank].reason);
    if (!says[rank].library.empty() && says[rank].library != library)
      return fmt::format("{} has {} and others {}", name, says[rank].library, library);
  }
  return "";
}

}  // namespace

JoinedGpus JoinGpus(const Machine& machine, Transport* transport) {
  const auto nowhere = [](DeviceId, DeviceId) { return false; };
  const MachineTasks tasks = TasksOf(machine);
  if (transport == nullptr) return {WithJoinedGpus(machine, nowhere), ""};
  const std::vector<std::string> texts =
      transport->Share(TextOf(machine, GpusOfTask(machine, tasks, transport->rank())));
  std::vector<ProcessSays> says;
  std::string library;
  IdVector<DeviceId, std::string> identity(machine.devices.size());
  int with_gpus = 0;
  for (int task = 0; task < std::min(tasks.size(), transport->size()); ++task) {
    const std::vector<DeviceId> gpus = GpusOfTask(machine, tasks, task);
    says.push_back(Read(texts[static_cast<size_t>(task)], gpus.size()));
    if (library.empty()) library = says.back().library;
    with_gpus += gpus.empty() ? 0 : 1;
    for (size_t i = 0; i < says.back().identities.size(); ++i) identity[gpus[i]] = says.back().identities[i];
  }
  const auto library_of = [&](DeviceId d) { return says[static_cast<size_t>(tasks.task_of[d])].library; };
  if (with_gpus < 2 || tasks.size() != transport->size()) return {WithJoinedGpus(machine, nowhere), ""};
  JoinedGpus joined{WithJoinedGpus(machine,
                                   [&](DeviceId a, DeviceId b) {
                                     return !identity[a].empty() && !identity[b].empty() &&
                                            identity[a] != identity[b] && library_of(a) == library_of(b);
                                   }),
                    ""};
  const std::string why_not = WhyNot(says, library, *transport);
  joined.note =
      why_not.empty()
          ? fmt::format("copies between GPUs of different processes go by {}", library)
          : fmt::format("not all copies between GPUs of different processes go from memory to memory ({})",
                        why_not);
  return joined;
}

}  // namespace lanescope::exec
