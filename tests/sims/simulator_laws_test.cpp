// SPDX-License-Identifier: Apache-2.0
// Laws that every simulation keeps, with all effects at work at once, on schedules larger than the reference
// simulator can take.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "sims/engine/delays.h"
#include "sims/engine/simulation_model.h"
#include "sims/engine/simulator.h"
#include "tests/sims/random_schedule.h"

namespace lanescope::sims {
namespace {

// Times are rounded to whole ns at each end.
constexpr int64_t kRounding = 1;

// One simulated schedule and the questions that the laws ask of it.
class SimulatorLaws : public testing::Test {
 protected:
  void Simulate(Random* random, int most_commands) {
    machine_ = StarMachine(2 + random->below(4), 1e9 * (1 + random->below(3)), random->below(3) * 700,
                           random->below(2) == 0 ? 0 : 1.7e9);
    model_ = {};
    model_.share_links = random->below(4) > 0;
    DrawDelays(random);
    DrawInterference(random);
    ScheduleMaker maker = RandomSchedule(machine_, most_commands, random);
    schedule_ = maker.Build();
    before_ = maker.predecessors();
    costs_ = {.ns = maker.ns()};
    for (size_t c = 0; c < costs_.ns.size(); ++c) {
      costs_.classes.Add(random->below(2) == 0 ? WorkClass::kCompute : WorkClass::kMemory);
      costs_.cores.Add(1 + random->below(2));
    }
    result_ = sims::Simulate(schedule_, machine_, costs_, model_);
  }

  IdRange<CommandId> commands() const { return schedule_.commands.ids(); }
  const CommandTime& time(CommandId c) const { return result_.times[c]; }
  const Command& command(CommandId c) const { return schedule_.commands[c]; }
  const Queue& queue_of(CommandId c) const { return schedule_.queues[command(c).queue]; }
  DeviceKind kind_of(CommandId c) const { return machine_.device(queue_of(c).device).kind; }
  QueueClass class_of(CommandId c) const {
    return QueueClassOf(queue_of(c).kind, machine_.device(queue_of(c).device));
  }
  int64_t alone(CommandId c) const { return costs_.ns[c]; }

