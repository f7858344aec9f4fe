// SPDX-License-Identifier: Apache-2.0
// Queues of tensors. An op by handle ends in V2; the older one takes a reference instead.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/shape_rules.h"

namespace lanescope::ops {
namespace {

// The handle says what an element is: it refers to the first component, which refers to the second, and so
// on.
void InferQueue(InferenceContext& context) {
  const Node& node = context.node();
  const auto& types = node.TypeListAttr("component_types");
  const AttrValue* attr = node.FindAttr("shapes");
  const auto* shapes = attr != nullptr ? std::get_if<std::vector<ShapeAttr>>(attr) : nullptr;
  std::shared_ptr<const TensorInfo> components;
  for (size_t i = types.size(); i-- > 0;) {
    TensorInfo component;
    component.dtype = types[i];
    if (shapes != nullptr && shapes->size() == types.size()) component.shape = (*shapes)[i].shape;
    component.handle = std::move(components);
    components = std::make_shared<const TensorInfo>(std::move(component));
  }
  const bool is_reference = context.output().dtype == DataType::kString;
  context.SetShape(0, is_reference ? Shape{2} : Shape{});
  context.output().handle = std::move(components);
}

// The queue's declaration of its components, of which there must be `count`; empty for an unknown queue.
std::vector<const TensorInfo*> ComponentsOf(const InferenceContext& context, int count) {
  std::vector<const TensorInfo*> components;
  for (const TensorInfo* c = context.input(0).handle.get(); c != nullptr; c = c->handle.get()) {
    components.push_back(c);
  }
  if (!components.empty() && components.size() != static_cast<size_t>(count)) {
    Throw(Code::kInvalidArgument, "Wrong number of components in tuple. Expected {}, got {}",
          components.size(), count);
  }
  return components;
}

void RequireType(int i, DataType declared, DataType given) {
  if (declared == given) return;
  Throw(Code::kInvalidArgument, "Type mismatch in tuple component {}. Expected {}, got {}", i,
        DataTypeName(declared), DataTypeName(given));
}

void InferDequeue(InferenceContext& context) {
  int i = 0;
  for (const TensorInfo* component : ComponentsOf(context, context.num_outputs())) {
    RequireType(i, component->dtype, context.output(i).dtype);
    context.SetShape(i++, component->shape);
  }
}

// A batch of `size` elements.
void InferBatch(InferenceContext& context, Dim size) {
  InferDequeue(context);
  for (int i = 0; i < context.num_outputs(); ++i) {
    Shape batch = context.output(i).shape;
    if (!batch.known_rank()) continue;
    batch.Insert(0, size);
    context.SetShape(i, batch);
  }
}

Dim BatchSize(const InferenceContext& context) {
  context.RequireRank(1, 0);
  const auto count = context.IntScalar(1);
  if (!count) return kUnknownDim;
  if (*count < 0) Throw(Code::kInvalidArgument, "requested {} < 0 elements", *count);
  return *count;
}

void InferDequeueMany(InferenceContext& context) { InferBatch(context, BatchSize(context)); }
// A closed queue may give fewer.
void InferDequeueUpTo(InferenceContext& context) { InferBatch(context, Loosen(BatchSize(context))); }

void CheckEnqueue(InferenceContext& context) {
  int i = 0;  // input 0 is the queue
  for (const TensorInfo* component : ComponentsOf(context, context.num_inputs() - 1)) {
    ++i;
    RequireType(i - 1, component->dtype, context.input(i).dtype);
    if (!Contradict(component->shape, context.shape(i))) continue;
    Throw(Code::kInvalidArgument, "Shape mismatch in tuple component {}. Expected {}, got {}", i - 1,
          component->shape.ToString(), context.shape(i).ToString());
  }
}

void CheckEnqueueMany(InferenceContext& context) {
  int i = 0;  // input 0 is the queue
  for (const TensorInfo* component : ComponentsOf(context, context.num_inputs() - 1)) {
    ++i;
    RequireType(i - 1, component->dtype, context.input(i).dtype);
    if (!component->shape.known_rank()) continue;
    Shape batch = component->shape;
    batch.Insert(0, kUnknownDim);
    if (!Contradict(batch, context.shape(i))) continue;
    Throw(Code::kInvalidArgument, "Shape mismatch in tuple component {}. Expected {}, got {}", i - 1,
          batch.ToString(), context.shape(i).ToString());
  }
}

constexpr char kQueueAttrs[] =
    "component_types: list(type) >= 1; shapes: list(shape) = []; capacity: int = -1; container: string = ''; "
    "shared_name: string = ''";
constexpr char kShuffleAttrs[] =
    "component_types: list(type) >= 1; shapes: list(shape) = []; capacity: int = -1; min_after_dequeue: int "
    "= 0; seed: int = 0; seed2: int = 0; container: string = ''; shared_name: string = ''";
constexpr char kDequeueAttrs[] = "component_types: list(type) >= 1; timeout_ms: int = -1";
constexpr char kEnqueueAttrs[] = "Tcomponents: list(type) >= 1; timeout_ms: int = -1";

// The ops of one kind of handle.
void RegisterQueues(OpRegistry& registry, const std::string& version, const std::string& handle) {
  const OpLister op(registry);
  const auto queue = [&](const std::string& name, const char* attrs) {
    op(name + version + "() -> (handle: " + handle + ")", attrs)
        .Infer(InferQueue)
        .Role(StateRole::kTable)
        .HostOnly()
        .Work(NoWork)
        .Stateful();
  };
  queue("FIFOQueue", kQueueAttrs);
  queue("PaddingFIFOQueue", kQueueAttrs);
  queue("RandomShuffleQueue", kShuffleAttrs);
  const auto use = [&](const std::string& name, const std::string& inputs, const std::string& outputs,
                       const char* attrs) {
    const std::string signature = name + version + "(handle: " + handle + inputs + ") -> (" + outputs + ")";
    return op(signature, attrs).HostOnly().Stateful();
  };
  const std::string components = "components: component_types";
  use("QueueEnqueue", ", components: Tcomponents", "", kEnqueueAttrs).Infer(CheckEnqueue);
  use("QueueEnqueueMany", ", components: Tcomponents", "", kEnqueueAttrs).Infer(CheckEnqueueMany);
  use("QueueDequeue", "", components, kDequeueAttrs).Infer(InferDequeue);
  use("QueueDequeueMany", ", n: int32", components, kDequeueAttrs).Infer(InferDequeueMany);
  use("QueueDequeueUpTo", ", n: int32", components, kDequeueAttrs).Infer(InferDequeueUpTo);
  use("QueueClose", "", "", "cancel_pending_enqueues: bool = false").Work(NoWork);
  use("QueueSize", "", "size: int32", "").Infer(ScalarOutput).Work(NoWork);
  use("QueueIsClosed", "", "is_closed: bool", "").Infer(ScalarOutput).Work(NoWork);
}

}  // namespace

void RegisterQueueOps(OpRegistry& registry) {
  RegisterQueues(registry, "", "Ref(string)");
  RegisterQueues(registry, "V2", "resource");
}

}  // namespace lanescope::ops
