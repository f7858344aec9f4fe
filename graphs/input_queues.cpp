// SPDX-License-Identifier: Apache-2.0
#include "graphs/input_queues.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace lanescope::graphs {
namespace {

using Attrs = std::vector<std::pair<std::string_view, AttrValue>>;

std::string LastName(const Scope& scope, Endpoint node) {
  const std::string& name = scope.graph().node(node.node).name;
  return name.substr(name.rfind('/') + 1);
}

// An op on the queue, called after it and where it is, whatever the device scopes say.
Endpoint OnQueue(Scope& scope, Endpoint queue, std::string_view op, const std::string& suffix,
                 std::vector<InputList> arguments, Attrs attrs = {}) {
  arguments.insert(arguments.begin(), InputList{queue});
  const auto with = scope.ColocateWith(queue);
  return scope.Add(op, LastName(scope, queue) + suffix, std::move(arguments), std::move(attrs));
}

// A summary of how full the queue is: (size - least) * factor.
void SummarizeFill(Scope& scope, Endpoint queue, const std::string& tag, int64_t least, int64_t room) {
  Endpoint size = OnQueue(scope, queue, "QueueSizeV2", "_Size", {});
  if (least > 0) {
    const Endpoint over = scope.Add("Sub", "sub", {InputList{size}, InputList{Input(least)}});
    size = scope.Add("Maximum", "Maximum", {InputList{Input(0)}, InputList{over}});
  }
  const Endpoint full =
      scope.Add("Mul", "mul",
                {InputList{scope.Add("Cast", "Cast", {InputList{size}}, {{"DstT", DataType::kFloat}})},
                 InputList{Input(1.0f / static_cast<float>(room))}});
  const Endpoint tags =
      scope.Constant(Tensor::Scalar<std::string>(scope.CurrentNames() + tag), tag + "/tags");
  scope.Add("ScalarSummary", tag, {InputList{tags}, InputList{full}});
}

// One example of these tensors.
struct Example {
  std::vector<DataType> types;
  std::vector<ShapeAttr> shapes;
};

Example ExampleOf(const Scope& scope, const std::vector<Endpoint>& tensors, bool many, bool may_be_open) {
  if (tensors.empty()) Throw(Code::kInvalidArgument, "Expected at least one tensor in an example");
  Example example;
  for (const Endpoint tensor : tensors) {
    lanescope::Shape shape = scope.ShapeOf(tensor);
    if (many && shape.known_rank() && shape.rank() > 0) shape.Erase(0);
    if (!shape.known_rank() || (!may_be_open && !shape.IsExact())) {
      Throw(Code::kInvalidArgument, "All shapes must be fully defined: '{}' is {}",
            scope.graph().TensorName(tensor), scope.ShapeOf(tensor).ToString());
    }
    example.types.push_back(scope.TypeOf(tensor));
    example.shapes.push_back({shape, {}});
  }
  return example;
}

// Checks that several sources give the same types; a dimension that differs is open.
Example CommonExample(const Scope& scope, const std::vector<std::vector<Endpoint>>& sources, bool many,
                      bool may_be_open) {
  if (sources.empty()) Throw(Code::kInvalidArgument, "Expected at least one source of examples");
  Example common = ExampleOf(scope, sources[0], many, may_be_open);
  for (const auto& source : sources) {
    const Example example = ExampleOf(scope, source, many, may_be_open);
    if (example.types != common.types) {
      Throw(Code::kInvalidArgument, "Expected all sources of examples to have the same types");
    }
    for (size_t i = 0; i < common.shapes.size(); ++i) {
      lanescope::Shape& shape = common.shapes[i].shape;
      const lanescope::Shape& other = example.shapes[i].shape;
      if (shape == other) continue;
      if (!may_be_open || shape.rank() != other.rank()) {
        Throw(Code::kInvalidArgument,
              "Expected all sources of examples to have the same shapes, not {} and {}", shape.ToString(),
              other.ToString());
      }
      for (int d = 0; d < shape.rank(); ++d) {
        if (shape[d] != other[d]) shape.set_dim(d, kUnknownDim);
      }
    }
  }
  return common;
}

std::vector<Endpoint> Enqueues(Scope& scope, Endpoint queue,
                               const std::vector<std::vector<Endpoint>>& sources, bool many, int threads) {
  std::vector<Endpoint> ops;
  for (const auto& source : sources) {
    InputList components(std::vector<Input>(source.begin(), source.end()));
    ops.push_back(OnQueue(scope, queue, many ? "QueueEnqueueManyV2" : "QueueEnqueueV2",
                          many ? "_EnqueueMany" : "_enqueue", {std::move(components)}));
  }
  // Several threads run one source's op.
  if (ops.size() == 1) ops.assign(static_cast<size_t>(std::max(1, threads)), ops[0]);
  return ops;
}

// Batches from the queue, called as the scope is.
std::vector<Endpoint> Dequeue(Scope& scope, Endpoint queue, const std::vector<DataType>& types, int32_t size,
                              bool smaller) {
  if (size <= 0) Throw(Code::kInvalidArgument, "a batch must have at least one example, not {}", size);
  const Endpoint count = scope.Constant(Tensor::Scalar<int32_t>(size), "n");
  const std::string name = scope.CurrentNames();
  const Endpoint batch = scope.Add(smaller ? "QueueDequeueUpToV2" : "QueueDequeueManyV2", name,
                                   {InputList{queue}, InputList{count}}, {{"component_types", types}});
  return scope.Outputs(batch);
}

std::vector<Endpoint> BatchOf(Scope& scope, const std::vector<std::vector<Endpoint>>& sources, int32_t size,
                              const BatchOptions& options) {
  const auto names = scope.Name(options.name);
  const Example example = CommonExample(scope, sources, options.enqueue_many, options.pad);
  const Endpoint queue = scope.Add(options.pad ? "PaddingFIFOQueueV2" : "FIFOQueueV2",
                                   options.pad ? "padding_fifo_queue" : "fifo_queue", {},
                                   {{"component_types", example.types},
                                    {"shapes", example.shapes},
                                    {"capacity", options.capacity},
                                    {"shared_name", std::string(options.shared_name)}});
  AddQueueRunner(scope, queue, Enqueues(scope, queue, sources, options.enqueue_many, options.threads));
  SummarizeFill(scope, queue, fmt::format("fraction_of_{}_full", options.capacity), 0, options.capacity);
  return Dequeue(scope, queue, example.types, size, options.smaller_final_batch);
}

std::vector<Endpoint> ShuffleBatchOf(Scope& scope, const std::vector<std::vector<Endpoint>>& sources,
                                     int32_t size, int64_t capacity, int64_t min_after_dequeue,
                                     const ShuffleOptions& options) {
  if (capacity <= min_after_dequeue) {
    Throw(Code::kInvalidArgument, "capacity {} must be bigger than min_after_dequeue {}.", capacity,
          min_after_dequeue);
  }
  const auto names = scope.Name(options.name);
  const Example example = CommonExample(scope, sources, options.enqueue_many, false);
  const Endpoint queue = scope.Add("RandomShuffleQueueV2", "random_shuffle_queue", {},
                                   {{"component_types", example.types},
                                    {"shapes", example.shapes},
                                    {"capacity", capacity},
                                    {"min_after_dequeue", min_after_dequeue},
                                    {"seed", options.seed == 0 ? int64_t{0} : scope.random_seed()},
                                    {"seed2", options.seed},
                                    {"shared_name", std::string(options.shared_name)}});
  AddQueueRunner(scope, queue, Enqueues(scope, queue, sources, options.enqueue_many, options.threads));
  const int64_t room = capacity - min_after_dequeue;
  SummarizeFill(scope, queue, fmt::format("fraction_over_{}_of_{}_full", min_after_dequeue, room),
                min_after_dequeue, room);
  return Dequeue(scope, queue, example.types, size, options.smaller_final_batch);
}

// The rows of a tensor as a queue, below the names that are open.
Endpoint Produce(Scope& scope, Endpoint rows, const std::string& queue_name, const ProducerOptions& options) {
  lanescope::Shape row = scope.ShapeOf(rows);
  if (!row.known_rank() || row.rank() == 0) {
    Throw(Code::kInvalidArgument,
          "the rows that a producer gives must be those of a tensor of known rank, not {}", row.ToString());
  }
  row.Erase(0);
  if (!row.IsExact()) {
    Throw(Code::kInvalidArgument, "the rows that a producer gives must have a fully defined shape, not {}",
          row.ToString());
  }
  if (options.shuffle) {
    rows =
        scope.Add("RandomShuffle", "RandomShuffle", {InputList{rows}},
                  {{"seed", options.seed == 0 ? int64_t{0} : scope.random_seed()}, {"seed2", options.seed}});
  }
  if (options.epochs != 0) rows = LimitEpochs(scope, rows, options.epochs);
  const Endpoint queue = scope.Add("FIFOQueueV2", queue_name, {},
                                   {{"component_types", std::vector<DataType>{scope.TypeOf(rows)}},
                                    {"shapes", std::vector<ShapeAttr>{{row, {}}}},
                                    {"capacity", options.capacity},
                                    {"shared_name", std::string(options.shared_name)}});
  AddQueueRunner(scope, queue, Enqueues(scope, queue, {{rows}}, true, 1));
  SummarizeFill(scope, queue, fmt::format("fraction_of_{}_full", options.capacity), 0, options.capacity);
  return queue;
}

}  // namespace

