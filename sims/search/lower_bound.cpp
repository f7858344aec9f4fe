// SPDX-License-Identifier: Apache-2.0
#include "sims/search/lower_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/stop_point.h"
#include "core/machine/device_queues.h"
#include "core/place/colocation_rules.h"
#include "core/place/kernel_table.h"
#include "core/place/placer.h"
#include "core/schedule/fusion.h"
#include "core/strategies/task_graph.h"
#include "sims/engine/delays.h"
#include "sims/search/min_cut.h"

namespace lanescope::sims {
namespace {

constexpr int kWorkRounds = 200;
constexpr int kCutRounds = 40;
constexpr size_t kMostCutNodes = 20'000;  // larger graphs do without the cut: it takes seconds there
constexpr size_t kMostDevices = 64;       // more are bounded without copies: routes are asked for by pairs
// Sums of doubles, and the remains that MinCut leaves out, are below this share.
constexpr double kRounding = 1e-6;

template <typename Number>
size_t At(Number number) {
  return IndexOf(number);
}
int64_t Floor(double ns) { return static_cast<int64_t>(std::max(0.0, std::floor(ns * (1 - kRounding)))); }

// Tasks that share references or resources: no rule ever parts them. (Groups by `loc:@` may be parted.)
class StateGroups {
 public:
  StateGroups(const StrategyInput& input, const TaskGraph& tasks) : parent_(input.graph.num_nodes()) {
    std::ranges::copy(input.graph.node_ids(), parent_.begin());
    const OpRegistry& registry =
        input.placer.registry == nullptr ? OpRegistry::Global() : *input.placer.registry;
    ForEachSharedStateEdge(input.graph, input.graph.TopologicalOrder(), registry,
                           [&](NodeId src, NodeId dst) { parent_[Root(src)] = Root(dst); });
    const KernelTable& kernels =
        input.placer.kernels == nullptr ? KernelTable::Global() : *input.placer.kernels;
    IdVector<NodeId, int> number(parent_.size(), -1);
    for (const GraphTask& task : tasks.tasks()) Number(task.node, &number);
    for (const TaskGroup& group : tasks.groups()) {
      if (group.persistent_bytes > 0) Number(group.number, &number);
    }
    devices_.resize(At(count_));
    std::vector<bool> seen(At(count_), false);
    for (const NodeId id : input.graph.node_ids()) {
      const int group = number[Root(id)];
      if (group < 0) continue;
      StopPoint();
      const std::vector<DeviceId> feasible = FeasibleDevices(input.graph.node(id), input.machine, kernels);
      if (!seen[At(group)]) {
        devices_[At(group)] = feasible;
      } else {
        std::erase_if(devices_[At(group)], [&](DeviceId device) {
          return std::find(feasible.begin(), feasible.end(), device) == feasible.end();
        });
      }
      seen[At(group)] = true;
    }
    for (const GraphTask& task : tasks.tasks()) of_task_.push_back(number[Root(task.node)]);
    for (auto& devices : devices_) {
      if (!devices.empty()) continue;
      for (const DeviceId d : tasks.machine().devices.ids()) devices.push_back(d);
    }
  }

  int count() const { return count_; }
  int of_task(int task) const { return of_task_[At(task)]; }
  const std::vector<DeviceId>& devices(int group) const { return devices_[At(group)]; }

 private:
  NodeId Root(NodeId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void Number(NodeId node, IdVector<NodeId, int>* number) {
    int& mine = (*number)[Root(node)];
    if (mine < 0) mine = count_++;
  }

  IdVector<NodeId, NodeId> parent_;
  int count_ = 0;
  std::vector<std::vector<DeviceId>> devices_;
  std::vector<int> of_task_;
};

class BoundFinder {
 public:
  BoundFinder(const StrategyInput& input, const TaskGraph& tasks)
      : tasks_(tasks),
        machine_(input.machine),
        copies_(tasks),
        groups_(input, tasks),
        devices_(At(tasks.num_devices())) {
    const bool fuse = input.step != nullptr && input.step->fuse;
    for (const GraphTask& task : tasks.tasks())
      may_share_.push_back(fuse && FusionRoleOf(input.graph.node(task.node)) != FusionRole::kNone);
    work_.assign(At(groups_.count()) * devices_, 0);
    for (int id = 0; id < tasks.num_tasks(); ++id) {
      for (const DeviceId d : tasks.machine().devices.ids()) Work(groups_.of_task(id), d) += ServerNs(id, d);
    }
  }

