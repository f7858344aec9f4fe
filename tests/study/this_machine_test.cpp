// SPDX-License-Identifier: Apache-2.0
// The machine that several processes make of what each sees; these are threads.
#include "study/job/this_machine.h"

#include <gmock/gmock.h>

#include <array>
#include <numeric>

#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "exec/device/backends.h"
#include "exec/measure/gpu_machine.h"
#include "study/job/gpu_shares.h"
#include "tests/core/base/expect_error.h"
#include "tests/exec/tasks/tasks_harness.h"

namespace lanescope::study {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// GPUs of a computer by their ids, each thread seeing some of them.
class FakeGpus : public exec::Backend {
 public:
  static thread_local std::vector<std::string> seen;

  bool Serves(const DeviceSpec&) const override { return false; }
  IdVector<DeviceId, std::unique_ptr<exec::Device>> MakeDevices(const Machine&,
                                                                const exec::DeviceOptions&) override {
    Throw(Code::kFailedPrecondition, "these GPUs run nothing");
  }
  int CountGpus(std::string* reason) override {
    if (seen.empty()) *reason = "none is seen";
    return static_cast<int>(seen.size());
  }
  bool Load(std::string*) override { return true; }
  std::vector<int> UsableGpus(std::vector<std::string>*) override {
    std::vector<int> all(seen.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::string IdOf(int ordinal) override { return seen.at(static_cast<size_t>(ordinal)); }
  Machine Describe(const std::vector<int>& ordinals, const exec::GpuMemoryOptions&) override {
    Machine machine = VirtualMachine(static_cast<int>(ordinals.size()), 1);
    machine.name = fmt::format("{} GPUs", ordinals.size());
    for (DeviceSpec& device : machine.devices) {
      if (!device.is_gpu()) continue;
      device.kind = DeviceKind::kCuda;
      device.physical = ordinals.at(static_cast<size_t>(device.parsed.id));
      device.in_order = true;
    }
    return machine;
  }
};
thread_local std::vector<std::string> FakeGpus::seen;

// A GPU of this computer would be found where a thread is to see none.
#define SKIP_WITH_GPUS()                                                     \
  std::string reason;                                                        \
  if (exec::CountVisibleGpus(&reason) > 0) GTEST_SKIP() << "there are GPUs"; \
  FakeGpus gpus;                                                             \
  const exec::BackendRegistration registration(&gpus)

// By task, the GPUs that it has: "cuda 1" for the second that it sees.
std::vector<std::vector<std::string>> GpusOf(const Machine& machine) {
  const MachineTasks tasks = TasksOf(machine);
  std::vector<std::vector<std::string>> all(static_cast<size_t>(tasks.size()));
  for (const DeviceId d : machine.devices.ids()) {
    const DeviceSpec& device = machine.device(d);
    if (!device.is_gpu()) continue;
    all[static_cast<size_t>(tasks.task_of[d])].push_back(
        device.is_hardware() ? fmt::format("{} {}", DeviceKindName(device.kind), device.physical)
                             : std::string(DeviceKindName(device.kind)));
  }
  return all;
}

MachineChoice ChoiceOf(const std::string& cluster) {
  MachineChoice choice;
  choice.cluster = cluster;
  return choice;
}

// The machine that processes have of which each sees these GPUs; the same in all of them.
Machine MachineSeen(const std::string& cluster, const std::vector<std::vector<std::string>>& seen) {
  std::vector<Machine> machines(seen.size());
  exec::test::PlayTasks(static_cast<int>(seen.size()), [&](exec::Transport* transport) {
    const auto rank = static_cast<size_t>(transport->rank());
    FakeGpus::seen = seen[rank];
    machines[rank] = LoadMachine(ChoiceOf(cluster), nullptr, transport);
  });
  for (const Machine& machine : machines) EXPECT_EQ(MachineToJson(machine), MachineToJson(machines.front()));
  return machines.front();
}

// Laws: tasks that see the same GPUs share them out in order; a task has what its own host has, and its host
// alone where that has no GPU; what is seen by one process alone is its own.
TEST(LoadMachine, IsPutTogetherFromWhatEachProcessSees) {
  SKIP_WITH_GPUS();
  EXPECT_THAT(GpusOf(MachineSeen("worker=a:2", {{"x", "y"}, {"x", "y"}})),
              ElementsAre(ElementsAre("cuda 0"), ElementsAre("cuda 1")));
  const Machine differ = MachineSeen("worker=a:2,b,c", {{"x", "y"}, {"x", "y"}, {"z"}, {}});
  EXPECT_EQ(differ.name, "4 tasks of 1 GPUs, a host without GPUs");
  EXPECT_THAT(GpusOf(differ),
              ElementsAre(ElementsAre("cuda 0"), ElementsAre("cuda 1"), ElementsAre("cuda 0"), IsEmpty()));
  EXPECT_EQ(TasksOf(differ).size(), 4);
  EXPECT_THAT(GpusOf(MachineSeen("worker=a:2", {{"x"}, {"y"}})),
              ElementsAre(ElementsAre("cuda 0"), ElementsAre("cuda 0")));
  EXPECT_THAT(GpusOf(MachineSeen("worker=a,b", {{"x", "y"}, {"z"}})),
              ElementsAre(ElementsAre("cuda 0", "cuda 1"), ElementsAre("cuda 0")));
}

// Law: a single GPU counts where it is asked for, as without tasks.
TEST(LoadMachine, OneGpuIsNoReasonToUseGpus) {
  SKIP_WITH_GPUS();
  EXPECT_THAT(GpusOf(MachineSeen("worker=a,b", {{}, {"x"}})),
              ElementsAre(ElementsAre("virtual", "virtual"), ElementsAre("virtual", "virtual")));
  exec::test::PlayTasks(2, [&](exec::Transport* transport) {
    if (transport->rank() == 1) FakeGpus::seen = {"x"};
    MachineChoice choice = ChoiceOf("worker=a,b");
    choice.file = MachineChoice::kPhysical;
    EXPECT_THAT(GpusOf(LoadMachine(choice, nullptr, transport)),
                ElementsAre(IsEmpty(), ElementsAre("cuda 0")));
  });
}

// Law: one process that plays all tasks does so on each host, whose tasks share what it sees.
TEST(LoadMachine, OneProcessPlaysTheTasksOfEachHost) {
  SKIP_WITH_GPUS();
  FakeGpus::seen = {"x", "y"};
  EXPECT_THAT(GpusOf(LoadMachine(ChoiceOf("worker=a:2,b"))),
              ElementsAre(ElementsAre("cuda 0"), ElementsAre("cuda 1"), ElementsAre("cuda 0", "cuda 1")));
  MachineChoice choice = ChoiceOf("worker=a:2");
  choice.logical_devices = "512,512";
  EXPECT_THAT(GpusOf(LoadMachine(choice)),
              ElementsAre(ElementsAre("logical 0", "logical 0"), ElementsAre("logical 1", "logical 1")));
  EXPECT_THAT(ErrorOf([] { LoadMachine(ChoiceOf("worker=a:3")); }), HasSubstr("2 GPUs for 3 tasks"));
  FakeGpus::seen = {};
}

std::string NameOfProcess(int process) { return fmt::format("rank {}", process); }

// Laws: as even as can be, in order, in everybody's own numbers; never one GPU for two.
TEST(ShareGpus, DealsThemOut) {
  EXPECT_THAT(ShareGpus({{"a", "b", "c", "d"}, {"a", "b", "c", "d"}}, NameOfProcess),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(ShareGpus({{"a", "b", "c"}, {"a", "b", "c"}}, NameOfProcess),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
  EXPECT_THAT(ShareGpus({{"a", "b"}, {"b", "a"}}, NameOfProcess), ElementsAre(ElementsAre(0), ElementsAre(0)))
      << "the second sees b first";
  EXPECT_THAT(ShareGpus({{"b"}, {}, {"a", "c"}}, NameOfProcess),
              ElementsAre(ElementsAre(0), IsEmpty(), ElementsAre(0, 1)));
  EXPECT_THAT(ErrorOf([] {
                ShareGpus({{"a"}, {"c"}, {"a"}}, NameOfProcess);
              }),
              HasSubstr("1 GPU for 2 tasks, rank 0 to rank 2: start fewer of them there"));
  EXPECT_THAT(ErrorOf([] {
                ShareGpus({{"c"}, {"a", "b"}, {"b"}}, NameOfProcess);
              }),
              HasSubstr("rank 1 and rank 2 see a GPU in common, but not the same GPUs"));
}

// A GPU of each of two tasks, of this kind and number.
Machine TwoTasks(DeviceKind first, int first_physical, DeviceKind second, int second_physical) {
  Machine machine = exec::test::MachineOfTasks(2, 1);
  DeviceSpec &a = machine.devices[DeviceId(1)], &b = machine.devices[DeviceId(3)];
  a.kind = first;
  a.physical = first_physical;
  b.kind = second;
  b.physical = second_physical;
  return machine;
}

// The error that two processes get which see these GPUs.
std::string ErrorOfOwnGpus(const Machine& machine, const std::vector<std::string>& first,
                           const std::vector<std::string>& second) {
  std::array<std::string, 2> errors;
  exec::test::PlayTasks(2, [&](exec::Transport* transport) {
    const auto rank = static_cast<size_t>(transport->rank());
    FakeGpus::seen = rank == 0 ? first : second;
    errors[rank] = ErrorOf([&] { RequireOwnGpus(machine, transport); });
    // The first one's end would have ended the other.
    if (rank == 0 && !errors[0].empty()) transport->Share("");
  });
  EXPECT_EQ(errors[0], errors[1]);
  return errors[0];
}

// Laws: a number is of what a process sees; one GPU is of two tasks where each has parts of it alone.
TEST(OwnGpus, AreNotAnotherTasks) {
  SKIP_WITH_GPUS();
  constexpr auto kCuda = DeviceKind::kCuda, kLogical = DeviceKind::kLogical;
  EXPECT_THAT(
      ErrorOfOwnGpus(TwoTasks(kCuda, 0, kCuda, 0), {"x", "y"}, {"x", "y"}),
      HasSubstr("/job:worker/task:0/GPU:0 of rank 0 here and /job:worker/task:1/GPU:0 of rank 1 here are "
                "the same physical GPU"));
  EXPECT_THAT(ErrorOfOwnGpus(TwoTasks(kLogical, 1, kCuda, 0), {"x", "y"}, {"y", "x"}),
              HasSubstr("the same physical GPU"));
  EXPECT_EQ(ErrorOfOwnGpus(TwoTasks(kCuda, 0, kCuda, 1), {"x", "y"}, {"x", "y"}), "");
  EXPECT_EQ(ErrorOfOwnGpus(TwoTasks(kCuda, 0, kCuda, 0), {"x"}, {"y"}), "");
  EXPECT_EQ(ErrorOfOwnGpus(TwoTasks(kLogical, 0, kLogical, 0), {"x"}, {"x"}), "");
}

}  // namespace
}  // namespace lanescope::study
