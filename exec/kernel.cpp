#include "exec/kernel.h"

#include <algorithm>
#include <utility>

namespace lanescope::exec {

void WorkerTeam::ThrowStopped() { Throw(Code::kCancelled, "the step has ended before this op"); }

void KernelContext::SetOutputShape(int i, const Shape& shape) {
  TensorRef& ref = output(i);
  LANESCOPE_CHECK(shape.IsExact());
  const int64_t element = ref.dtype == DataType::kString ? static_cast<int64_t>(sizeof(std::string))
                                                         : static_cast<int64_t>(ElementSize(ref.dtype));
  const int64_t elements = shape.NumElements();
  if (element > 0 && elements > ref.capacity_bytes / element) {
    Throw(
        Code::kResourceExhausted,
        "output {} of shape {} needs {} elements of {} bytes, but {} bytes were planned: its size depends on "
        "values, and these go beyond what the shapes of the inputs let expect",
        i, shape.ToString(), elements, element, ref.capacity_bytes);
  }
  ref.shape = shape;
}

void KernelRegistry::Register(std::string op, KernelFactory factory) {
  const bool added = factories_.emplace(op, factory).second;
  if (!added)
    Throw(Code::kAlreadyExists, "op {} has two kernels for one kind of memory; register it once", op);
}

bool KernelRegistry::Has(std::string_view op) const { return factories_.contains(std::string(op)); }

std::vector<std::string_view> KernelRegistry::Names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, factory] : factories_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::unique_ptr<Kernel> KernelRegistry::Create(const Node& node) const {
  const auto found = factories_.find(node.op);
  if (found == factories_.end()) {
    Throw(Code::kUnimplemented, "node {}: op {} has no kernel for the memory of its device", node.name,
          node.op);
  }
  return found->second(node);
}

}  // namespace lanescope::exec