  int64_t Path() const {
    std::vector<int64_t> end(At(tasks_.num_tasks()) * devices_, kNowhere);
    const auto soonest = [&](int task) {
      return *std::min_element(end.begin() + static_cast<ptrdiff_t>(At(task) * devices_),
                               end.begin() + static_cast<ptrdiff_t>((At(task) + 1) * devices_));
    };
    std::vector<int64_t> arrival(tasks_.tensors().size() * devices_, kNowhere);
    int64_t longest = 0;
    for (int id = 0; id < tasks_.num_tasks(); ++id) {
      StopPoint();
      const GraphTask& task = tasks_.task(id);
      int64_t after = 0;
      // Before an update come also readers of the old value, and these not in every placement.
      for (const int before : task.after) after = task.updates ? after : std::max(after, soonest(before));
      for (const DeviceId device : groups_.devices(groups_.of_task(id))) {
        int64_t ready = after;
        for (const TaskRead& read : task.reads)
          ready = std::max(ready, Arrival(read.tensor, tasks_.PlaceOf(read, device), end, &arrival));
        end[At(id) * devices_ + At(device)] = ready + LeastNs(id, device);
      }
      longest = std::max(longest, soonest(id));
    }
    for (size_t t = 0; t < tasks_.tensors().size(); ++t) {
      if (tasks_.tensors()[t].fetch >= 0)
        longest = std::max(longest, Arrival(static_cast<int>(t), tasks_.host(), end, &arrival));
    }
    return longest;
  }

  int64_t LargestGroup() const {
    double largest = 0;
    for (int g = 0; g < groups_.count(); ++g) {
      double fastest = Work(g, groups_.devices(g)[0]);
      for (const DeviceId device : groups_.devices(g)) fastest = std::min(fastest, Work(g, device));
      largest = std::max(largest, fastest);
    }
    return Floor(largest);
  }

  // The dual of: minimise T so that every group is shared out over its devices and no device works longer
  // than T. Any weights of the devices give a bound; these follow the loads (a subgradient).
  int64_t AllWork() const {
    std::vector<double> weight(devices_, 0);
    double best = 0;
    for (int start = 0; start < 2; ++start) {
      for (size_t d = 0; d < devices_; ++d)
        weight[d] = start == 0 || machine_.device(DeviceId(d)).is_gpu() ? 1 : 0;
      for (int round = 0; round < kWorkRounds; ++round) {
        StopPoint();
        const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
        if (sum <= 0) break;
        for (double& w : weight) w /= sum;
        std::vector<double> load(devices_, 0);
        best = std::max(best, Weigh(weight, &load));
        const double most = *std::max_element(load.begin(), load.end());
        if (most <= 0) break;
        for (size_t d = 0; d < devices_; ++d) weight[d] *= Step(load[d] / most, round);
      }
    }
    return Floor(best);
  }

  // min over placements of (a host's work + b GPUs' work + c copies in + d copies out), a + b + c + d = 1,
  // each of them divided by how many do it at once: a minimum cut between host and GPUs.
  int64_t Cut() const {
    const std::vector<DeviceId> gpus = machine_.Gpus();
    // With a second CPU there are two sources of copies.
    if (gpus.empty() || At(static_cast<int>(gpus.size())) + 1 != devices_ ||
        At(groups_.count()) + 2 * tasks_.tensors().size() > kMostCutNodes)
      return 0;
    std::array<double, 4> weight{0.25, 0.25, 0.25, 0.25};
    double best = 0;
    for (int round = 0; round < kCutRounds; ++round) {
      std::array<double, 4> load{};
      best = std::max(best, SolveCut(gpus, weight, &load));
      const double most = *std::max_element(load.begin(), load.end());
      if (most <= 0) break;
      double sum = 0;
      for (size_t k = 0; k < weight.size(); ++k)
        sum += weight[k] = std::max(1e-6, weight[k] * Step(load[k] / most, round));
      for (double& w : weight) w /= sum;
    }
    return Floor(best);
  }

  bool Fits() const {
    double state = 0, room = 0;
    for (const TaskGroup& group : tasks_.groups()) state += static_cast<double>(group.persistent_bytes);
    for (const DeviceSpec& device : machine_.devices) {
      if (device.memory_bytes <= 0) return true;
      room += static_cast<double>(device.memory_bytes);
    }
    return state <= room;
  }

 private:
  static constexpr int64_t kNowhere = int64_t{1} << 61;

  // By how much a weight grows: towards where the load is, more carefully with every round.
  static double Step(double share_of_largest, int round) {
    return std::exp((share_of_largest - 0.5) / (1 + 0.2 * round));
  }