void AddQueueRunner(Scope& scope, Endpoint queue, const std::vector<Endpoint>& enqueue_ops) {
  QueueRunnerSpec runner;
  runner.queue = LastName(scope, queue);
  for (const Endpoint op : enqueue_ops) runner.enqueue_ops.push_back(scope.graph().node(op.node).name);
  const auto name = [&](Endpoint op) { return scope.graph().node(op.node).name; };
  runner.close_op = name(OnQueue(scope, queue, "QueueCloseV2", "_Close", {}));
  runner.cancel_op =
      name(OnQueue(scope, queue, "QueueCloseV2", "_Close", {}, {{"cancel_pending_enqueues", true}}));
  scope.KeepQueueRunner(std::move(runner));
}

Endpoint LimitEpochs(Scope& scope, Endpoint tensor, int64_t epochs) {
  if (epochs <= 0) Throw(Code::kInvalidArgument, "num_epochs must be > 0 not {}.", epochs);
  const auto names = scope.Name("limit_epochs");
  const std::string full = scope.CurrentNames();
  const Endpoint zero = scope.Constant(Tensor::Scalar<int64_t>(0), "Const");
  const Variable& counter = scope.NewVariable(zero, {.name = "epochs", .trainable = false});
  const Endpoint count = scope.Add("CountUpTo", "CountUpTo", {InputList{counter.ref}}, {{"limit", epochs}});
  const auto after = scope.ControlDependencies({count});
  return scope.Add("Identity", full, {InputList{tensor}});
}

