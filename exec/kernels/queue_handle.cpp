// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/queue_handle.h"

#include <utility>

#include "exec/kernels/named_handle.h"

namespace lanescope::exec {
namespace {

QueueSpec SpecOf(const Node& node) {
  QueueSpec spec;
  if (node.op.starts_with("RandomShuffleQueue")) {
    spec.kind = TensorQueueKind::kRandomShuffle;
    spec.min_after_dequeue = node.IntAttr("min_after_dequeue", 0);
    spec.seed = static_cast<uint64_t>(node.IntAttr("seed", 0));
    spec.seed2 = static_cast<uint64_t>(node.IntAttr("seed2", 0));
  } else if (node.op.starts_with("PaddingFIFOQueue")) {
    spec.kind = TensorQueueKind::kPaddingFifo;
  } else if (!node.op.starts_with("FIFOQueue")) {
    Throw(Code::kInvalidArgument, "'{}' ({}) is no queue", node.name, node.op);
  }
  spec.capacity = node.IntAttr("capacity", -1);
  spec.types = node.TypeListAttr("component_types");
  if (const AttrValue* shapes = node.FindAttr("shapes")) {
    if (const auto* list = std::get_if<std::vector<ShapeAttr>>(shapes)) {
      for (const ShapeAttr& shape : *list) spec.shapes.push_back(shape.shape);
    }
  }
  return spec;
}

std::unique_ptr<Resource> MakeHandle(const Node& node, ResourceManager* resources) {
  const QueueSpec spec = SpecOf(node);
  const ResourceName name = NameOfResource(node);
  auto queue = FindOrMakeQueue(resources, name.container, name.name, spec, node.name);
  return std::make_unique<NamedHandle<TensorQueue>>(resources, name, std::move(queue));
}

}  // namespace

std::shared_ptr<TensorQueue> QueueOf(KernelContext& context, int input) {
  const Node& node = context.handle_node(input);
  Resource& resource =
      context.FindOrCreateResource(input, [&] { return MakeHandle(node, &context.resources()); });
  auto* handle = dynamic_cast<NamedHandle<TensorQueue>*>(&resource);
  if (handle == nullptr) {
    Throw(Code::kInvalidArgument, "'{}' ({}) is no queue", node.name, node.op);
  }
  return handle->resource();
}

std::string QueueTitle(KernelContext& context, int input) {
  const Node& node = context.handle_node(input);
  const std::string shared_name = node.StringAttr("shared_name", "");
  return QueueTitle(shared_name.empty() ? node.name : shared_name);
}

std::string QueueTitle(std::string_view name) {
  // "_7_examples" is the node 'examples': NameResource makes such names, and nobody else may.
  if (name.starts_with('_')) {
    const size_t end = name.find('_', 1);
    if (end != std::string_view::npos) name.remove_prefix(end + 1);
  }
  return fmt::format("queue '{}'", name);
}

}  // namespace lanescope::exec
