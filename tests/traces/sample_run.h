// SPDX-License-Identifier: Apache-2.0
// A small run for tests: two virtual GPUs, a graph of four nodes, its schedule made by hand, and events at
// chosen times.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/record/event.h"
#include "core/record/run_info.h"
#include "tests/support/ids.h"
#include "traces/record/trace_writer.h"

namespace lanescope::traces {

// A path in the test's own folder, removed with what SQLite puts beside it.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name = "trace.db") {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("lanescope_") + test->test_suite_name() + "_" + test->name() + "_" +
               std::to_string(::getpid()) + "_" + std::to_string(next_++));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / name).string();
  }
  ~ScratchFile() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  const std::string& path() const { return path_; }
  std::filesystem::path folder() const { return folder_; }

 private:
  inline static int next_ = 0;
  std::filesystem::path folder_;
  std::string path_;
};

// Commands: 0 host op "x" on CPU:0; 1 copy of x to GPU:0 (64 bytes); 2 "a" on GPU:0; 3 copy of a to GPU:1
// (32 bytes); 4 "b" on GPU:1; 5 copy of b to the host (16 bytes).
class SampleRun {
 public:
  explicit SampleRun(bool simulated = true) {
    machine_ = VirtualMachine(2, 1);
    const auto add = [this](std::string name, std::string op, std::vector<Endpoint> inputs) {
      Node node;
      node.name = std::move(name);
      node.op = std::move(op);
      node.inputs = std::move(inputs);
      graph_.AddNode(std::move(node));
    };
    add("x", "SampleSource", {});
    add("a", "SampleMap", {{NodeId(0), 0}});
    add("b", "SampleMap", {{NodeId(1), 0}});
    add("unused", "SampleMap", {{NodeId(0), 0}});
    host_ = machine_.host();
    gpu0_ = machine_.Gpus()[0];
    gpu1_ = machine_.Gpus()[1];
    placement_.device = {host_, gpu0_, gpu1_, gpu0_};
    BuildSchedule();
    info_.simulated = simulated;
    info_.emulated = true;
    info_.strategy = "alternating";
    info_.graph_name = "sample.pbtxt";
    info_.graph = &graph_;
    info_.machine = &machine_;
    info_.placement = &placement_;
  }
  SampleRun(const SampleRun&) = delete;
  SampleRun& operator=(const SampleRun&) = delete;

  // Splits the devices into two tasks: GPU:1 is GPU:0 of the second. The host may be of another.
  void SplitIntoTasks(const std::string& task_of_host = "/job:worker/replica:0/task:0") {
    for (const auto& [device, name] :
         {std::pair(host_, task_of_host + "/device:CPU:0"),
          std::pair(gpu0_, std::string("/job:worker/replica:0/task:0/device:GPU:0")),
          std::pair(gpu1_, std::string("/job:worker/replica:0/task:1/device:GPU:0"))}) {
      machine_.devices[device].name = name;
      ASSERT_TRUE(ParseDeviceName(name, &machine_.devices[device].parsed));
    }
    for (Queue& queue : schedule_.queues)
      queue.name.replace(0, queue.name.find(' '), machine_.device(queue.device).local_name());
  }
  // The tasks of a run in two processes.
  static std::vector<RunTask> Tasks() {
    return {{"/job:worker/task:0", "rank 0 on a", 0, 0}, {"/job:worker/task:1", "rank 1 on b", -7000, 3200}};
  }

  const RunInfo& info() const { return info_; }
  RunInfo& info() { return info_; }
  const Schedule& schedule() const { return schedule_; }

  static Event Command(CommandId command, int step, int64_t start, int64_t end, int64_t bytes = 0) {
    Event event;
    event.command = command;
    event.step = step;
    event.start_ns = start;
    event.end_ns = end;
    event.bytes = bytes;
    return event;
  }
  static Event Step(int step, int64_t start, int64_t end) {
    Event event = Command({}, step, start, end);
    event.kind = EventKind::kStep;
    return event;
  }
  // One step of 1000 ns from `at` on: x 0-100, copy 100-200, a 200-500, copy 400-600, b 600-900, copy
  // 900-950.
  static std::vector<Event> StepEvents(int step, int64_t at) {
    return {Command(CommandId(0), step, at, at + 100),
            Command(CommandId(1), step, at + 100, at + 200, 64),
            Command(CommandId(2), step, at + 200, at + 500),
            Command(CommandId(3), step, at + 400, at + 600, 32),
            Command(CommandId(4), step, at + 600, at + 900),
            Command(CommandId(5), step, at + 900, at + 950, 16),
            Step(step, at, at + 1000)};
  }
  // Writes a whole run of `steps` steps and returns its number.
  int WriteTo(TraceWriter* writer, int steps, const RunOutcome& outcome = {}) const {
    const int run = writer->BeginRun(info_);
    writer->AddSchedule(run, schedule_);
    for (int step = 0; step < steps; ++step) writer->Sink(run)->Consume(StepEvents(step, step * 1000));
    writer->EndRun(run, outcome);
    return run;
  }

