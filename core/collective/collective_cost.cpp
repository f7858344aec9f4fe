#include "core/collective/collective_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <set>

#include "core/base/error.h"
#include "core/machine/copy_time.h"

namespace lanescope {
namespace {

using Engine = CollectiveCost::Engine;
using EngineKind = CollectiveCost::EngineKind;
using Step = CollectiveCost::Step;

constexpr double kLongestNs = 0x1p60;
constexpr double kNever = std::numeric_limits<double>::infinity();
// Less than this many bytes, or than this share of the time, is an error of rounding.
constexpr double kNoBytes = 1e-3, kNoTime = 1e-12;
// No device holds more, and the tensors of all fit one number.
constexpr int64_t kMostBytes = int64_t{1} << 46;

// Copies within a task wait in an engine of the GPU that they leave, else of the one that they reach; those
// between tasks in none.
std::optional<Engine> EngineOf(const Machine& machine, const MachineTasks& tasks, DeviceId from,
                               DeviceId to) {
  if (!tasks.SameTask(from, to)) return std::nullopt;
  const bool leaves = machine.device(from).is_gpu();
  const DeviceId gpu = leaves ? from : to;
  const bool out = leaves && machine.device(gpu).copy_engines > 1;
  return Engine{gpu, out ? EngineKind::kCopyOut : EngineKind::kCopyIn};
}

// Plays the steps through.
class Course {
 public:
  Course(const Machine& machine, const std::vector<Step>& steps)
      : machine_(machine),
        steps_(steps),
        next_(steps.size()),
        missing_(steps.size()),
        passing_(static_cast<size_t>(machine.num_resources())) {
    for (size_t s = 0; s < steps.size(); ++s) {
      missing_[s] = steps[s].after.size();
      for (const size_t before : steps[s].after) next_[before].push_back(s);
    }
  }

  double Run() {
    for (size_t s = 0; s < steps_.size(); ++s) {
      if (missing_[s] == 0) MakeReady(s);
    }
    while (!waits_.empty() || !flows_.empty()) {
      ShareOut();
      MoveTo(std::min(waits_.empty() ? kNever : waits_.top().first, FirstEnd()));
    }
    return now_ns_;
  }

 private:
  struct Flow {
    size_t step;
    double left;  // bytes
    double rate = 0;
  };
  using Wait = std::pair<double, size_t>;  // until when, and which step

  void MakeReady(size_t step) {
    const auto& engine = steps_[step].engine;
    if (engine && !busy_.insert(*engine).second) {
      queues_[*engine].insert(step);
      return;
    }
    waits_.emplace(now_ns_ + steps_[step].ns, step);
  }

  // The first of those that wait for its engine is next.
  void End(size_t step) {
    if (const auto& engine = steps_[step].engine) {
      busy_.erase(*engine);
      std::set<size_t>& queue = queues_[*engine];
      if (!queue.empty()) MakeReady(queue.extract(queue.begin()).value());
    }
    for (const size_t next : next_[step]) {
      if (--missing_[next] == 0) MakeReady(next);
    }
  }

  // Each has as much as the fullest on its way gives every one that passes it.
  void ShareOut() {
    for (const Flow& flow : flows_) {
      for (const int resource : steps_[flow.step].route->resources) ++passing_[static_cast<size_t>(resource)];
    }
    for (Flow& flow : flows_) {
      flow.rate = steps_[flow.step].limit;
      for (const int resource : steps_[flow.step].route->resources) {
        const double bandwidth = machine_.ResourceBandwidth(resource);
        if (bandwidth > 0)
          flow.rate = std::min(flow.rate, bandwidth * 1e-9 / passing_[static_cast<size_t>(resource)]);
      }
    }
    for (const Flow& flow : flows_) {
      for (const int resource : steps_[flow.step].route->resources)
        passing_[static_cast<size_t>(resource)] = 0;
    }
  }

  double FirstEnd() const {
    double first = kNever;
    for (const Flow& flow : flows_) first = std::min(first, now_ns_ + flow.left / flow.rate);
    return first;
  }

  void MoveTo(double ns) {
    for (Flow& flow : flows_) flow.left -= flow.rate * (ns - now_ns_);
    now_ns_ = ns;
    std::vector<size_t> ended;
    std::erase_if(flows_, [&](const Flow& flow) {
      const bool is_through = flow.left <= std::max(kNoBytes, flow.rate * ns * kNoTime);
      if (is_through) ended.push_back(flow.step);
      return is_through;
    });
    for (; !waits_.empty() && waits_.top().first <= ns; waits_.pop()) {
      const size_t step = waits_.top().second;
      if (steps_[step].bytes > kNoBytes) {
        flows_.push_back({step, steps_[step].bytes});
      } else {
        ended.push_back(step);
      }
    }
    for (const size_t step : ended) End(step);
  }

