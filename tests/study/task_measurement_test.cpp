// SPDX-License-Identifier: Apache-2.0
// Measurements by the processes of a job of their hosts; these are threads.
#include "study/measure/task_measurement.h"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "study/measure/measure_machine.h"
#include "study/measure/measuring_turns.h"
#include "tests/core/base/expect_error.h"
#include "tests/exec/tasks/tasks_harness.h"

namespace lanescope::study {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Notes who measures at the same time. Thread-safe.
class Watcher {
 public:
  void Enter(const std::string& computer) {
    const std::lock_guard lock(mutex_);
    most_ = std::max(most_, ++measuring_[computer]);
    entered_.notify_all();
  }
  void Leave(const std::string& computer) {
    const std::lock_guard lock(mutex_);
    --measuring_[computer];
  }
  // False where that computer never measures meanwhile.
  bool Meets(const std::string& computer) {
    std::unique_lock lock(mutex_);
    return entered_.wait_for(lock, std::chrono::seconds(20), [&] { return measuring_[computer] > 0; });
  }
  int most_on_one_computer() const { return most_; }

 private:
  std::mutex mutex_;
  std::condition_variable entered_;
  std::map<std::string, int> measuring_;
  int most_ = 0;
};

// Laws: of one kind on one computer the first measures for all, its text is theirs; two of one computer never
// measure at once, the first ones of two computers do.
TEST(MeasuringTurns, AreOfOneComputer) {
  const std::array<Measurer, 5> measurers{
      {{"a", "two GPUs"}, {"a", "two GPUs"}, {"b", "two GPUs"}, {"a", "no GPU"}, {"b", "two GPUs"}}};
  Watcher watcher;
  std::array<bool, 5> met{};
  std::array<std::vector<MeasuredText>, 5> measured;
  exec::test::PlayTasks(5, [&](exec::Transport* transport) {
    const auto rank = static_cast<size_t>(transport->rank());
    const Measurer& own = measurers[rank];
    measured[rank] = MeasureInTurns(transport, own, [&] {
      watcher.Enter(own.computer);
      if (own.kind == "two GPUs") met[rank] = watcher.Meets(own.computer == "a" ? "b" : "a");
      transport->AwaitNews(transport->News(), NowNs() + 20'000'000);
      watcher.Leave(own.computer);
      return "by " + std::to_string(rank);
    });
  });
  EXPECT_EQ(watcher.most_on_one_computer(), 1);
  EXPECT_THAT(met, ElementsAre(true, false, true, false, false));
  for (const std::vector<MeasuredText>& of_all : measured) {
    std::vector<std::string> texts, computers;
    for (const MeasuredText& of : of_all) {
      texts.push_back(of.text);
      computers.push_back(of.computer);
      EXPECT_EQ(of.text, "by " + std::to_string(of.by));
    }
    EXPECT_THAT(texts, ElementsAre("by 0", "by 0", "by 2", "by 3", "by 2"));
    EXPECT_THAT(computers, ElementsAre("a", "a", "b", "a", "b"));
  }
}

// Two tasks with a GPU of one worker, and one with a GPU of two.
Machine ThreeTasks() {
  Machine machine = exec::test::MachineOfTasks(3, 1);
  machine.devices[DeviceId(5)].workers = 2;
  return machine;
}

// Laws: rates and links of a task are those of who measured for it; what is between tasks is nobody's; links
// that were measured are told in the numbers of the machine; all processes have the same.
TEST(TaskMeasurement, IsOfTheTasksOwnDevices) {
  const Machine machine = ThreeTasks();
  std::array<std::string, 3> filled;
  exec::test::PlayTasks(3, [&](exec::Transport* transport) {
    const auto tasks = MeasureTasks(machine, transport, [&](TaskMeasurement* own) {
      EXPECT_EQ(own->part.num_devices(), 2);
      const double rate = 1e9 * (1 + transport->rank());
      own->part.devices[DeviceId(1)].peak_flops[DataType::kFloat] = rate;
      own->part.links.at(0).table = {{4, 1000}, {1024, 2000}};
      own->host = exec::HostMeasurement{.cores = 4, .flops_per_second = rate, .copy_cores = 0.1};
      own->host->slowdown[1][2] = 1.25;
      own->gpus.links.push_back({DeviceId(0), DeviceId(1), 4, 1000});
      own->gpus.interference.push_back({"GPU:0", {}});
      own->fetches.push_back({64, 7});
    });
    ASSERT_EQ(tasks.size(), 3U);
    EXPECT_EQ(tasks[1].by, 0) << "of the same kind";
    EXPECT_EQ(tasks[2].by, 2) << "of another";
    const exec::LinkTime link = InMachine(tasks[2], tasks[2].gpus.links).at(0);
    EXPECT_EQ(link.src, DeviceId(4));
    EXPECT_EQ(link.dst, DeviceId(5));
    EXPECT_EQ(tasks[1].host.value().slowdown[1][2], 1.25);
    EXPECT_EQ(tasks[1].fetches.at(0).extra_ns, 7);
    Machine known = machine;
    for (const TaskMeasurement& task : tasks) FillIn(task, &known);
    EXPECT_EQ(known.devices[DeviceId(1)].peak_flops[DataType::kFloat], 1e9);
    EXPECT_EQ(known.devices[DeviceId(3)].peak_flops[DataType::kFloat], 1e9);
    EXPECT_EQ(known.devices[DeviceId(5)].peak_flops[DataType::kFloat], 3e9);
    for (const LinkSpec& l : known.links)
      EXPECT_EQ(l.table.size(), known.device(l.b).is_gpu() ? 2U : 0U) << l.a.number() << " " << l.b.number();
    filled[static_cast<size_t>(transport->rank())] = MachineToJson(known);
  });
  EXPECT_EQ(filled[0], filled[1]);
  EXPECT_EQ(filled[0], filled[2]);
}

TaskMeasurement MeasuredBy(int rank, const std::string& computer, const exec::HostMeasurement& host,
                           int first_device) {
  TaskMeasurement made;
  made.by = rank;
  made.computer = computer;
  made.devices = {DeviceId(first_device), DeviceId(first_device + 1)};
  made.host = host;
  made.gpus.links = {{DeviceId(0), DeviceId(1), 4, 1000}};
  return made;
}

// Laws: links count for each that measured, other computers have cores and speeds of their own, by the tasks
// that ran there; of the rest the first one's counts.
TEST(TaskMeasurement, OneCostModelIsOfAllComputers) {
  const exec::HostMeasurement a{
      .cores = 2, .flops_per_second = 40e9, .bytes_per_second = 12e9, .copy_cores = 0.2},
      b{.cores = 6, .flops_per_second = 10e9, .bytes_per_second = 11e9, .copy_cores = 0.6};
  std::vector<TaskMeasurement> tasks = {MeasuredBy(0, "a", a, 0), MeasuredBy(1, "b", b, 2),
                                        MeasuredBy(1, "b", b, 4), MeasuredBy(0, "a", a, 6)};
  tasks[1].fetches = {{64, 7}};
  const MachineMeasurement all = Joined(exec::test::MachineOfTasks(4, 1), tasks);
  EXPECT_EQ(all.host.cores, 2);
  EXPECT_EQ(all.host.copy_cores, 0.2);
  ASSERT_EQ(all.other_computers.size(), 1U);
  const sims::OtherComputer& other = all.other_computers.front();
  EXPECT_EQ(other.cores, 6);
  EXPECT_EQ(other.speed.compute, 0.25);
  EXPECT_EQ(other.speed.memory, 1) << "within a tenth";
  ASSERT_EQ(all.links.size(), 2U);
  EXPECT_EQ(all.links[1].src, DeviceId(2));
  EXPECT_EQ(all.fetches.size(), 1U);
  for (TaskMeasurement& task : tasks) task.computer = "a";
  EXPECT_TRUE(Joined(exec::test::MachineOfTasks(4, 1), tasks).other_computers.empty());
}

// Law: whatever was measured, a cost file may say it.
TEST(TaskMeasurement, SpeedsHaveBounds) {
  const auto speed = [](double flops) {
    const exec::HostMeasurement first{.cores = 1, .flops_per_second = 1e9, .bytes_per_second = 1e9},
        other{.cores = 1, .flops_per_second = flops, .bytes_per_second = 0};
    return Joined(exec::test::MachineOfTasks(2, 1),
                  {MeasuredBy(0, "a", first, 0), MeasuredBy(1, "b", other, 2)})
        .other_computers.front()
        .speed;
  };
  EXPECT_EQ(speed(1e15).compute, 1000);
  EXPECT_EQ(speed(0).compute, 0.001);
  EXPECT_EQ(speed(1e9).memory, 0.001);
}

TEST(TaskMeasurement, WantsAProcessForEachTask) {
  EXPECT_THAT(ErrorOf([] {
                exec::test::PlayTasks(2, [](exec::Transport* transport) {
                  MeasureTasks(ThreeTasks(), transport, [](TaskMeasurement*) {});
                });
              }),
              HasSubstr("the machine has 3 tasks, but 2 processes were started"));
}

// Law: what differs by a tenth or less is noise; cores are counted.
TEST(MeasuredHosts, DifferByMoreThanATenth) {
  const auto host = [](const std::string& where, int cores, double flops) {
    return MeasuredHost{where, {.cores = cores, .flops_per_second = flops, .bytes_per_second = 12e9}};
  };
  EXPECT_EQ(DifferencesOf({host("node1", 8, 40e9), host("node2", 8, 37e9)}), "");
  EXPECT_EQ(DifferencesOf({host("node1", 8, 40e9)}), "");
  EXPECT_EQ(DifferencesOf({host("node1", 8, 40e9), host("node2", 8, 38e9), host("node3", 1, 30e9)}),
            "node1 has 8 cores and does 40.0 GFLOP/s and 12 GB/s a worker, node3 has 1 core and does 30.0 "
            "GFLOP/s and 12 GB/s a worker");
}

}  // namespace
}  // namespace lanescope::study
