// SPDX-License-Identifier: Apache-2.0
#include "study/workload/queue_change.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "study/workload/queue_nodes.h"

namespace lanescope::study {
namespace {

constexpr int64_t kMaxThreads = 256, kMaxElements = 1 << 30;

struct QueueChange {
  std::string queue, key;
  int64_t value = 0;
};

// Empty where the text is no change.
std::optional<QueueChange> ParseQueueChange(std::string_view text) {
  const size_t equals = text.find('=');
  const size_t dot = text.substr(0, equals).rfind('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos || dot == 0) return std::nullopt;
  QueueChange change{std::string(text.substr(0, dot)), std::string(text.substr(dot + 1, equals - dot - 1)),
                     0};
  const std::string_view value = text.substr(equals + 1);
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), change.value);
  const bool known = change.key == "threads" || change.key == "capacity" || change.key == "batch";
  if (!known || error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  const int64_t most = change.key == "threads" ? kMaxThreads : kMaxElements;
  if (change.value < 1 || change.value > most) return std::nullopt;
  return change;
}

// The threads of a queue run its ops in turn.
void SetThreads(const Graph& graph, NodeId queue, int64_t threads, RunSpec* spec) {
  for (QueueRunnerSpec& runner : spec->queue_runners) {
    const NodeId enqueue = graph.FindNode(runner.enqueue_ops.front());
    if (!enqueue.exists() || QueueUsedBy(graph, graph.node(enqueue)) != queue) continue;
    const std::vector<std::string> ops = runner.enqueue_ops;
    runner.enqueue_ops.clear();
    for (size_t i = 0; i < static_cast<size_t>(threads); ++i)
      runner.enqueue_ops.push_back(ops[i % ops.size()]);
    return;
  }
  Throw(Code::kNotFound, "no threads of the run configuration fill the queue '{}'",
        QueueName(graph.node(queue)));
}

// The constants that say how many are taken; each taker gets one of its own, since others may read the old
// one.
void SetBatch(NodeId queue, int64_t batch, Graph* graph) {
  bool any = false;
  const size_t nodes = graph->num_nodes();
  for (size_t i = 0; i < nodes; ++i) {
    const NodeId taker(static_cast<int>(i));
    if (!TakesMany(graph->node(taker)) || QueueUsedBy(*graph, graph->node(taker)) != queue) continue;
    Node count;
    for (int number = 0; number == 0 || graph->FindNode(count.name).exists(); ++number)
      count.name = fmt::format("{}/batch_{}", graph->node(taker).name, number);
    count.op = "Const";
    count.device = graph->node(taker).device;
    count.attrs["dtype"] = AttrValue(DataType::kInt32);
    count.attrs["value"] =
        std::make_shared<const TensorAttr>(TensorAttr{Tensor::Scalar(static_cast<int32_t>(batch)), ""});
    const NodeId added = graph->AddNode(std::move(count));
    graph->node(taker).inputs.at(1) = {added, 0};
    any = true;
  }
  if (!any)
    Throw(Code::kNotFound, "nothing takes batches from the queue '{}'", QueueName(graph->node(queue)));
}

void SetCapacity(NodeId queue, int64_t capacity, Graph* graph) {
  Node& node = graph->node(queue);
  const int64_t kept = node.IntAttr("min_after_dequeue", 0);
  if (capacity <= kept && node.op.starts_with("RandomShuffleQueue"))
    Throw(Code::kInvalidArgument, "the queue '{}' keeps {} elements to mix: its capacity must be larger",
          QueueName(node), kept);
  node.attrs["capacity"] = AttrValue(capacity);
}

}  // namespace

void ApplyQueueChange(std::string_view text, Graph* graph, RunSpec* spec) {
  const std::optional<QueueChange> change = ParseQueueChange(text);
  if (!change) Throw(Code::kInvalidArgument, "{}", CheckQueueChange(std::string(text)));
  const NodeId queue = FindQueue(*graph, change->queue);
  if (change->key == "threads") return SetThreads(*graph, queue, change->value, spec);
  if (change->key == "capacity") return SetCapacity(queue, change->value, graph);
  SetBatch(queue, change->value, graph);
}

std::string CheckQueueChange(const std::string& change) {
  if (ParseQueueChange(change)) return "";
  return fmt::format("'{}' is not of the form QUEUE.threads=N (up to {}), QUEUE.capacity=N or QUEUE.batch=N",
                     change, kMaxThreads);
}

}  // namespace lanescope::study