  double& Work(int group, DeviceId device) { return work_[At(group) * devices_ + At(device)]; }
  double Work(int group, DeviceId device) const { return work_[At(group) * devices_ + At(device)]; }
  // A node in a launch that others share takes what depends on these, and may have been measured to be
  // anything: nothing is certain.
  int64_t LeastNs(int task, DeviceId device) const {
    return tasks_.task(task).moves_only || may_share_[At(task)] ? 0 : tasks_.LaunchNs(task, device);
  }
  // How long a launch keeps its device, whose workers others may share meanwhile.
  double ServerNs(int task, DeviceId device) const {
    const DeviceSpec& spec = machine_.device(device);
    const int servers = spec.in_order ? 1 : LaunchWorkers(spec);
    const int busy = std::min(servers, tasks_.Workers(task, device));
    return static_cast<double>(LeastNs(task, device)) * busy / servers;
  }

  // When a tensor can be in the memory of `place` at best.
  int64_t Arrival(int number, DeviceId place, const std::vector<int64_t>& end,
                  std::vector<int64_t>* known) const {
    int64_t& arrival = (*known)[At(number) * devices_ + At(place)];
    if (arrival < kNowhere) return arrival;
    const TaskTensor& tensor = tasks_.tensor(number);
    if (tensor.producer < 0) {
      const bool is_fed = tensor.group < 0 && place != tasks_.host();
      return arrival = is_fed ? copies_.Ns(tasks_.host(), place, tensor.bytes) : 0;
    }
    for (size_t d = 0; d < devices_; ++d) {
      const int64_t made = end[At(tensor.producer) * devices_ + d];
      if (made >= kNowhere) continue;
      const DeviceId home = tasks_.PlaceOf(tensor, DeviceId(d));
      const bool here = home == place || devices_ > kMostDevices;
      const int64_t moved = here ? made : made + copies_.Ns(home, place, tensor.bytes);
      arrival = std::min(arrival, moved);
    }
    return arrival;
  }

  // Every group where it weighs least, in equal parts where several weigh the same.
  double Weigh(const std::vector<double>& weight, std::vector<double>* load) const {
    double sum = 0;
    for (int g = 0; g < groups_.count(); ++g) {
      double least = INFINITY;
      for (const DeviceId d : groups_.devices(g)) least = std::min(least, weight[At(d)] * Work(g, d));
      sum += least;
      std::vector<DeviceId> equal;
      for (const DeviceId d : groups_.devices(g)) {
        if (weight[At(d)] * Work(g, d) <= least * (1 + 1e-9)) equal.push_back(d);
      }
      for (const DeviceId d : equal) (*load)[At(d)] += Work(g, d) / static_cast<double>(equal.size());
    }
    return sum;
  }

  // How long `bytes` take between the host and the nearest GPU, one way.
  double FastestCopy(const std::vector<DeviceId>& gpus, int64_t bytes, bool in) const {
    int64_t fastest = kNowhere;
    for (const DeviceId gpu : gpus) {
      fastest = std::min(fastest,
                         in ? copies_.Ns(tasks_.host(), gpu, bytes) : copies_.Ns(gpu, tasks_.host(), bytes));
    }
    return static_cast<double>(fastest);
  }

  // Two times of one thing: a group's work on the host and on GPUs, a tensor's copy in and out.
  using Both = std::pair<double, double>;

  // The network of the cut: the source is the host's side, node 1 the GPUs'. A node for each group follows,
  // then two for each tensor: whether it is copied to a GPU, and whether it is copied to the host.
  static int GroupNode(int group) { return 2 + group; }
  int CopyIn(int tensor) const { return GroupNode(groups_.count()) + 2 * tensor; }
  int CopyOut(int tensor) const { return CopyIn(tensor) + 1; }
  static bool IsState(const TaskTensor& tensor) { return tensor.producer < 0 && tensor.group >= 0; }
  static bool IsOfHost(const TaskTensor& tensor) { return tensor.producer < 0 || tensor.on_host; }

  // Adds what each group costs on either side. Gives their times.
  std::vector<Both> CutGroups(const std::vector<DeviceId>& gpus, const std::array<double, 4>& weight,
                              MinCut* cut) const {
    std::vector<Both> times(At(groups_.count()));
    for (int g = 0; g < groups_.count(); ++g) {
      double host = MinCut::kInfinite, gpu = MinCut::kInfinite;
      for (const DeviceId d : groups_.devices(g)) {
        const bool is_gpu = machine_.device(d).is_gpu();
        double& kind = is_gpu ? gpu : host;
        kind = std::min(kind, is_gpu ? Work(g, d) / static_cast<double>(gpus.size()) : Work(g, d));
      }
      times[At(g)] = {host, gpu};
      if (host > 0) cut->AddEdge(GroupNode(g), 1, host == MinCut::kInfinite ? host : weight[0] * host);
      if (gpu > 0) cut->AddEdge(0, GroupNode(g), gpu == MinCut::kInfinite ? gpu : weight[1] * gpu);
    }
    return times;
  }