 private:
  ValueId AddValue(NodeId node, DeviceId device, int64_t bytes) {
    Buffer buffer;
    buffer.device = device;
    buffer.bytes = bytes;
    schedule_.buffers.push_back(buffer);
    Value value;
    value.source = {node, 0};
    value.device = device;
    value.shape = Shape({bytes / 4});
    value.bytes = bytes;
    value.buffer = static_cast<int>(schedule_.buffers.size()) - 1;
    return schedule_.values.Add(value);
  }
  void AddCommand(CommandKind kind, int queue, NodeId node, std::vector<ValueId> inputs,
                  std::vector<ValueId> outputs, int64_t bytes = 0) {
    lanescope::Command command;
    command.kind = kind;
    command.queue = QueueId(queue);
    command.node = node;
    command.bytes = bytes;
    command.rank = static_cast<int>(schedule_.commands.size());
    command.inputs = static_cast<int>(schedule_.operands.size());
    command.num_inputs = static_cast<int>(inputs.size());
    schedule_.operands.insert(schedule_.operands.end(), inputs.begin(), inputs.end());
    command.outputs = static_cast<int>(schedule_.operands.size());
    command.num_outputs = static_cast<int>(outputs.size());
    schedule_.operands.insert(schedule_.operands.end(), outputs.begin(), outputs.end());
    schedule_.commands.Add(command);
  }
  void BuildSchedule() {
    schedule_.queues = {{host_, QueueKind::kCompute, false, "CPU:0 compute"},
                        {gpu0_, QueueKind::kCompute, false, "GPU:0 compute"},
                        {gpu0_, QueueKind::kCopyIn, false, "GPU:0 copy in"},
                        {gpu1_, QueueKind::kCompute, false, "GPU:1 compute"},
                        {gpu1_, QueueKind::kCopyIn, false, "GPU:1 copy in"},
                        {gpu1_, QueueKind::kCopyOut, false, "GPU:1 copy out"}};
    const ValueId x = AddValue(NodeId(0), host_, 64), x0 = AddValue(NodeId(0), gpu0_, 64),
                  a = AddValue(NodeId(1), gpu0_, 32);
    const ValueId a1 = AddValue(NodeId(1), gpu1_, 32), b = AddValue(NodeId(2), gpu1_, 16),
                  b_host = AddValue(NodeId(2), host_, 16);
    AddCommand(CommandKind::kLaunch, 0, NodeId(0), {}, {x});
    AddCommand(CommandKind::kCopy, 2, NodeId(0), {x}, {x0}, 64);
    AddCommand(CommandKind::kLaunch, 1, NodeId(1), {x0}, {a});
    AddCommand(CommandKind::kCopy, 4, NodeId(1), {a}, {a1}, 32);
    AddCommand(CommandKind::kLaunch, 3, NodeId(2), {a1}, {b});
    AddCommand(CommandKind::kCopy, 5, NodeId(2), {b}, {b_host}, 16);
    schedule_.successors = {{0, 1, 2, 3, 4, 5, 5}, test::Ids<CommandId>({1, 2, 3, 4, 5})};
    schedule_.num_predecessors = {0, 1, 1, 1, 1, 1};
    schedule_.fetches = {b_host};
    const size_t devices = machine_.devices.size();
    schedule_.arena_bytes.assign(devices, 0);
    schedule_.persistent_bytes.assign(devices, 0);
    schedule_.peak_bytes.assign(devices, 0);
    schedule_.persistent_bytes[gpu0_] = 1000;
    schedule_.peak_bytes[gpu0_] = 1096;
    schedule_.peak_bytes[gpu1_] = 48;
  }

  Machine machine_;
  Graph graph_;
  Placement placement_;
  Schedule schedule_;
  RunInfo info_;
  DeviceId host_, gpu0_, gpu1_;
};

}  // namespace lanescope::traces
