// SPDX-License-Identifier: Apache-2.0
// The simulator against a second, slow implementation that shares no code with it: time in long double, every
// rate recomputed from its definition at every event, queues searched from end to end.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sims/engine/interference.h"
#include "sims/engine/simulator.h"
#include "tests/sims/effects_of.h"
#include "tests/sims/random_schedule.h"

namespace lanescope::sims {
namespace {

using Real = long double;

class PlainSimulator {
 public:
  PlainSimulator(const Schedule& schedule, const Machine& machine, const IdVector<CommandId, int64_t>& ns,
                 const IdVector<CommandId, std::vector<CommandId>>& predecessors, const Delays& gaps,
                 const Interference* interference)
      : schedule_(schedule),
        machine_(machine),
        after_(predecessors),
        gaps_(gaps),
        interference_(interference) {
    items_.resize(ns.size());
    for (const CommandId c : ns.ids()) {
      items_[c].alone = ns[c];
      items_[c].ready = gaps_.step_start_ns;
      items_[c].pending = after_[c].size();
    }
    free_at_.assign(schedule.queues.size(), 0);
    previous_end_.assign(schedule.queues.size(), 0);
    running_.resize(schedule.queues.size());
    FindComputers();
  }

  // Ends of all commands.
  IdVector<CommandId, Real> Run() {
    now_ = gaps_.step_start_ns;
    while (true) {
      Dispatch();
      SetRates();
      const Real next = NextTime();
      if (next == kInfinity) break;
      Elapse(next);
    }
    IdVector<CommandId, Real> ends;
    for (const Item& item : items_) ends.Add(item.end);
    return ends;
  }

 private:
  static constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
  static constexpr Real kSame = 1e-3;  // ns; times closer than this are one instant
  struct Item {
    Real alone = 0, begin = 0, end = -1;
    Real remaining = 0, rate = 0;  // work in ns, or bytes
    bool dispatched = false;
    Real ready = 0;  // when the last of its dependencies that have ended has arrived
    size_t pending = 0;
    bool wakes = false;  // its driver, until it is ready
  };

  void FindComputers() {
    computers_.assign(machine_.devices.size(), nullptr);
    if (interference_ == nullptr) return;
    for (const DeviceId d : computers_.ids()) {
      const std::string own = fmt::format("/job:localhost/task:{}", machine_.device(d).parsed.task);
      for (const OtherComputer& computer : interference_->other_computers) {
        if (std::count(computer.tasks.begin(), computer.tasks.end(), own) > 0) computers_[d] = &computer;
      }
    }
  }

  const Command& command(CommandId c) const { return schedule_.commands[c]; }
  const Queue& queue_of(CommandId c) const { return schedule_.queues[command(c).queue]; }
  QueueClass ClassOf(CommandId c) const {
    return QueueClassOf(queue_of(c).kind, machine_.device(queue_of(c).device));
  }
  bool Flows(CommandId c) const {
    if (command(c).kind != CommandKind::kCopy || command(c).bytes == 0) return false;
    return items_[c].alone > RouteOf(c).latency_ns;
  }
  Route RouteOf(CommandId c) const {
    return machine_.RouteBetween(schedule_.CopySource(command(c)), schedule_.CopyDestination(command(c)));
  }

  Real ReadyTime(CommandId c) const { return items_[c].pending > 0 ? kInfinity : items_[c].ready; }

  const DeviceSpec& DeviceOf(CommandId c) const { return machine_.device(queue_of(c).device); }
  bool OnHost(CommandId c) const {
    return interference_ != nullptr &&
           (DeviceOf(c).kind == DeviceKind::kHost || DeviceOf(c).kind == DeviceKind::kVirtual);
  }
  const OtherComputer* ComputerOf(CommandId c) const { return computers_[queue_of(c).device]; }
  bool ShareCores(CommandId a, CommandId b) const {
    return OnHost(a) && OnHost(b) && ComputerOf(a) == ComputerOf(b);
  }
  int CoresFor(CommandId c) const {
    return ComputerOf(c) != nullptr ? ComputerOf(c)->cores : interference_->host.cores;
  }

