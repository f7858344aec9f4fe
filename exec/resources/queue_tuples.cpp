// SPDX-License-Identifier: Apache-2.0
#include "exec/resources/queue_tuples.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace lanescope::exec {
namespace {

void CheckComponents(const QueueSpec& spec, const QueueTuple& tuple) {
  if (tuple.size() != spec.types.size()) {
    Throw(Code::kInvalidArgument, "Wrong number of components in tuple. Expected {}, got {}",
          spec.types.size(), tuple.size());
  }
  for (size_t i = 0; i < tuple.size(); ++i) {
    if (tuple[i].dtype() == spec.types[i]) continue;
    Throw(Code::kInvalidArgument, "Type mismatch in tuple component {}. Expected {}, got {}", i,
          DataTypeName(spec.types[i]), DataTypeName(tuple[i].dtype()));
  }
}

bool Fits(const Shape& declared, const Shape& shape) {
  if (declared.rank() != shape.rank()) return false;
  for (int d = 0; d < shape.rank(); ++d) {
    if (IsExact(declared[d]) && declared[d] != shape[d]) return false;
  }
  return true;
}

void CheckShape(const Shape& declared, const Tensor& tensor, size_t component) {
  if (Fits(declared, tensor.shape())) return;
  Throw(Code::kInvalidArgument, "Shape mismatch in tuple component {}. Expected {}, got {}", component,
        declared.ToString(), tensor.shape().ToString());
}

Shape BatchOf(const Shape& shape, Dim size) {
  Shape batch = shape;
  batch.Insert(0, size);
  return batch;
}

// Copies elements [from, from + count) of a tensor behind each other to `to` onwards.
void CopyElements(const Tensor& source, int64_t from, Tensor* target, int64_t to, int64_t count) {
  if (source.dtype() == DataType::kString) {
    std::copy_n(source.data<std::string>() + from, count, target->data<std::string>() + to);
    return;
  }
  const size_t size = ElementSize(source.dtype());
  if (count == 0 || size == 0) return;
  std::memcpy(static_cast<std::byte*>(target->raw_data()) + static_cast<size_t>(to) * size,
              static_cast<const std::byte*>(source.raw_data()) + static_cast<size_t>(from) * size,
              static_cast<size_t>(count) * size);
}

// `source` into the block of `target` that begins at `to` and has the shape `block`, from its first corner.
void CopyBlock(const Tensor& source, const Shape& block, Tensor* target, int64_t to) {
  const Shape& shape = source.shape();
  if (shape == block) return CopyElements(source, 0, target, to, source.NumElements());
  if (source.NumElements() == 0) return;
  const int last = shape.rank() - 1;
  const int64_t run = shape[last];
  std::array<int64_t, Shape::kMaxRank> index{};
  for (int64_t from = 0; from < source.NumElements(); from += run) {
    int64_t offset = 0;
    for (int d = 0; d <= last; ++d) offset = offset * block[d] + index[static_cast<size_t>(d)];
    CopyElements(source, from, target, to + offset, run);
    for (int d = last - 1; d >= 0 && ++index[static_cast<size_t>(d)] == shape[d]; --d) {
      index[static_cast<size_t>(d)] = 0;
    }
  }
}

// The declared shape, with each unknown dimension as large as the largest of component `i`.
Shape PaddedShape(const Shape& declared, const std::vector<QueueTuple>& elements, size_t i) {
  Shape shape = declared;
  for (int d = 0; d < shape.rank(); ++d) {
    if (IsExact(shape[d])) continue;
    int64_t largest = 0;
    for (const QueueTuple& element : elements) largest = std::max(largest, element[i].shape()[d]);
    shape.set_dim(d, largest);
  }
  return shape;
}

}  // namespace

void CheckElement(const QueueSpec& spec, const QueueTuple& element) {
  CheckComponents(spec, element);
  for (size_t i = 0; i < spec.shapes.size(); ++i) CheckShape(spec.shapes[i], element[i], i);
}

int64_t CheckBatch(const QueueSpec& spec, const QueueTuple& batch) {
  CheckComponents(spec, batch);
  const bool has_size = batch[0].shape().rank() > 0;
  const Dim size = has_size ? batch[0].shape()[0] : kUnknownDim;
  if (!spec.shapes.empty()) {
    for (size_t i = 0; i < batch.size(); ++i) CheckShape(BatchOf(spec.shapes[i], size), batch[i], i);
    return size;
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].shape().rank() == 0) {
      Throw(Code::kInvalidArgument,
            "Shape mismatch in tuple component {}. Expected a batch of elements, got the scalar shape []", i);
    }
    if (batch[i].shape()[0] == size) continue;
    Throw(Code::kInvalidArgument,
          "All input tensors must have the same size in the 0th dimension. Component {} has {}, and should "
          "have {}",
          i, batch[i].shape()[0], size);
  }
  return size;
}

QueueTuple ElementOf(const QueueTuple& batch, int64_t index) {
  QueueTuple element;
  element.reserve(batch.size());
  for (const Tensor& component : batch) {
    Shape shape = component.shape();
    shape.Erase(0);
    Tensor& tensor = element.emplace_back(component.dtype(), shape);
    CopyElements(component, index * tensor.NumElements(), &tensor, 0, tensor.NumElements());
  }
  return element;
}

QueueTuple JoinElements(const QueueSpec& spec, const std::vector<QueueTuple>& elements) {
  LANESCOPE_CHECK(!spec.shapes.empty());
  QueueTuple batch;
  for (size_t i = 0; i < spec.types.size(); ++i) {
    const Shape shape = PaddedShape(spec.shapes[i], elements, i);
    Tensor& tensor = batch.emplace_back(spec.types[i], BatchOf(shape, static_cast<int64_t>(elements.size())));
    const int64_t stride = shape.NumElements();
    for (size_t e = 0; e < elements.size(); ++e) {
      CopyBlock(elements[e][i], shape, &tensor, static_cast<int64_t>(e) * stride);
    }
  }
  return batch;
}

}  // namespace lanescope::exec
