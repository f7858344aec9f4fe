// SPDX-License-Identifier: Apache-2.0
#include "exec/device/kernel.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <utility>

namespace lanescope::exec {

namespace {

constexpr size_t kMemoryAlignment = 256;
constexpr int64_t kMostBytes = int64_t{1} << 40;

}  // namespace

void WaitingKernel::Compute(KernelContext& context) {
  std::mutex mutex;
  std::condition_variable changed;
  bool resumed = false;
  const auto resume = [&] {
    const std::lock_guard lock(mutex);
    resumed = true;
    changed.notify_one();
  };
  while (!Advance(context, resume)) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return resumed; });
    resumed = false;
  }
}

const Node& KernelContext::handle_node(int input) const {
  Throw(Code::kInvalidArgument, "input {} is no handle of a resource", input);
}

void WorkerTeam::ThrowStopped() { Throw(Code::kCancelled, "the step has ended before this op"); }

void GrowingMemory::FreeAligned::operator()(std::byte* memory) const {
  ::operator delete[](memory, std::align_val_t{kMemoryAlignment});
}

void GrowingMemory::Reserve(DataType dtype, int64_t elements) {
  const int64_t size = dtype == DataType::kString ? static_cast<int64_t>(sizeof(std::string))
                                                  : static_cast<int64_t>(ElementSize(dtype));
  if (size > 0 && elements > kMostBytes / size) {
    Throw(Code::kResourceExhausted, "a tensor of {} elements of {} bytes is too large", elements, size);
  }
  if (elements * size <= capacity_bytes_) return;
  // Half as much again, so that sizes that creep up do not move it each time.
  const int64_t room =
      elements * size > capacity_bytes_ && capacity_bytes_ > 0 ? elements + elements / 2 : elements;
  capacity_bytes_ = 0;
  data_ = nullptr;
  try {
    if (dtype == DataType::kString) {
      strings_.reset();
      strings_ = std::make_unique<std::string[]>(static_cast<size_t>(room));
      data_ = strings_.get();
    } else {
      bytes_.reset();
      bytes_.reset(static_cast<std::byte*>(
          ::operator new[](static_cast<size_t>(room * size), std::align_val_t{kMemoryAlignment})));
      data_ = bytes_.get();
    }
  } catch (const std::bad_alloc&) {
    Throw(Code::kResourceExhausted, "the host has no {} bytes left for a tensor", room * size);
  }
  capacity_bytes_ = room * size;
}

void KernelContext::SetOutputShape(int i, const Shape& shape) {
  TensorRef& ref = output(i);
  LANESCOPE_CHECK(shape.IsExact());
  if (ref.growing != nullptr) {
    ref.growing->Reserve(ref.dtype, shape.NumElements());
    ref.data = ref.growing->data();
    ref.capacity_bytes = ref.growing->capacity_bytes();
    ref.shape = shape;
    return;
  }
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