  const Machine& machine_;
  const std::vector<Step>& steps_;
  std::vector<std::vector<size_t>> next_;  // by step: those after it
  std::vector<size_t> missing_;            // by step: of those before it
  std::vector<int> passing_;               // by resource; of ShareOut, kept only to save allocation
  double now_ns_ = 0;
  std::priority_queue<Wait, std::vector<Wait>, std::greater<>> waits_;
  std::vector<Flow> flows_;
  std::set<Engine> busy_;
  std::map<Engine, std::set<size_t>> queues_;
};

}  // namespace

CollectiveCost::CollectiveCost(const Machine& machine, const MachineTasks& tasks,
                               std::vector<DeviceId> devices, bool mean)
    : machine_(machine), tasks_(tasks), devices_(std::move(devices)), mean_(mean) {}

int64_t CollectiveCost::Ns() const {
  return std::llround(std::min(Course(machine_, steps_).Run(), kLongestNs));
}

Endpoint CollectiveCost::NewTensor(const Place& place, int64_t bytes) {
  tensors_.push_back({bytes, {place}});
  return {NodeId(tensors_.size() - 1), 0};
}

// Measured faster than its links it is as though it had fewer bytes, measured slower it is limited.
CollectiveCost::Step CollectiveCost::MessageOf(DeviceId from, DeviceId to, int64_t bytes) {
  auto found = routes_.find({from, to});
  if (found == routes_.end())
    found = routes_.emplace(std::pair{from, to}, machine_.RouteBetween(from, to)).first;
  const Route& route = found->second;
  Step message;
  message.route = &route;
  message.engine = EngineOf(machine_, tasks_, from, to);
  const int64_t alone_ns = CopyNs(machine_, route, bytes);
  message.ns = static_cast<double>(std::min(route.latency_ns, alone_ns));
  const double moving_ns = static_cast<double>(alone_ns) - message.ns;
  const double bandwidth = (route.bandwidth > 0 ? route.bandwidth : kAssumedBandwidth) * 1e-9;
  message.bytes = std::min(static_cast<double>(bytes), moving_ns * bandwidth);
  message.limit = std::min(bandwidth, message.bytes / std::max(moving_ns, 1e-9));
  if (message.bytes <= kNoBytes) message.ns = static_cast<double>(alone_ns);
  return message;
}

// As the compiler copies it: once to each memory.
CollectiveCost::Place CollectiveCost::Bring(Endpoint tensor, DeviceId to) {
  const std::vector<Place>& places = TensorOf(tensor).places;
  const auto there = std::ranges::find(places, to, &Place::device);
  if (there != places.end()) return *there;
  const Place from = Bring(tensor, StopBefore(machine_, tasks_, places.front().device, to));
  steps_.push_back(MessageOf(from.device, to, TensorOf(tensor).bytes));
  if (from.step) steps_.back().after.push_back(*from.step);
  TensorOf(tensor).places.push_back({to, steps_.size() - 1});
  return TensorOf(tensor).places.back();
}

int64_t CollectiveCost::BytesOf(const std::vector<Endpoint>& tensors) {
  int64_t bytes = 0;
  for (const Endpoint tensor : tensors) bytes += TensorOf(tensor).bytes;
  return bytes;
}

// What it does is bound by memory.
CollectiveCost::Place CollectiveCost::Launch(size_t device, const std::vector<Endpoint>& inputs,
                                             int64_t written) {
  const DeviceSpec& spec = machine_.device(devices_[device]);
  const double rate = spec.memory_bandwidth > 0 ? spec.memory_bandwidth : kAssumedBandwidth;
  Step work;
  work.engine = Engine{devices_[device], EngineKind::kCompute};
  work.ns = static_cast<double>(spec.launch_ns) + static_cast<double>(BytesOf(inputs) + written) * 1e9 / rate;
  for (const Endpoint input : inputs) {
    const Place place = Bring(input, devices_[device]);
    if (place.step) work.after.push_back(*place.step);
  }
  steps_.push_back(std::move(work));
  return {devices_[device], steps_.size() - 1};
}

Endpoint CollectiveCost::Begin(size_t device, int64_t bytes) {
  return NewTensor({devices_[device]}, std::min(bytes, kMostBytes));
}

Endpoint CollectiveCost::Combine(size_t device, Endpoint a, Endpoint b) { return CombineAll(device, {a, b}); }

Endpoint CollectiveCost::CombineAll(size_t device, const std::vector<Endpoint>& tensors) {
  const int64_t bytes = TensorOf(tensors[0]).bytes;
  return NewTensor(Launch(device, tensors, bytes), bytes);
}

Endpoint CollectiveCost::Send(size_t device, Endpoint tensor) {
  const Place place = Bring(tensor, devices_[device]);
  return NewTensor(place, TensorOf(tensor).bytes);
}

Endpoint CollectiveCost::Finish(size_t device, Endpoint whole) {
  return mean_ ? CombineAll(device, {whole}) : whole;
}

std::vector<Endpoint> CollectiveCost::Cut(size_t device, Endpoint tensor, const std::vector<int64_t>& bytes) {
  const Place place = Launch(device, {tensor}, TensorOf(tensor).bytes);
  std::vector<Endpoint> parts;
  for (const int64_t of_part : bytes) parts.push_back(NewTensor(place, of_part));
  return parts;
}

std::vector<Endpoint> CollectiveCost::Split(size_t device, Endpoint tensor,
                                            const std::vector<int64_t>& sizes) {
  const int64_t elements = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  const int64_t element_bytes = TensorOf(tensor).bytes / std::max<int64_t>(1, elements);
  std::vector<int64_t> bytes;
  for (const int64_t size : sizes) bytes.push_back(size * element_bytes);
  return Cut(device, tensor, bytes);
}

Endpoint CollectiveCost::Join(size_t device, const std::vector<Endpoint>& parts) {
  const int64_t bytes = BytesOf(parts);
  return NewTensor(Launch(device, parts, bytes), bytes);
}

std::vector<Endpoint> CollectiveCost::SplitRows(size_t device, Endpoint tensor, size_t parts) {
  const int64_t bytes = TensorOf(tensor).bytes / static_cast<int64_t>(parts);
  return Cut(device, tensor, std::vector<int64_t>(parts, bytes));
}

Endpoint CollectiveCost::JoinRows(size_t device, const std::vector<Endpoint>& parts) {
  return Join(device, parts);
}

}  // namespace lanescope