Endpoint InputProducer(Scope& scope, const Input& rows, const ProducerOptions& options) {
  const auto names = scope.Name(options.name);
  const Endpoint tensor = rows.endpoint() != nullptr ? *rows.endpoint() : scope.Constant(rows.value());
  return Produce(scope, tensor, std::string(options.name), options);
}

Endpoint StringInputProducer(Scope& scope, const std::vector<std::string>& texts,
                             const ProducerOptions& options) {
  if (texts.empty()) {
    Throw(Code::kInvalidArgument, "string_input_producer requires a non-null input tensor");
  }
  return InputProducer(
      scope, Input(Tensor::FromValues(lanescope::Shape{static_cast<Dim>(texts.size())}, texts)), options);
}

Endpoint RangeInputProducer(Scope& scope, const Input& limit, const ProducerOptions& options) {
  const auto names = scope.Name(options.name);
  const Endpoint numbers =
      scope.Add("Range", "range", {InputList{Input(0)}, InputList{limit}, InputList{Input(1)}});
  return Produce(scope, numbers, std::string(options.name), options);
}

std::vector<Endpoint> SliceInputProducer(Scope& scope, const std::vector<Endpoint>& tensors,
                                         const ProducerOptions& options) {
  if (tensors.empty()) {
    Throw(Code::kInvalidArgument, "Expected at least one tensor in slice_input_producer().");
  }
  const auto names = scope.Name(options.name);
  const lanescope::Shape& shape = scope.ShapeOf(tensors[0]);
  if (!shape.known_rank() || shape.rank() == 0 || !IsExact(shape[0])) {
    Throw(Code::kInvalidArgument, "the slices of '{}' cannot be counted: its shape is {}",
          scope.graph().TensorName(tensors[0]), shape.ToString());
  }
  ProducerOptions inner = options;
  inner.name = "input_producer";
  const Endpoint queue = RangeInputProducer(scope, Input(static_cast<int32_t>(shape[0])), inner);
  const Endpoint index =
      scope.Outputs(OnQueue(scope, queue, "QueueDequeueV2", "_Dequeue", {},
                            {{"component_types", std::vector<DataType>{DataType::kInt32}}}))[0];
  std::vector<Endpoint> slices;
  for (const Endpoint tensor : tensors) {
    slices.push_back(
        scope.Add("GatherV2", "Gather", {InputList{tensor}, InputList{index}, InputList{Input(0)}}));
  }
  return slices;
}

std::vector<Endpoint> Batch(Scope& scope, const std::vector<Endpoint>& example, int32_t size,
                            const BatchOptions& options) {
  return BatchOf(scope, {example}, size, options);
}

std::vector<Endpoint> BatchJoin(Scope& scope, const std::vector<std::vector<Endpoint>>& examples,
                                int32_t size, const BatchOptions& options) {
  return BatchOf(scope, examples, size, options);
}

std::vector<Endpoint> ShuffleBatch(Scope& scope, const std::vector<Endpoint>& example, int32_t size,
                                   int64_t capacity, int64_t min_after_dequeue,
                                   const ShuffleOptions& options) {
  return ShuffleBatchOf(scope, {example}, size, capacity, min_after_dequeue, options);
}

std::vector<Endpoint> ShuffleBatchJoin(Scope& scope, const std::vector<std::vector<Endpoint>>& examples,
                                       int32_t size, int64_t capacity, int64_t min_after_dequeue,
                                       const ShuffleOptions& options) {
  return ShuffleBatchOf(scope, examples, size, capacity, min_after_dequeue, options);
}

}  // namespace lanescope::graphs
