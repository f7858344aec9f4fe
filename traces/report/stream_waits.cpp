#include "traces/report/stream_waits.h"

#include <algorithm>
#include <map>

#include "traces/store/saturating.h"

namespace lanescope::traces {
namespace {

constexpr int64_t kKernelGapNs = 30'000;  // as HolisticTraceAnalysis has it: 30 of a trace's microseconds
constexpr int64_t kTimeDigitNs = 2'000;   // times of some traces are whole microseconds

// When operations of a device ended.
class Ends {
 public:
  explicit Ends(const std::vector<WaitingOperation>& operations) {
    for (const WaitingOperation& operation : operations) ends_.emplace_back(operation.end_ns, &operation);
    std::ranges::sort(ends_, {}, [](const auto& end) { return end.first; });
  }
  // What on another stream ended last before the operation began, after its own stream had been idle since
  // `idle_ns`, and so shortly that it is what the operation waited for; null: nothing.
  const WaitingOperation* Before(const WaitingOperation& operation, int64_t idle_ns) const {
    auto end = std::ranges::upper_bound(ends_, operation.start_ns + kTimeDigitNs, {},
                                        [](const auto& entry) { return entry.first; });
    const int64_t earliest = std::max(idle_ns, operation.start_ns - kHandOverNs);
    while (end != ends_.begin() && (end - 1)->first > earliest) {
      --end;
      if (end->second->stream != operation.stream) return end->second;
    }
    return nullptr;
  }

 private:
  std::vector<std::pair<int64_t, const WaitingOperation*>> ends_;
};

}  // namespace

void FindStreamWaits(const TraceRun& run, int device, const std::vector<WaitingOperation>& operations,
                     std::vector<StreamWaits>* found) {
  const Ends ends(operations);
  std::map<int, StreamWaits> streams;
  std::map<int, int64_t> busy_until;
  std::map<int, std::vector<std::pair<int64_t, int>>> changes;  // of the queue
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
    changes[operation.stream].emplace_back(call->start_ns, 1);
    changes[operation.stream].emplace_back(operation.start_ns, -1);
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
    std::ranges::sort(changes[number]);
    int64_t length = 0;
    for (const auto& [time, change] : changes[number]) {
      length += change;
      stream.max_queue = std::max(stream.max_queue, length);
    }
    found->push_back(std::move(stream));
  }
}

}  // namespace lanescope::traces
