// SPDX-License-Identifier: Apache-2.0
#include "traces/report/stream_waits.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "traces/store/saturating.h"

namespace lanescope::traces {
namespace {

constexpr int64_t kKernelGapNs = 30'000;  // as HolisticTraceAnalysis has it: 30 of a trace's microseconds
constexpr int64_t kTimeDigitNs = 2'000;   // times of some traces are whole microseconds

// When operations of a device ended.
class Ends {
 public:
  explicit Ends(const std::vector<WaitingOperation>& operations)
      : operations_(operations), by_end_(operations.size()) {
    std::iota(by_end_.begin(), by_end_.end(), 0u);
    std::ranges::stable_sort(by_end_, {}, [this](uint32_t number) { return operations_[number].end_ns; });
  }
  // The work on another stream that ended last before the operation began, after its own stream had been idle
  // since `idle_ns`, and so shortly that it is what the operation waited for; null: nothing.
  const WaitingOperation* Before(const WaitingOperation& operation, int64_t idle_ns) const {
    auto end = std::ranges::upper_bound(by_end_, operation.start_ns + kTimeDigitNs, {},
                                        [this](uint32_t number) { return operations_[number].end_ns; });
    const int64_t earliest = std::max(idle_ns, operation.start_ns - kHandOverNs);
    while (end != by_end_.begin() && operations_[*(end - 1)].end_ns > earliest) {
      --end;
      if (operations_[*end].stream != operation.stream) return &operations_[*end];
    }
    return nullptr;
  }

 private:
  const std::vector<WaitingOperation>& operations_;
  std::vector<uint32_t> by_end_;
};

// The operations of one stream that were launched and had not begun.
struct Launched {
  std::vector<int64_t> called_ns, began_ns;

  // An operation that begins when another is called had waited no longer.
  int64_t MaxQueue() {
    std::ranges::sort(called_ns);
    std::ranges::sort(began_ns);
    int64_t length = 0, most = 0;
    auto began = began_ns.begin();
    for (const int64_t called : called_ns) {
      for (; began != began_ns.end() && *began <= called; ++began) --length;
      most = std::max(most, ++length);
    }
    return most;
  }
};

}  // namespace

void FindStreamWaits(const TraceRun& run, int device, const std::vector<WaitingOperation>& operations,
                     std::vector<StreamWaits>* found) {
  const Ends ends(operations);
  std::map<int, StreamWaits> streams;
  std::map<int, int64_t> busy_until;
  std::map<int, Launched> launched;
  std::map<int, double> delays;
  for (const WaitingOperation& operation : operations) {
    StreamWaits& stream = streams[operation.stream];
    const TraceApiCall* call =
        operation.call < 0 ? nullptr : &run.api_calls[static_cast<size_t>(operation.call)];
    const auto [until, first] = busy_until.try_emplace(operation.stream, operation.end_ns);
    const int64_t gap = first ? 0 : operation.start_ns - until->second;
    if (gap > 0) {
      const bool host = call != nullptr && call->start_ns > until->second;
      (host ? stream.host_ns : gap < kKernelGapNs ? stream.kernel_ns : stream.other_ns) += gap;
      if (const WaitingOperation* other =
              host || gap < kKernelGapNs ? nullptr : ends.Before(operation, until->second))
        (other->collective ? stream.for_ranks_ns : stream.for_streams_ns) += gap;
    }
    // Branches of a graph have the stream of its launch, and run beside each other.
    const int64_t alone_from = first ? operation.start_ns : std::max(operation.start_ns, until->second);
    stream.busy_ns = AddSaturating(stream.busy_ns, std::max<int64_t>(0, operation.end_ns - alone_from));
    until->second = std::max(until->second, operation.end_ns);
    ++stream.operations;
    if (call == nullptr) continue;
    const int64_t delay = std::max<int64_t>(0, operation.start_ns - call->end_ns);
    ++stream.launched;
    delays[operation.stream] += static_cast<double>(delay);
    stream.max_delay_ns = std::max(stream.max_delay_ns, delay);
    launched[operation.stream].called_ns.push_back(call->start_ns);
    launched[operation.stream].began_ns.push_back(operation.start_ns);
  }
  for (auto& [number, stream] : streams) {
    stream.device = device;
    stream.label = run.DeviceLabel(device);
    stream.stream = number;
    const auto named = std::ranges::find_if(run.streams, [&](const TraceStream& other) {
      return other.device == device && other.stream == number;
    });
    if (named != run.streams.end()) stream.name = run.Text(named->name);
    if (stream.launched > 0)
      stream.mean_delay_ns = static_cast<int64_t>(delays[number] / static_cast<double>(stream.launched));
    stream.max_queue = launched[number].MaxQueue();
    found->push_back(std::move(stream));
  }
}

}  // namespace lanescope::traces