  // Adds what copies of each tensor cost. Gives their times; state may be where it is read, and costs none.
  std::vector<Both> CutTensors(const std::vector<DeviceId>& gpus, const std::array<double, 4>& weight,
                               MinCut* cut) const {
    const double many = static_cast<double>(gpus.size());
    std::vector<Both> times(tasks_.tensors().size());
    for (int t = 0; t < static_cast<int>(times.size()); ++t) {
      const TaskTensor& tensor = tasks_.tensor(t);
      if (IsState(tensor)) continue;
      times[At(t)] = {FastestCopy(gpus, tensor.bytes, true) / many,
                      FastestCopy(gpus, tensor.bytes, false) / many};
      const int maker = IsOfHost(tensor) ? 0 : GroupNode(groups_.of_task(tensor.producer));
      cut->AddEdge(maker, CopyIn(t), weight[2] * times[At(t)].first);
      if (IsOfHost(tensor)) continue;
      cut->AddEdge(CopyOut(t), maker, weight[3] * times[At(t)].second);
      if (tensor.fetch >= 0) cut->AddEdge(0, CopyOut(t), MinCut::kInfinite);
    }
    return times;
  }

  // A reader of a tensor on the other side has it copied.
  void CutReads(MinCut* cut) const {
    for (int id = 0; id < tasks_.num_tasks(); ++id) {
      const int reader = GroupNode(groups_.of_task(id));
      for (const TaskRead& read : tasks_.task(id).reads) {
        const TaskTensor& tensor = tasks_.tensor(read.tensor);
        if (IsState(tensor)) continue;
        if (!read.on_host) cut->AddEdge(CopyIn(read.tensor), reader, MinCut::kInfinite);
        if (!IsOfHost(tensor))
          cut->AddEdge(read.on_host ? 0 : reader, CopyOut(read.tensor), MinCut::kInfinite);
      }
    }
  }

  // `load`: what the cut puts on each of the four: work of host and GPUs, copies in and out.
  double SolveCut(const std::vector<DeviceId>& gpus, const std::array<double, 4>& weight,
                  std::array<double, 4>* load) const {
    const int num_tensors = static_cast<int>(tasks_.tensors().size());
    MinCut cut(CopyIn(num_tensors));
    const std::vector<Both> work = CutGroups(gpus, weight, &cut), copies = CutTensors(gpus, weight, &cut);
    CutReads(&cut);
    const double value = cut.Solve();
    for (int g = 0; g < groups_.count(); ++g) {
      const bool on_host = cut.OnSourceSide(GroupNode(g));
      const double ns = on_host ? work[At(g)].first : work[At(g)].second;
      if (ns < MinCut::kInfinite) (*load)[on_host ? 0 : 1] += ns;
    }
    for (int t = 0; t < num_tensors; ++t) {
      const TaskTensor& tensor = tasks_.tensor(t);
      if (IsState(tensor)) continue;
      const bool made_on_host =
          IsOfHost(tensor) || cut.OnSourceSide(GroupNode(groups_.of_task(tensor.producer)));
      if (made_on_host && !cut.OnSourceSide(CopyIn(t))) (*load)[2] += copies[At(t)].first;
      if (!made_on_host && cut.OnSourceSide(CopyOut(t))) (*load)[3] += copies[At(t)].second;
    }
    return value == MinCut::kInfinite ? 0 : value;
  }

  const TaskGraph& tasks_;
  const Machine& machine_;
  mutable CopyTimes copies_;
  const StateGroups groups_;
  const size_t devices_;
  std::vector<bool> may_share_;  // by task: a launch
  std::vector<double> work_;     // by (state group, device)
};

}  // namespace

LowerBound FindLowerBound(const StrategyInput& input, const TaskGraph& tasks, const Delays& delays) {
  const BoundFinder finder(input, tasks);
  LowerBound bound;
  bound.path_ns = finder.Path();
  bound.group_ns = finder.LargestGroup();
  bound.work_ns = finder.AllWork();
  bound.cut_ns = finder.Cut();
  bound.fits = finder.Fits();
  bound.reason = "critical path";
  int64_t most = bound.path_ns;
  const auto consider = [&](int64_t ns, std::string_view reason) {
    if (ns <= most) return;
    most = ns;
    bound.reason = reason;
  };
  consider(bound.group_ns, "state");
  consider(bound.work_ns, "work");
  consider(bound.cut_ns, "links");
  bound.step_ns = most + delays.step_start_ns + delays.step_finish_ns;
  return bound;
}

}  // namespace lanescope::sims