  // The end of `p` arrives at what waits for it. Whoever sleeps is woken, which takes longer beside copies.
  void Release(CommandId p) {
    for (const CommandId c : items_.ids()) {
      const auto times = std::count(after_[c].begin(), after_[c].end(), p);
      if (times == 0) continue;
      Item& item = items_[c];
      const bool sleeps = command(p).queue != command(c).queue && !running_[command(c).queue].exists();
      Real handoff = command(p).queue != command(c).queue ? gaps_.handoff(ClassOf(p), ClassOf(c)) : 0;
      if (sleeps && OnHost(c) && CoresFor(c) > 0) {
        Real copies = 0;
        for (const CommandId x : items_.ids())
          copies +=
              Moving(x) && ShareCores(x, c) && items_[x].alone > 0 && ClassOf(x) != QueueClass::kCompute;
        handoff *= 1 + copies * interference_->host.copy_cores / CoresFor(c);
      }
      item.ready = std::max(item.ready, now_ + handoff);
      item.pending -= static_cast<size_t>(times);
      item.wakes = item.pending == 0 && sleeps && OnHost(c);
    }
  }

  void Dispatch() {
    for (const QueueId q : running_.ids()) {
      if (running_[q].exists()) continue;
      CommandId best;
      for (const CommandId c : items_.ids()) {
        if (items_[c].dispatched || command(c).queue != q) continue;
        const bool ready = ReadyTime(c) <= now_ + kSame;
        if (!ready && !schedule_.queues[q].in_order) continue;
        if (!best.exists() || command(c).rank < command(best).rank) best = c;
      }
      if (!best.exists() || ReadyTime(best) > now_ + kSame) continue;
      Item& item = items_[best];
      item.dispatched = true;
      item.begin = std::max(now_, free_at_[q]);
      running_[q] = best;
      item.remaining = item.alone;
      if (!Flows(best)) continue;
      const Route route = RouteOf(best);
      item.begin += route.latency_ns;
      const Real moving = item.alone - route.latency_ns;
      const Real bytes = static_cast<Real>(command(best).bytes);
      const Real alone = bytes / route.bandwidth * 1e9L;
      item.remaining = alone > moving + 1 ? moving * route.bandwidth / 1e9L : bytes;
    }
  }

  bool Moving(CommandId c) const {
    return items_[c].dispatched && items_[c].end < 0 && items_[c].begin <= now_ + kSame;
  }

  Real SlowdownOf(CommandId c) const {
    if (!OnHost(c)) return 1;
    const auto class_of = [&](CommandId x) { return ClassOf(x) != QueueClass::kCompute ? 2u : 1u; };
    const InterferenceMatrix& host = interference_->host;
    Real factor = 1, cores = 0, copies = 0;
    for (const CommandId x : items_.ids()) {
      if (!ShareCores(x, c)) continue;
      cores += items_[x].wakes && items_[x].ready > now_ + kSame;
      if (!Moving(x) || items_[x].alone == 0) continue;
      cores += class_of(x) == 2 ? host.copy_cores : DeviceOf(x).workers;
      copies += class_of(x) == 2 && class_of(c) != 2 ? host.copy_cores : 0;
      if (x != c) factor += host.slowdown[class_of(c)][class_of(x)] - 1;
    }
    const Real all = CoresFor(c);
    return all > 0 ? factor * std::max<Real>(1 + copies / all, cores / all) : factor;
  }

  void SetRates() {
    std::vector<CommandId> flows;
    for (const CommandId c : items_.ids()) {
      items_[c].rate = 0;
      if (!Moving(c)) continue;
      if (Flows(c)) {
        flows.push_back(c);
      } else {
        items_[c].rate = 1 / SlowdownOf(c);
      }
    }
    FillFlows(flows);
    for (const CommandId c : flows) items_[c].rate /= SlowdownOf(c);
  }

  Real LimitOf(CommandId c) const {
    const Route route = RouteOf(c);
    const Real moving = items_[c].alone - route.latency_ns;
    const Real bytes = static_cast<Real>(command(c).bytes);
    const bool limited = bytes / route.bandwidth * 1e9L < moving - 1;
    return limited ? bytes / moving : static_cast<Real>(route.bandwidth) / 1e9L;
  }

  // Progressive filling in small words: the smallest of all limits and equal shares is somebody's rate.
  void FillFlows(std::vector<CommandId> open) {
    std::vector<Real> left(static_cast<size_t>(machine_.num_resources()));
    for (size_t r = 0; r < left.size(); ++r) left[r] = machine_.ResourceBandwidth(static_cast<int>(r)) / 1e9L;
    while (!open.empty()) {
      size_t tightest = 0;
      Real smallest = kInfinity;
      for (size_t i = 0; i < open.size(); ++i) {
        Real share = LimitOf(open[i]);
        for (const int r : RouteOf(open[i]).resources) {
          int users = 0;
          for (const CommandId other : open) {
            const Route route = RouteOf(other);
            users += static_cast<int>(std::count(route.resources.begin(), route.resources.end(), r));
          }
          share = std::min(share, left[static_cast<size_t>(r)] / users);
        }
        if (share < smallest) {
          smallest = share;
          tightest = i;
        }
      }
      items_[open[tightest]].rate = smallest;
      for (const int r : RouteOf(open[tightest]).resources) left[static_cast<size_t>(r)] -= smallest;
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(tightest));
    }
  }

