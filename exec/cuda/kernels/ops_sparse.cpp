// SPDX-License-Identifier: Apache-2.0
// Distinct values, segments, partitions, updates by coordinates.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/sparse.h"
#include "exec/kernels/partition_plan.h"
#include "exec/kernels/scatter_plan.h"

namespace lanescope::exec::cuda {
namespace {

// Outputs: distinct values, for each element its value's number, and (UniqueWithCounts) how often each
// occurs.
class UniqueKernel final : public UnrecordedKernel {
 public:
  explicit UniqueKernel(const Node& node) : counted_(node.op == "UniqueWithCounts") {
    const DataType dtype = node.TypeAttr("T");
    if (dtype != DataType::kBool && dtype != DataType::kUint8) LoopTypeOf(node.op, dtype);
  }

  void Compute(KernelContext& context) override {
    PlanUnique(context);
    const TensorRef& x = context.input(0);
    const int index_bytes = ReaderOf("Unique", context.output(1)).bytes;
    auto* staging = static_cast<int32_t*>(StagingOf(context, 2 * sizeof(int32_t)));
    // The other outputs have room for as many values as there are elements.
    const int64_t count =
        RunUnique(LaunchOf(context), staging, x.dtype, x.NumElements(), x.data, context.output(0).data,
                  index_bytes, context.output(1).data, counted_ ? context.output(2).data : nullptr);
    context.SetOutputShape(0, Shape{count});
    if (counted_) context.SetOutputShape(2, Shape{count});
  }

 private:
  bool counted_;
};

class WhereKernel final : public UnrecordedKernel {
 public:
  explicit WhereKernel(const Node& node) {
    const DataType dtype = node.TypeAttr("T");
    if (ElementSize(dtype) != 1) LoopTypeOf(node.op, dtype);
  }

  void Compute(KernelContext& context) override {
    const TensorRef& x = PlanWhere(context);
    auto* staging = static_cast<int32_t*>(StagingOf(context, 2 * sizeof(int32_t)));
    const int64_t size = x.NumElements();
    const NonZeros found = FindNonZeros(LaunchOf(context), staging, x.dtype, size, x.data);
    ShapeOutput(context, 0, Shape{found.count, x.shape.rank()});
    std::vector<int64_t> extents(x.shape.dims().begin(), x.shape.dims().end());
    WriteNonZeros(LaunchOf(context), found, x.dtype, size, x.data, x.shape.rank(), extents.data(),
                  context.output().as<int64_t>());
  }
};

void CombineUnsorted(KernelContext& context, const UnsortedSegments& plan) {
  const TensorRef& data = context.input(0);
  RunUnsortedSegments(LaunchOf(context), plan, LoopTypeOf("UnsortedSegment", data.dtype),
                      ReaderOf("UnsortedSegment", context.input(1)), data.data, context.output().data);
}

class SegmentKernel final : public UnrecordedKernel {
 public:
  explicit SegmentKernel(const Node& node) : op_(node) {}
  void Compute(KernelContext& context) override {
    const SortedSegments plan = op_.Plan(context, [&](const TensorRef& ids) {
      auto* staging = static_cast<int64_t*>(StagingOf(context, sizeof(int64_t)));
      return LastOf(LaunchOf(context), staging, ReaderOf("Segment", ids), ids.NumElements());
    });
    const TensorRef* indices = op_.indices(context);
    const TensorRef& data = context.input(0);
    RunSortedSegments(LaunchOf(context), plan, LoopTypeOf("Segment", data.dtype),
                      ReaderOf("Segment", op_.ids(context)),
                      indices == nullptr ? IndexReader{} : ReaderOf("SparseSegment", *indices), data.data,
                      context.output().data);
  }

 private:
  SegmentOp op_;
};

void GradOfSegments(KernelContext& context, const SegmentGrad& plan) {
  const TensorRef& grad = context.input(0);
  const LoopType type = LoopTypeOf("SparseSegmentGrad", grad.dtype);
  RunSegmentGrad(LaunchOf(context), plan, type == LoopType::kDouble,
                 ReaderOf("SparseSegmentGrad", context.input(1)),
                 ReaderOf("SparseSegmentGrad", context.input(2)), grad.data, context.output().data);
}

// Gradients of the rows that the indices name alone, whose number the device says.
class SegmentRowsGradKernel final : public UnrecordedKernel {
 public:
  explicit SegmentRowsGradKernel(const Node& node) : op_(node) {}
  void Compute(KernelContext& context) override {
    const SegmentGrad plan = op_.Plan(context);
    const TensorRef& grad = context.input(0);
    const LoopType type = LoopTypeOf("SparseSegmentGradV2", grad.dtype);
    const IndexReader rows = ReaderOf("SparseSegmentGradV2", context.input(1));
    auto* staging = static_cast<int32_t*>(StagingOf(context, sizeof(int32_t)));
    const int64_t count = RunSegmentRowsGrad(
        LaunchOf(context), staging, plan, type == LoopType::kDouble, rows,
        ReaderOf("SparseSegmentGradV2", context.input(2)), grad.data, context.output(0).data,
        ReaderOf("SparseSegmentGradV2", context.output(1)).bytes, context.output(1).data);
    Shape shape = grad.shape;
    shape.set_dim(0, count);
    context.SetOutputShape(0, shape);
    context.SetOutputShape(1, Shape{count});
  }

