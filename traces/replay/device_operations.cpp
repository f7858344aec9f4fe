// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/device_operations.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "core/runs/run_view.h"
#include "traces/read/activity_names.h"
#include "traces/read/collectives.h"
#include "traces/store/api_call_name.h"

namespace lanescope::traces {
namespace {

// A call may seem to end before what it waited for: their clocks and the digits of their times differ.
constexpr int64_t kClockNs = 5'000;

bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

DeviceOperations::DeviceOperations(const TraceRun& run)
    : run_(run), calls_(run.api_calls), names_(run.texts) {
  const std::vector<int> gpus = WorkingGpus(run);
  const auto on_gpu = [&](const auto& activity) { return std::ranges::binary_search(gpus, activity.device); };
  std::vector<int64_t> message(run.launches.size(), 0);
  for (const TraceCollective& collective : run.collectives)
    message[static_cast<size_t>(collective.launch)] = collective.bytes;
  std::vector<char> communication;
  for (const std::string& text : run.texts) communication.push_back(IsCommunication(text) ? 1 : 0);
  for (size_t i = 0; i < run.launches.size(); ++i) {
    const TraceLaunch& launch = run.launches[i];
    if (!on_gpu(launch)) continue;
    const bool nccl = launch.name >= 0 && communication[static_cast<size_t>(launch.name)] != 0;
    Add(launch, nccl ? ReplayTask::Kind::kCollective : ReplayTask::Kind::kKernel, launch.name, false,
        static_cast<int>(i));
    operations_.back().bytes = message[i];
  }
  for (const TraceCopy& copy : run.copies) {
    if (!on_gpu(copy)) continue;
    Add(copy, ReplayTask::Kind::kCopy, AddName(NvprofCopyName(copy.kind)),
        copy.copy_class != CopyClass::kWithinDevice, -1);
    operations_.back().bytes = copy.bytes;
  }
  for (const TraceMemset& memset : run.memsets) {
    if (on_gpu(memset)) Add(memset, ReplayTask::Kind::kMemset, AddName(std::string(kMemsetName)), false, -1);
  }
  OrderStreams();
  OrderNodes();
}

int DeviceOperations::AddName(const std::string& name) {
  const auto [entry, is_new] = added_.try_emplace(name, static_cast<int>(names_.size()));
  if (is_new) names_.push_back(name);
  return entry->second;
}

int DeviceOperations::NameOfCall(int text) {
  const auto [entry, is_new] = call_names_.try_emplace(text, -1);
  if (is_new) entry->second = AddName(std::string(ApiCallName(run_.Text(text))));
  return entry->second;
}

template <typename Activity>
void DeviceOperations::Add(const Activity& activity, ReplayTask::Kind kind, int name, bool crosses,
                           int launch) {
  const auto key = std::tuple(activity.global_pid, activity.device, activity.stream);
  const auto [stream, is_new] = stream_numbers_.try_emplace(key, static_cast<int>(streams_.size()));
  if (is_new) streams_.push_back({activity.device, activity.stream, activity.global_pid, {}});
  operations_.push_back({kind, activity.start_ns, activity.end_ns, stream->second, activity.api, name,
                         activity.step, launch, crosses});
}

int64_t DeviceOperations::LaunchTime(int operation) const {
  const int call = operations_[static_cast<size_t>(operation)].call;
  return call < 0 ? INT64_MIN : run_.api_calls[static_cast<size_t>(call)].start_ns;
}

void DeviceOperations::OrderStreams() {
  std::ranges::stable_sort(operations_, [](const DeviceOperation& a, const DeviceOperation& b) {
    return std::pair(a.start_ns, a.end_ns) < std::pair(b.start_ns, b.end_ns);
  });
  std::vector<int> last(streams_.size(), -1);  // to end
  for (size_t i = 0; i < operations_.size(); ++i) {
    DeviceOperation& operation = operations_[i];
    int& before = last[static_cast<size_t>(operation.stream)];
    operation.before = before;
    if (before < 0 || operation.end_ns >= operations_[static_cast<size_t>(before)].end_ns)
      before = static_cast<int>(i);
    streams_[static_cast<size_t>(operation.stream)].launched.push_back(static_cast<int>(i));
  }
  for (DeviceStream& stream : streams_) {
    std::ranges::stable_sort(stream.launched, {}, [this](int operation) { return LaunchTime(operation); });
  }
}

// A graph says not of which nodes a node waits. On its stream it follows the one before, also where it begins
// a little before that ends (programmatic dependent launches do); beside one that it runs with for longer it
// is on another branch, and follows what had ended last before it.
void DeviceOperations::OrderNodes() {
  struct Launch {
    std::priority_queue<std::pair<int64_t, int>, std::vector<std::pair<int64_t, int>>, std::greater<>>
        running;
    int last = -1;  // to end
  };
  std::map<int, Launch> launches;  // by call
  for (size_t i = 0; i < operations_.size(); ++i) {
    DeviceOperation& node = operations_[i];
    if (node.call < 0 || !IsGraphLaunch(run_.Text(run_.api_calls[static_cast<size_t>(node.call)].name)))
      continue;
    node.in_graph = true;
    Launch& launch = launches[node.call];
    for (; !launch.running.empty() && launch.running.top().first <= node.start_ns; launch.running.pop())
      launch.last = launch.running.top().second;
    node.after_node = launch.last;
    if (node.before >= 0) {
      const DeviceOperation& before = operations_[static_cast<size_t>(node.before)];
      const int64_t together = before.end_ns - node.start_ns;
      const int64_t shorter = std::min(before.end_ns - before.start_ns, node.end_ns - node.start_ns);
      if (before.call == node.call && together >= 0 && 2 * together <= shorter) node.after_node = node.before;
    }
    launch.running.emplace(node.end_ns, static_cast<int>(i));
  }
}

int DeviceOperations::LastBefore(int stream, int64_t time) const {
  if (stream < 0) return -1;
  const std::vector<int>& launched = streams_[static_cast<size_t>(stream)].launched;
  const auto after =
      std::ranges::lower_bound(launched, time, {}, [this](int operation) { return LaunchTime(operation); });
  return after == launched.begin() ? -1 : *std::prev(after);
}

bool DeviceOperations::HasStreams(int64_t global_pid, int device) const {
  return std::ranges::any_of(streams_, [&](const DeviceStream& stream) {
    return stream.global_pid == global_pid && stream.device == device;
  });
}

// Synchronisations of Nsight Systems may have the device as the process counts those that it sees: where the
// process has nothing on that device, its streams are told by their numbers.
int DeviceOperations::FindStream(int64_t global_pid, int device, int number) const {
  const auto found = stream_numbers_.find({global_pid, device, number});
  if (found != stream_numbers_.end()) return found->second;
  if (HasStreams(global_pid, device)) return -1;
  const auto stream = std::ranges::find_if(
      streams_, [&](const DeviceStream& of) { return of.global_pid == global_pid && of.number == number; });
  return stream == streams_.end() ? -1 : static_cast<int>(stream - streams_.begin());
}

// Finds what the event that a synchronisation names comes after; -1: the trace does not say, or nothing.
int DeviceOperations::EventBefore(const TraceSynchronization& sync) const {
  const int recorded = calls_.Find(sync.global_pid, sync.recorded_by, INT64_MAX);
  if (sync.recorded_by < 0 || recorded < 0) return -1;
  return LastBefore(FindStream(sync.global_pid, sync.device, sync.recorded_on),
                    run_.api_calls[static_cast<size_t>(recorded)].start_ns);
}

void DeviceOperations::AddAwaited(const TraceApiCall& call, int operation, HostWait* wait) const {
  if (operation < 0) return;
  const DeviceOperation& awaited = operations_[static_cast<size_t>(operation)];
  if (awaited.end_ns > call.end_ns + kClockNs || awaited.start_ns >= call.end_ns) return;
  wait->operations.push_back(operation);
  wait->until_ns = std::max(wait->until_ns, awaited.end_ns);
}

// Handles a call that no record explains. For one stream or event: whichever of the process' streams had its
// last work end inside the call, of several the last.
void DeviceOperations::WaitByName(const TraceApiCall& call, HostWait* wait) const {
  const std::string& name = run_.Text(call.name);
  const bool all = Has(name, "DeviceSynchronize") || Has(name, "CtxSynchronize");
  if (!all && !Has(name, "StreamSynchronize") && !Has(name, "EventSynchronize")) return;
  HostWait last;
  for (size_t s = 0; s < streams_.size(); ++s) {
    if (streams_[s].global_pid != GlobalPidOf(call.global_tid)) continue;
    HostWait one;
    AddAwaited(call, LastBefore(static_cast<int>(s), call.start_ns), &one);
    if (all) {
      wait->operations.insert(wait->operations.end(), one.operations.begin(), one.operations.end());
      wait->until_ns = std::max(wait->until_ns, one.until_ns);
    } else if (one.until_ns > std::max(last.until_ns, call.start_ns)) {
      last = one;
    }
  }
  if (!all) *wait = last;
}

std::vector<HostWait> DeviceOperations::FindHostWaits(
    std::span<const TraceSynchronization> synchronizations) const {
  using Kind = TraceSynchronization::Kind;
  std::vector<HostWait> waits(run_.api_calls.size());
  std::vector<char> recorded(waits.size(), 0);
  for (const TraceSynchronization& sync : synchronizations) {
    const int number = calls_.Find(sync.global_pid, sync.correlation, INT64_MAX);
    if (number < 0 || sync.correlation < 0 || sync.kind == Kind::kStreamWaits) continue;
    const auto index = static_cast<size_t>(number);
    const TraceApiCall& call = run_.api_calls[index];
    // Whose event it waits for may not be recorded.
    if (sync.kind == Kind::kEvent && sync.recorded_by < 0) continue;
    recorded[index] = 1;
    if (sync.kind == Kind::kEvent) AddAwaited(call, EventBefore(sync), &waits[index]);
    if (sync.kind == Kind::kStream) {
      const int stream = FindStream(sync.global_pid, sync.device, sync.stream);
      AddAwaited(call, LastBefore(stream, call.start_ns), &waits[index]);
    }
    const bool any_device = sync.kind == Kind::kContext && !HasStreams(sync.global_pid, sync.device);
    for (size_t s = 0; sync.kind == Kind::kContext && s < streams_.size(); ++s) {
      const DeviceStream& stream = streams_[s];
      if (stream.global_pid == sync.global_pid && (any_device || stream.device == sync.device))
        AddAwaited(call, LastBefore(static_cast<int>(s), call.start_ns), &waits[index]);
    }
  }
  for (size_t i = 0; i < waits.size(); ++i) {
    if (recorded[i] == 0) WaitByName(run_.api_calls[i], &waits[i]);
  }
  for (size_t i = 0; i < operations_.size(); ++i) {
    const DeviceOperation& operation = operations_[i];
    if (operation.kind != ReplayTask::Kind::kCopy || operation.call < 0) continue;
    const auto call = static_cast<size_t>(operation.call);
    if (operation.end_ns <= run_.api_calls[call].end_ns)
      AddAwaited(run_.api_calls[call], static_cast<int>(i), &waits[call]);
  }
  return waits;
}

std::vector<std::pair<int, int>> DeviceOperations::FindEventWaits(
    std::span<const TraceSynchronization> synchronizations) const {
  std::vector<std::pair<int, int>> found;
  for (const TraceSynchronization& sync : synchronizations) {
    if (sync.kind != TraceSynchronization::Kind::kStreamWaits || sync.correlation < 0) continue;
    const int call = calls_.Find(sync.global_pid, sync.correlation, INT64_MAX);
    const int stream = FindStream(sync.global_pid, sync.device, sync.stream), first = EventBefore(sync);
    if (call < 0 || stream < 0 || first < 0) continue;
    const std::vector<int>& launched = streams_[static_cast<size_t>(stream)].launched;
    const auto next = std::ranges::upper_bound(launched, run_.api_calls[static_cast<size_t>(call)].start_ns,
                                               {}, [this](int operation) { return LaunchTime(operation); });
    if (next != launched.end() && first < *next) found.emplace_back(first, *next);
  }
  return found;
}

}  // namespace lanescope::traces
