// Rows dealt out by number, and put together again: DynamicPartition, DynamicStitch.
#include "exec/kernels/row_access.h"
#include "exec/kernels/sparse_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Inputs: N index tensors, then N data tensors data[i] = indices[i].shape + row. Later rows win.
void ComputeDynamicStitch(KernelContext& context) {
  const int pairs = context.num_inputs() / 2;
  int64_t rows = 0;
  Shape row_shape;
  for (int p = 0; p < pairs; ++p) {
    const TensorRef& indices = context.input(p);
    const TensorRef& data = context.input(pairs + p);
    bool prefix = indices.shape.rank() <= data.shape.rank();
    for (int d = 0; prefix && d < indices.shape.rank(); ++d) prefix = indices.shape[d] == data.shape[d];
    if (!prefix) {
      Throw(Code::kInvalidArgument, "data[{}].shape = {} does not start with indices[{}].shape = {}", p,
            data.shape.ToString(), p, indices.shape.ToString());
    }
    Shape shape;
    for (int d = indices.shape.rank(); d < data.shape.rank(); ++d) shape.Append(data.shape[d]);
    if (p > 0 && !(shape == row_shape)) {
      Throw(Code::kInvalidArgument,
            "Need data[0].shape[{}:] = data[{}].shape[{}:], got data[0].shape = {}, data[{}].shape = {}",
            context.input(0).shape.rank(), p, indices.shape.rank(), context.input(pairs).shape.ToString(), p,
            data.shape.ToString());
    }
    row_shape = shape;
    for (const int64_t index : ReadInts(indices)) {
      if (index < 0) Throw(Code::kInvalidArgument, "indices[{}] = {} is out of range", p, index);
      rows = std::max(rows, AddDims(index, 1));
    }
  }
  Shape shape = row_shape;
  shape.Insert(0, rows);
  ShapeOutput(context, 0, shape);
  const TensorRef& out = context.output();
  ZeroElements(out.dtype, out.data, out.NumElements(), context.team());
  const int64_t inner = row_shape.NumElements();
  DispatchBySize(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int p = 0; p < pairs; ++p) {
      const T* source = context.input(pairs + p).as<T>();
      for (const int64_t index : ReadInts(context.input(p))) {
        std::copy_n(source, inner, out.as<T>() + index * inner);
        source += inner;
      }
    }
  });
}

class DynamicPartitionKernel : public Kernel {
 public:
  explicit DynamicPartitionKernel(const Node& node) : parts_(node.IntAttr("num_partitions")) {}

  void Compute(KernelContext& context) override {
    const TensorRef& data = context.input(0);
    const TensorRef& partitions = context.input(1);
    bool prefix = partitions.shape.rank() <= data.shape.rank();
    for (int d = 0; prefix && d < partitions.shape.rank(); ++d) {
      prefix = partitions.shape[d] == data.shape[d];
    }
    if (!prefix) {
      Throw(Code::kInvalidArgument,
            "data.shape must start with partitions.shape, got data.shape = {}, "
            "partitions.shape = {}",
            data.shape.ToString(), partitions.shape.ToString());
    }
    CheckIndices("partitions", partitions, parts_);
    const std::vector<int64_t> part_of = ReadInts(partitions);
    std::vector<int64_t> sizes(static_cast<size_t>(parts_), 0);
    for (const int64_t part : part_of) ++sizes[static_cast<size_t>(part)];
    for (int64_t part = 0; part < parts_; ++part) {
      Shape shape{sizes[static_cast<size_t>(part)]};
      for (int d = partitions.shape.rank(); d < data.shape.rank(); ++d) shape.Append(data.shape[d]);
      ShapeOutput(context, static_cast<int>(part), shape);
    }
    const int64_t inner = SizeOfDims(data.shape, partitions.shape.rank(), data.shape.rank());
    DispatchBySize(data.dtype, [&](auto tag) {
      using T = decltype(tag);
      std::vector<T*> next;
      for (int64_t part = 0; part < parts_; ++part) {
        next.push_back(context.output(static_cast<int>(part)).template as<T>());
      }
      const T* source = data.as<T>();
      for (const int64_t part : part_of) {
        T*& out = next[static_cast<size_t>(part)];
        out = std::copy_n(source, inner, out);
        source += inner;
      }
    });
  }

 private:
  int64_t parts_;
};

}  // namespace

void RegisterPartitionKernels(KernelRegistry& registry) {
  registry.Register("DynamicStitch", MakeFunctionKernel<ComputeDynamicStitch>);
  registry.Register("ParallelDynamicStitch", MakeFunctionKernel<ComputeDynamicStitch>);
  registry.Register("DynamicPartition", MakeKernel<DynamicPartitionKernel>);
}

}  // namespace lanescope::exec
