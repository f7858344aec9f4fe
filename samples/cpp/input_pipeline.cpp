// SPDX-License-Identifier: Apache-2.0
// The classic input pipeline: names of files, a reader of lines, columns, a queue that shuffles, and a
// coordinator that ends the threads which fill the queues:
//   input_pipeline instances.csv
#include <graph_run.h>

#include <memory>

#include "core/base/error.h"
#include "exec/run/coordinator.h"
#include "exec/run/queue_runner.h"
#include "graphs/input_queues.h"
#include "graphs/ops.h"
#include "graphs/variable.h"

namespace {

namespace exec = lanescope::exec;
namespace graphs = lanescope::graphs;
namespace op = lanescope::graphs::op;
using lanescope::Code;
using lanescope::Endpoint;

constexpr int kBatch = 100;

struct Batches {
  Endpoint features;  // float32[batch, 2]
  Endpoint target;    // float32[batch]
};

// Every line of the files once, in an order of its own.
Batches ReadBatches(graphs::Scope& s, const std::vector<std::string>& files) {
  const Endpoint names = graphs::StringInputProducer(s, files, {.epochs = 1, .name = "files"});
  const Endpoint reader = op::TextLineReaderV2(s, {.name = "lines", .skip_header_lines = 1});
  const Endpoint line = op::ReaderReadV2(s, reader, names).value;
  // A column without a value gets its default.
  const Endpoint zero = op::Const(s, 0.0f);
  const std::vector<Endpoint> columns = op::DecodeCSV(s, line, {zero, zero, zero});
  const Endpoint features = op::Pack(s, {columns[0], columns[1]});
  const std::vector<Endpoint> batch =
      graphs::ShuffleBatch(s, {features, columns[2]}, kBatch, /*capacity=*/500, /*min_after_dequeue=*/200,
                           {.threads = 2, .seed = 1, .smaller_final_batch = true});
  return {batch[0], batch[1]};
}

// Reads to the end of the input, and then once more.
void ReadAll(const std::vector<std::string>& files) {
  graphs::Scope s;
  const Batches batches = ReadBatches(s, files);
  const std::string init = s.graph().node(graphs::InitializeVariables(s).node).name;
  const std::vector<lanescope::QueueRunnerSpec> runners = s.queue_runners();
  const lanescope::Machine machine = lanescope::VirtualMachine(1, 2);
  const lanescope::Placement placement = lanescope::PlaceGraph(s.graph(), machine, {});
  exec::Session session(s.graph(), placement, machine, {.timeout_ns = 60'000'000'000});
  session.Run({{}, {}, {init}});

  // A batch that nobody fills: the run's own time-out is the shorter one.
  const exec::RunRequest next = {
      {}, {s.graph().TensorName(batches.features), s.graph().TensorName(batches.target)}, {}};
  try {
    session.Run(next, {.timeout_ns = 20'000'000});
  } catch (const lanescope::Error& error) {
    std::printf("before the threads run: %s\n", lanescope::CodeName(error.code()).data());
  }

  std::vector<std::unique_ptr<exec::QueueRunner>> fillers;  // outlive the coordinator, which waits for them
  exec::Coordinator coordinator;
  for (const lanescope::QueueRunnerSpec& spec : runners) {
    fillers.push_back(std::make_unique<exec::QueueRunner>(spec));
    std::printf("%s: %d threads\n", spec.queue.c_str(), fillers.back()->Start(&session, &coordinator));
  }
  int64_t count = 0, lines = 0;
  double targets = 0;
  try {
    while (!coordinator.ShouldStop()) {
      const std::vector<lanescope::Tensor> batch = session.Run(next).fetches;
      ++count;
      lines += batch[1].NumElements();
      for (int64_t i = 0; i < batch[1].NumElements(); ++i) targets += batch[1].data<float>()[i];
    }
  } catch (const lanescope::Error& error) {
    if (error.code() != Code::kOutOfRange) throw;
  }
  coordinator.RequestStop();
  coordinator.Join();
  std::printf("%lld batches, %lld lines, targets sum to %g\n", static_cast<long long>(count),
              static_cast<long long>(lines), targets);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: input_pipeline FILE.csv...\n");
    return 2;
  }
  return samples::Main([&] { ReadAll({argv + 1, argv + argc}); });
}
