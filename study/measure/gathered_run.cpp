// SPDX-License-Identifier: Apache-2.0
#include "study/measure/gathered_run.h"

#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/base/frame.h"
#include "core/machine/tasks.h"
#include "study/measure/recorded_run.h"

namespace lanescope::study {
namespace {

void Write(const Tensor& tensor, FrameWriter* writer) {
  const auto dims = tensor.shape().dims();
  writer->Number(static_cast<int64_t>(tensor.dtype())).Records(std::vector<Dim>(dims.begin(), dims.end()));
  if (tensor.dtype() == DataType::kString) {
    const auto* strings = tensor.data<std::string>();
    writer->Texts({strings, strings + tensor.NumElements()});
  } else {
    writer->Text({static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.ByteSize())});
  }
}

Tensor ReadTensor(FrameReader* reader) {
  const auto dtype = static_cast<DataType>(reader->Number());
  const std::vector<Dim> dims = reader->Records<Dim>();
  Tensor tensor(dtype, Shape(dims));
  if (dtype == DataType::kString) {
    const std::vector<std::string> strings = reader->Texts();
    LANESCOPE_CHECK(static_cast<int64_t>(strings.size()) == tensor.NumElements());
    for (size_t i = 0; i < strings.size(); ++i) tensor.data<std::string>()[i] = strings[i];
  } else {
    const std::string_view bytes = reader->Text();
    LANESCOPE_CHECK(static_cast<int64_t>(bytes.size()) == tensor.ByteSize());
    if (!bytes.empty()) std::memcpy(tensor.raw_data(), bytes.data(), bytes.size());
  }
  return tensor;
}

void Write(const InputRecord& input, FrameWriter* writer) {
  writer->Number(static_cast<int64_t>(input.threads.size()));
  for (const InputThread& thread : input.threads)
    writer->Number(thread.number).Text(thread.op).Text(thread.queue);
  writer->Number(static_cast<int64_t>(input.queues.size()));
  for (const InputQueue& queue : input.queues)
    writer->Number(queue.number).Text(queue.name).Number(queue.capacity).Number(queue.kept);
  writer->Records(input.steps).Records(input.waits).Records(input.works).Records(input.fills);
}

InputRecord ReadInput(FrameReader* reader, int64_t ahead_ns) {
  InputRecord input;
  for (int64_t left = reader->Number(); left > 0; --left) {
    InputThread& thread = input.threads.emplace_back();
    thread.number = static_cast<int>(reader->Number());
    thread.op = reader->Text();
    thread.queue = reader->Text();
  }
  for (int64_t left = reader->Number(); left > 0; --left) {
    InputQueue& queue = input.queues.emplace_back();
    queue.number = static_cast<int>(reader->Number());
    queue.name = reader->Text();
    queue.capacity = reader->Number();
    queue.kept = reader->Number();
  }
  input.steps = reader->Records<InputStep>();
  input.waits = reader->Records<InputWait>();
  input.works = reader->Records<InputWork>();
  input.fills = reader->Records<QueueFill>();
  const auto shift = [&](auto* records) {
    for (auto& record : *records) {
      record.start_ns -= ahead_ns;
      record.end_ns -= ahead_ns;
    }
  };
  shift(&input.steps);
  shift(&input.waits);
  for (QueueFill& fill : input.fills) fill.time_ns -= ahead_ns;
  return input;
}

// As the session of the task compiles it.
Schedule ScheduleOfTask(const PlacedGraph& placed, const Machine& machine, int task) {
  const Workload& workload = *placed.workload;
  CompileRequest request = workload.request();
  request.host = TasksOf(machine).hosts.at(static_cast<size_t>(task));
  return Compile(workload.graph(), workload.info(), request, placed.placement, machine);
}

}  // namespace

std::string BytesOf(const HandedInRun& run) {
  FrameWriter writer;
  writer.Number(run.begin_ns).Number(run.end_ns).Records(run.step_ns);
  writer.Number(static_cast<int64_t>(run.fetches.size()));
  for (const Tensor& fetch : run.fetches) Write(fetch, &writer);
  writer.Number(run.oversubscribed ? 1 : 0).Records(run.events);
  Write(run.input, &writer);
  return writer.Take();
}

HandedInRun HandedInRunOf(std::string_view bytes, int64_t ahead_ns) {
  FrameReader reader(bytes);
  HandedInRun run;
  run.begin_ns = reader.Number() - ahead_ns;
  run.end_ns = reader.Number() - ahead_ns;
  run.step_ns = reader.Records<int64_t>();
  for (int64_t left = reader.Number(); left > 0; --left) run.fetches.push_back(ReadTensor(&reader));
  run.oversubscribed = reader.NumberIn(0, 1) == 1;
  run.events = reader.Records<Event>();
  for (Event& event : run.events) {
    event.start_ns -= ahead_ns;
    event.end_ns -= ahead_ns;
  }
  run.input = ReadInput(&reader, ahead_ns);
  return run;
}

GatheredRun::GatheredRun(PlacedGraph placed, const Machine& machine, int task, traces::TraceWriter* writer)
    : placed_(std::move(placed)),
      schedule_(ScheduleOfTask(placed_, machine, task)),
      writer_(*writer),
      id_(writer->BeginRun(InfoOfRun(placed_, machine, placed_.workload->info()))) {}

void GatheredRun::Finish(const HandedInRun& run, std::vector<RunTask> tasks) {
  for (const Event& event : run.events) {
    if (event.kind == EventKind::kStep || schedule_.commands.Contains(event.command)) continue;
    Throw(Code::kDataLoss, "another process ran other commands of {} than this one compiled",
          placed_.workload->name());
  }
  writer_.AddSchedule(id_, schedule_);
  writer_.Sink(id_)->Consume(run.events);
  if (run.input.size() > 0) writer_.AddInput(id_, run.input);
  finished_ = true;
  writer_.EndRun(id_, {run.oversubscribed, "", false, {}, std::move(tasks)});
}

void GatheredRun::Fail(const std::string& error) {
  if (!finished_) writer_.EndRun(id_, {false, error});
}

}  // namespace lanescope::study