  Real NextTime() const {
    Real next = kInfinity;
    for (const CommandId c : items_.ids()) {
      const Item& item = items_[c];
      if (item.end >= 0) continue;
      if (!item.dispatched) {
        const Real ready = ReadyTime(c);
        if (ready > now_ + kSame) next = std::min(next, ready);
      } else {
        next = std::min(next, Moving(c) ? now_ + item.remaining / item.rate : item.begin);
      }
    }
    return next;
  }

  void Elapse(Real next) {
    for (Item& item : items_) {
      if (item.dispatched && item.end < 0) item.remaining -= item.rate * (next - now_);
    }
    now_ = next;
    for (const QueueId q : running_.ids()) {
      if (!running_[q].exists()) continue;
      Item& item = items_[running_[q]];
      if (item.begin > now_ + kSame || item.remaining > item.rate * kSame) continue;
      item.end = now_;
      const CommandId ended = running_[q];
      running_[q] = {};
      const Queue& queue = schedule_.queues[q];
      free_at_[q] = now_ + gaps_.gap(machine_.device(queue.device).kind,
                                     QueueClassOf(queue.kind, machine_.device(queue.device)));
      Release(ended);
    }
  }

  const Schedule& schedule_;
  const Machine& machine_;
  const IdVector<CommandId, std::vector<CommandId>>& after_;
  const Delays& gaps_;
  const Interference* interference_;
  IdVector<DeviceId, const OtherComputer*> computers_;  // null: the first one
  IdVector<CommandId, Item> items_;
  IdVector<QueueId, Real> free_at_, previous_end_;
  IdVector<QueueId, CommandId> running_;
  Real now_ = 0;
};

// Puts the devices of the star into three tasks, of which up to two are on other computers; they keep links
// of their own to each other.
void DrawComputers(Random* random, Machine* machine, Interference* interference) {
  const LinkSpec spoke = machine->links.front();
  const std::vector<DeviceId> gpus = machine->Gpus();
  for (size_t a = 0; a < gpus.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      LinkSpec& link = machine->links.emplace_back(spoke);
      link.a = gpus[a];
      link.b = gpus[b];
    }
  }
  for (DeviceSpec& device : machine->devices) device.parsed.task = random->below(3);
  const int others = random->below(3);
  for (int task = 1; task <= others; ++task)
    interference->other_computers.push_back(
        {{fmt::format("/job:localhost/task:{}", task)}, random->below(4), {}});
}

TEST(SimulatorReference, AgreesOnRandomSchedules) {
  Random random(3);
  for (int trial = 0; trial < 1500; ++trial) {
    Machine machine = StarMachine(1 + random.below(5), 1e9 * (1 + random.below(3)), random.below(3) * 700,
                                  random.below(2) == 0 ? 0 : 1.7e9);
    Delays gaps;
    if (random.below(2) == 0) {
      for (auto& classes : gaps.gap_ns) classes = {random.below(100'000), random.below(100'000)};
      for (auto& classes : gaps.handoff_ns) classes = {random.below(100'000), random.below(100'000)};
      gaps.step_start_ns = random.below(1000);
    }
    Interference interference;
    const bool interferes = random.below(2) == 0;
    if (interferes) {
      for (DeviceSpec& device : machine.devices) {
        if (random.below(3) > 0) device.kind = DeviceKind::kVirtual;
        device.workers = 1 + random.below(2);
      }
      interference.host.cores = random.below(4);
      interference.host.copy_cores = 0.25;
      for (auto& row : interference.host.slowdown) row = {1.0 + random.below(9) / 10.0, 1.1, 1.3};
      if (random.below(2) == 0) DrawComputers(&random, &machine, &interference);
    }
    ScheduleMaker maker = RandomSchedule(machine, 55, &random);
    const Schedule schedule = maker.Build();
    const Interference* given = interferes ? &interference : nullptr;
    const SimulationResult result = Simulate(schedule, machine, {maker.ns(), {}}, ModelOf(gaps, given));
    const IdVector<CommandId, Real> expected =
        PlainSimulator(schedule, machine, maker.ns(), maker.predecessors(), gaps, given).Run();
    for (const CommandId c : expected.ids()) {
      const auto end = static_cast<double>(expected[c]);
      ASSERT_NEAR(static_cast<double>(result.times[c].end_ns), end, 1.0 + 1e-8 * end)
          << "trial " << trial << ", command " << c.number();
    }
  }
}

}  // namespace
}  // namespace lanescope::sims
