#include "traces/run_profile.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "traces/intervals.h"
#include "traces/operation_sums.h"

namespace lanescope {
namespace {

// When at least two of the items that compete for one thing ran.
class Contended {
 public:
  void Add(int64_t start, int64_t end) {
    edges_.emplace_back(start, 1);
    edges_.emplace_back(end, -1);
  }
  void Finish() {
    std::sort(edges_.begin(), edges_.end());
    int running = 0;
    for (size_t i = 0; i < edges_.size(); ++i) {
      const int before = running;
      running += edges_[i].second;
      if (before < 2 && running >= 2) intervals_.push_back({edges_[i].first, edges_[i].first});
      if (before >= 2 && running < 2) intervals_.back().end = edges_[i].first;
    }
    edges_.clear();
  }
  int64_t Within(int64_t start, int64_t end) const { return TotalLength(ClipTo(intervals_, {start, end})); }

 private:
  std::vector<std::pair<int64_t, int>> edges_;
  std::vector<Interval> intervals_;
};

class Profiler {
 public:
  explicit Profiler(const TraceRun& run) : run_(run), finder_(run) {
    profile_.info = run.info;
    profile_.by_node = !run.nodes.empty();
    profile_.texts = run.texts;
    profile_.devices = run.devices;
    profile_.all_steps = static_cast<int64_t>(finder_.steps().size());
  }

  RunProfile Profile(int step) {
    const std::vector<size_t> chosen = ChooseSteps(step);
    for (const size_t number : chosen) AddStep(finder_.steps()[number], finder_.Find(number));
    const auto count = static_cast<double>(chosen.size());
    profile_.steps = static_cast<int64_t>(chosen.size());
    profile_.step_ns /= count;
    profile_.end_wait_ns /= count;
    for (OpProfile& op : profile_.ops) {
      for (OpInstance& instance : op.instances) {
        const auto seen = static_cast<double>(std::max<int64_t>(1, instance.seen));
        for (double* mean : {&instance.ns, &instance.path_ns, &instance.shared_ns, &instance.wait_ns}) {
          *mean /= seen;
        }
      }
    }
    return std::move(profile_);
  }

 private:
  std::vector<size_t> ChooseSteps(int step) const {
    const std::vector<TraceStep>& steps = finder_.steps();
    if (steps.empty()) {
      Throw(Code::kFailedPrecondition, "run {} has no activity to compare", run_.info.id);
    }
    std::vector<size_t> chosen;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (step < 0 || steps[i].step == step) chosen.push_back(i);
    }
    if (chosen.empty()) {
      Throw(Code::kNotFound, "run {} has no step {}; it has {} to {}", run_.info.id, step, steps.front().step,
            steps.back().step);
    }
    const auto length = [&](size_t i) { return steps[i].end_ns - steps[i].start_ns; };
    std::stable_sort(chosen.begin(), chosen.end(), [&](size_t a, size_t b) { return length(a) < length(b); });
    const size_t quarter = chosen.size() / 4;
    return {chosen.begin() + static_cast<std::ptrdiff_t>(quarter),
            chosen.end() - static_cast<std::ptrdiff_t>(quarter)};
  }

  // What an item competes for: a device, or (-1) all copies, or everything.
  int ResourceOf(const WorkItem& item) const {
    if (run_.info.emulated) return 0;
    if (item.kind == WorkKind::kCopy) return -1;
    return run_.launches[static_cast<size_t>(item.index)].device;
  }

  struct Key {
    WorkKind kind;
    int name, src, dst;
    auto operator<=>(const Key&) const = default;
  };
  Key KeyOf(const WorkItem& item) const {
    if (item.kind != WorkKind::kCopy) {
      const TraceLaunch& launch = run_.launches[static_cast<size_t>(item.index)];
      return {item.kind, launch.name, launch.device * (profile_.by_node ? 0 : 1), 0};
    }
    const TraceCopy& copy = run_.copies[static_cast<size_t>(item.index)];
    return {item.kind, copy.node >= 0 ? copy.node : -1 - copy.kind, copy.src, copy.dst};
  }
  std::string NameOf(const Key& key) const {
    if (key.kind != WorkKind::kCopy) return key.name < 0 ? "no name" : run_.Text(key.name);
    const std::string ends = run_.DeviceLabel(key.src) + " -> " + run_.DeviceLabel(key.dst);
    if (key.name < 0) return NvprofCopyName(-1 - key.name) + " " + ends;
    for (const TraceNode& node : run_.nodes) {
      if (node.id == key.name) return node.name + " " + ends;
    }
    return fmt::format("node {} {}", key.name, ends);
  }
  size_t OpOf(const WorkItem& item) {
    const Key key = KeyOf(item);
    const auto [entry, is_new] = numbers_.try_emplace(key, profile_.ops.size());
    if (is_new) {
      profile_.ops.push_back({key.kind, NameOf(key), {}});
      occurrence_.push_back(0);
    }
    return entry->second;
  }

  void AddStep(const TraceStep& step, const StepPath& path) {
    profile_.step_ns += static_cast<double>(step.end_ns - step.start_ns);
    std::map<int, Contended> contended;
    for (const WorkItem& item : path.items) contended[ResourceOf(item)].Add(item.start_ns, item.end_ns);
    for (auto& [resource, set] : contended) set.Finish();
    std::fill(occurrence_.begin(), occurrence_.end(), size_t{0});
    std::vector<std::pair<size_t, size_t>> places;  // (op, instance) by item
    for (const WorkItem& item : path.items) {
      const size_t op = OpOf(item);
      const size_t occurrence = occurrence_[op]++;
      places.emplace_back(op, occurrence);
      auto& instances = profile_.ops[op].instances;
      if (occurrence == instances.size()) instances.push_back(Describe(item));
      OpInstance& instance = instances[occurrence];
      ++instance.seen;
      instance.ns += static_cast<double>(item.end_ns - item.start_ns);
      instance.shared_ns +=
          static_cast<double>(contended[ResourceOf(item)].Within(item.start_ns, item.end_ns));
    }
    for (const PathSegment& segment : path.segments) {
      const auto ns = static_cast<double>(segment.end_ns - segment.start_ns);
      if (segment.item < 0) {
        profile_.end_wait_ns += ns;
        continue;
      }
      const auto [op, occurrence] = places[static_cast<size_t>(segment.item)];
      OpInstance& instance = profile_.ops[op].instances[occurrence];
      (segment.waiting ? instance.wait_ns : instance.path_ns) += ns;
    }
  }

  OpInstance Describe(const WorkItem& item) const {
    OpInstance instance;
    const auto describe = [&](const auto& activity) {
      instance.device = activity.device;
      instance.signature = activity.signature;
      if (activity.range >= 0) instance.range = run_.ranges[static_cast<size_t>(activity.range)].text;
    };
    if (item.kind == WorkKind::kCopy) {
      describe(run_.copies[static_cast<size_t>(item.index)]);
    } else {
      describe(run_.launches[static_cast<size_t>(item.index)]);
    }
    return instance;
  }

  const TraceRun& run_;
  StepPathFinder finder_;
  RunProfile profile_;
  std::map<Key, size_t> numbers_;
  std::vector<size_t> occurrence_;
};

}  // namespace

RunProfile ProfileRun(const TraceRun& run, int step) { return Profiler(run).Profile(step); }

}  // namespace lanescope
