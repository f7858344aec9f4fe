#include "exec/kernels/queue_handle.h"

#include <utility>

#include "exec/resources/resource_manager.h"
#include "exec/resources/resource_name.h"

namespace lanescope::exec {
namespace {

// A session's hold on a queue. A queue that no other session can name ends with it.
class QueueHandle final : public Resource {
 public:
  QueueHandle(ResourceManager* resources, ResourceName name, std::shared_ptr<TensorQueue> queue)
      : resources_(resources), name_(std::move(name)), queue_(std::move(queue)) {}
  ~QueueHandle() override {
    if (!name_.is_private) return;
    try {
      resources_->Delete<TensorQueue>(name_.container, name_.name);
    } catch (const Error&) {  // its container was emptied before
    }
  }
  QueueHandle(const QueueHandle&) = delete;
  QueueHandle& operator=(const QueueHandle&) = delete;

  const std::shared_ptr<TensorQueue>& queue() const { return queue_; }

 private:
  ResourceManager* const resources_;
  const ResourceName name_;
  const std::shared_ptr<TensorQueue> queue_;
};

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
  // An attribute with its default may be left out of a file.
  const ResourceName name = NameResource({.container = node.StringAttr("container", ""),
                                          .shared_name = node.StringAttr("shared_name", ""),
                                          .node_name = node.name});
  auto queue = FindOrMakeQueue(resources, name.container, name.name, spec, node.name);
  return std::make_unique<QueueHandle>(resources, name, std::move(queue));
}

}  // namespace

std::shared_ptr<TensorQueue> QueueOf(KernelContext& context, int input) {
  const Node& node = context.handle_node(input);
  Resource& resource =
      context.FindOrCreateResource(input, [&] { return MakeHandle(node, &context.resources()); });
  auto* handle = dynamic_cast<QueueHandle*>(&resource);
  if (handle == nullptr) {
    Throw(Code::kInvalidArgument, "'{}' ({}) is no queue", node.name, node.op);
  }
  return handle->queue();
}

std::string QueueTitle(KernelContext& context, int input) {
  const Node& node = context.handle_node(input);
  const std::string shared_name = node.StringAttr("shared_name", "");
  return fmt::format("queue '{}'", shared_name.empty() ? node.name : shared_name);
}

}  // namespace lanescope::exec