 private:
  SegmentGradOp op_;
};

void Stitch(KernelContext& context, StitchPlan plan) {
  // The last of several rows with one target is kept, so that none is written twice.
  std::vector<bool> written(static_cast<size_t>(plan.rows), false);
  for (size_t p = plan.targets.size(); p-- > 0;) {
    for (size_t i = plan.targets[p].size(); i-- > 0;) {
      int64_t& target = plan.targets[p][i];
      if (written[static_cast<size_t>(target)]) {
        target = -1;
      } else {
        written[static_cast<size_t>(target)] = true;
      }
    }
  }
  const TensorRef& out = context.output();
  Launch& launch = LaunchOf(context);
  ZeroBytes(launch, out.data, BytesOf(out));
  const auto pairs = static_cast<int>(plan.targets.size());
  for (int p = 0; p < pairs; ++p) {
    const std::vector<int64_t>& rows = plan.targets[static_cast<size_t>(p)];
    RunPlaceRows(launch, ElementBytes(out.dtype), static_cast<int64_t>(rows.size()), plan.inner, rows.data(),
                 context.input(pairs + p).data, out.data);
  }
}

class DynamicPartitionKernel final : public UnrecordedKernel {
 public:
  explicit DynamicPartitionKernel(const Node& node) : op_(node) {}
  void Compute(KernelContext& context) override {
    const int64_t inner = op_.RowSize(context);
    const int64_t parts = op_.parts();
    const TensorRef& data = context.input(0);
    const TensorRef& partitions = context.input(1);
    Launch& launch = LaunchOf(context);
    const int64_t rows = partitions.NumElements();
    auto* first =
        static_cast<int64_t*>(StagingOf(context, (parts + 1) * static_cast<int64_t>(sizeof(int64_t))));
    const int32_t* order =
        PlanPartition(launch, first, rows, parts, ReaderOf("DynamicPartition", partitions));
    if (first[parts] != rows) {
      Throw(Code::kInvalidArgument, "{} of the partitions are not in [0, {})", rows - first[parts], parts);
    }
    for (int part = 0; part < static_cast<int>(parts); ++part) {
      const int64_t size = first[part + 1] - first[part];
      op_.ShapePart(context, part, size);
      if (size == 0) continue;
      RunGather(launch, ElementBytes(data.dtype), 1, 1, rows, inner, size,
                IndexReader{order + first[part], 4}, data.data, context.output(part).data);
    }
  }

 private:
  PartitionOp op_;
};

void UpdateAtCoordinates(KernelContext& context, const CoordinateScatter& plan) {
  const TensorRef& out = plan.target;
  Launch& launch = LaunchOf(context);
  if (plan.start == nullptr) {
    ZeroBytes(launch, out.data, BytesOf(out));
  } else {
    CopyBytes(launch, out.data, plan.start->data, BytesOf(out));
  }
  if (out.NumElements() == 0 || plan.updates.NumElements() == 0) return;
  const int64_t inner = plan.rows.row_size;
  RunRowUpdatesNd(launch, {plan.how, out.NumElements() / inner, plan.rows.rows, inner, 1},
                  LoopTypeOf("ScatterNd", out.dtype), MapOf(plan.rows, out.shape),
                  ReaderOf("ScatterNd", plan.indices), plan.updates.data, out.data);
}

// Coordinates out of range are left out, and repeated ones not refused.
void SparseToDense(KernelContext& context, const CoordinateRows& rows) {
  const TensorRef& values = context.input(2);
  const TensorRef& out = context.output();
  RunFillFromHost(LaunchOf(context), ElementBytes(out.dtype), out.NumElements(), out.data,
                  context.input(3).data);
  if (out.NumElements() == 0 || rows.rows == 0) return;
  RunRowUpdatesNd(LaunchOf(context), {Combine::kAssign, out.NumElements(), rows.rows, 1, values.shape.rank()},
                  LoopTypeOf("SparseToDense", out.dtype), MapOf(rows, out.shape),
                  ReaderOf("SparseToDense", context.input(0)), values.data, out.data);
}

}  // namespace

void RegisterSparseOps(KernelRegistry& registry) {
  registry.Register("Unique", MakeKernel<UniqueKernel>);
  registry.Register("UniqueWithCounts", MakeKernel<UniqueKernel>);
  registry.Register("Where", MakeKernel<WhereKernel>);
  RegisterSegmentOps<CombineUnsorted, SegmentKernel, GradOfSegments>(registry);
  for (const std::string how : {"Sum", "Mean", "SqrtN"})
    registry.Register("SparseSegment" + how + "GradV2", MakeKernel<SegmentRowsGradKernel>);
  RegisterOp<PlanDynamicStitch, Stitch>(registry, "DynamicStitch");
  registry.Register("DynamicPartition", MakeKernel<DynamicPartitionKernel>);
  RegisterCoordinateScatterOps<UpdateAtCoordinates>(registry);
  RegisterOp<PlanSparseToDense, SparseToDense>(registry, "SparseToDense");
}

}  // namespace lanescope::exec::cuda