  int64_t Gap(CommandId c) const { return model_.delays.gap(kind_of(c), class_of(c)); }
  int64_t Arrival(CommandId from, CommandId to) const {
    const bool crosses = command(from).queue != command(to).queue;
    return time(from).end_ns + (crosses ? model_.delays.handoff(class_of(from), class_of(to)) : 0);
  }
  // When the driver of the command's queue is awake: the first of its commands that is ready wakes it.
  int64_t Awake(CommandId c) const {
    int64_t first = INT64_MAX;
    for (const CommandId other : commands()) {
      if (command(other).queue == command(c).queue) first = std::min(first, Ready(other));
    }
    return first + model_.delays.wake(kind_of(c), class_of(c));
  }
  // When the last dependency arrives, and when the queue picks the command, but for waiting for a core.
  int64_t Ready(CommandId c) const {
    int64_t ready = model_.delays.step_start_ns;
    for (const CommandId p : before_[c]) ready = std::max(ready, Arrival(p, c));
    return ready;
  }
  // `previous`: the command that its queue ran before it, if there is one.
  int64_t Pick(CommandId c, CommandId previous) const {
    const int64_t ready = std::max(Ready(c), Awake(c));
    return previous.exists() ? std::max(ready, time(previous).end_ns) : ready;
  }
  // A driver may wait for a core for up to a time slice, and takes longer to wake beside copies, of which
  // each queue has one at most.
  int64_t MayWait() const {
    if (!model_.interference) return 0;
    const InterferenceMatrix& host = model_.interference->host;
    const double beside = host.copy_cores * static_cast<double>(schedule_.queues.size()) / host.cores;
    return host.slice_ns + static_cast<int64_t>(100'000 * beside);
  }

  // The commands of a queue as they ran; those of one instant, which take no time, by rank.
  std::vector<CommandId> Ran(QueueId queue) const {
    std::vector<CommandId> ran;
    for (const CommandId c : commands()) {
      if (command(c).queue == queue) ran.push_back(c);
    }
    const auto order = [&](CommandId c) {
      return std::tuple(time(c).start_ns, time(c).end_ns, command(c).rank);
    };
    std::sort(ran.begin(), ran.end(), [&](CommandId a, CommandId b) { return order(a) < order(b); });
    return ran;
  }

  Machine machine_;
  SimulationModel model_;
  Schedule schedule_;
  IdVector<CommandId, std::vector<CommandId>> before_;
  CommandCosts costs_;
  SimulationResult result_;

 private:
  // Each kind of delay in three of four simulations.
  void DrawDelays(Random* random) {
    Delays& delays = model_.delays;
    if (random->below(4) > 0) {
      for (auto& classes : delays.gap_ns) classes = {random->below(100'000), random->below(100'000)};
    }
    if (random->below(4) > 0) {
      for (auto& classes : delays.handoff_ns)
        classes = {1 + random->below(100'000), 1 + random->below(100'000)};
    }
    if (random->below(4) > 0) {
      for (auto& classes : delays.wake_ns) classes = {random->below(5'000'000), random->below(5'000'000)};
      delays.step_start_ns = random->below(100'000);
      delays.step_finish_ns = random->below(100'000);
    }
  }
  void DrawInterference(Random* random) {
    for (DeviceSpec& device : machine_.devices) {
      if (random->below(3) > 0 && device.is_gpu()) device.kind = DeviceKind::kVirtual;
    }
    if (random->below(4) == 0) return;
    InterferenceMatrix& host = model_.interference.emplace().host;
    host.cores = 1 + random->below(3);
    host.copy_cores = 0.25;
    host.slice_ns = random->below(2) == 0 ? 0 : 3'000'000;
    for (auto& row : host.slowdown) row = {1 + random->below(9) / 10.0, 1.4, 1.2};
  }
};

// Law: a command starts when its last dependency has arrived and its queue is free, awake and has issued it;
// nothing else holds it up.
TEST_F(SimulatorLaws, CommandsStartWhenTheyCanAndNotBefore) {
  Random random(17);
  for (int trial = 0; trial < 60; ++trial) {
    Simulate(&random, 400);
    for (const QueueId queue : schedule_.queues.ids()) {
      CommandId previous;
      const std::vector<CommandId> ran = Ran(queue);
      ASSERT_EQ(std::count_if(schedule_.commands.begin(), schedule_.commands.end(),
                              [&](const Command& command) { return command.queue == queue; }),
                static_cast<std::ptrdiff_t>(ran.size()));
      for (const CommandId c : ran) {
        int64_t earliest = Pick(c, previous);
        if (previous.exists()) earliest = std::max(earliest, time(previous).end_ns + Gap(c));
        ASSERT_GE(time(c).start_ns + kRounding, earliest) << "trial " << trial << ", command " << c.number();
        ASSERT_LE(time(c).start_ns, earliest + MayWait() + kRounding)
            << "trial " << trial << ", command " << c.number();
        previous = c;
      }
    }
  }
}

// Law: in order by rank; ready first, nobody is picked while a command of smaller rank is ready.
TEST_F(SimulatorLaws, NobodyOvertakesInAQueue) {
  Random random(18);
  for (int trial = 0; trial < 60; ++trial) {
    Simulate(&random, 400);
    for (const QueueId queue : schedule_.queues.ids()) {
      const std::vector<CommandId> ran = Ran(queue);
      for (size_t i = 0; i < ran.size(); ++i) {
        for (size_t j = i + 1; j < ran.size(); ++j) {
          if (command(ran[j]).rank > command(ran[i]).rank) continue;
          ASSERT_FALSE(schedule_.queues[queue].in_order) << "trial " << trial;
          const CommandId previous = i > 0 ? ran[i - 1] : CommandId();
          ASSERT_GE(Ready(ran[j]) + MayWait() + kRounding, Pick(ran[i], previous))
              << "trial " << trial << ": " << ran[i].number() << " before " << ran[j].number();
        }
      }
    }
  }
}

// Law: sharing and interference only ever slow a command down; where both are off it takes its own time.
TEST_F(SimulatorLaws, NoCommandIsFasterThanAlone) {
  Random random(19);
  for (int trial = 0; trial < 60; ++trial) {
    Simulate(&random, 400);
    IdVector<QueueId, int64_t> busy(schedule_.queues.size(), 0);
    int64_t last = model_.delays.step_start_ns;
    for (const CommandId c : commands()) {
      const int64_t ns = time(c).end_ns - time(c).start_ns;
      ASSERT_GE(ns + kRounding, alone(c)) << "trial " << trial << ", command " << c.number();
      if (!model_.share_links && !model_.interference) {
        ASSERT_EQ(ns, alone(c)) << trial;
      }
      busy[command(c).queue] += ns;
      last = std::max(last, time(c).end_ns);
    }
    EXPECT_EQ(result_.queue_busy_ns, busy);
    EXPECT_EQ(result_.step_ns, last + model_.delays.step_finish_ns);
  }
}

// Law: in no window of time does a link or bus pass more bytes than its bandwidth allows.
TEST_F(SimulatorLaws, LinksPassNoMoreThanTheirBandwidth) {
  Random random(21);
  struct Flow {
    int64_t begin, end;
    double bytes;
  };
  for (int trial = 0; trial < 60; ++trial) {
    Simulate(&random, 300);
    if (!model_.share_links) continue;
    std::vector<std::vector<Flow>> flows(static_cast<size_t>(machine_.num_resources()));
    for (const CommandId c : commands()) {
      if (command(c).kind != CommandKind::kCopy) continue;
      const Route route =
          machine_.RouteBetween(schedule_.CopySource(command(c)), schedule_.CopyDestination(command(c)));
      const int64_t moving = alone(c) - route.latency_ns;
      if (moving <= 0) continue;
      // A copy that is faster alone than its links counts as the bytes that they carry in that time.
      const double bytes = std::min(static_cast<double>(command(c).bytes),
                                    static_cast<double>(moving) * route.bandwidth / 1e9);
      for (const int resource : route.resources)
        flows[static_cast<size_t>(resource)].push_back(
            {time(c).start_ns + route.latency_ns, time(c).end_ns, bytes});
    }
    for (size_t resource = 0; resource < flows.size(); ++resource) {
      const double per_ns = machine_.ResourceBandwidth(static_cast<int>(resource)) / 1e9;
      std::vector<Flow>& passed = flows[resource];
      std::sort(passed.begin(), passed.end(), [](const Flow& a, const Flow& b) { return a.end < b.end; });
      for (const Flow& first : passed) {
        double bytes = 0;
        for (const Flow& flow : passed) {
          if (flow.begin < first.begin) continue;
          bytes += flow.bytes;
          const auto window = static_cast<double>(flow.end - first.begin + 2 * kRounding);
          ASSERT_LE(bytes, window * per_ns * (1 + 1e-9)) << "trial " << trial << ", resource " << resource;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lanescope::sims
