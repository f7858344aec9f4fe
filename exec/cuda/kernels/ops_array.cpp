// SPDX-License-Identifier: Apache-2.0
// Identities, constants, new shapes, fills, and rows by index.
#include <cstring>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/sparse.h"
#include "exec/kernels/gather_plan.h"
#include "exec/kernels/generator_plan.h"
#include "exec/kernels/view_plan.h"

namespace lanescope::exec::cuda {
namespace {

void CopyWhole(KernelContext& context, const WholeCopy& copy) {
  CopyBytes(LaunchOf(context), context.output(copy.output).data, copy.from->data, BytesOf(*copy.from));
}

// The value travels through pinned memory.
class ConstKernel final : public Kernel {
 public:
  explicit ConstKernel(const Node& node) : value_(node.GetTensorAttr("value")) {}
  void Compute(KernelContext& context) override {
    ShapeOutput(context, 0, value_.shape());
    const int64_t bytes = value_.ByteSize();
    if (bytes == 0) return;
    void* staging = StagingOf(context, bytes);
    std::memcpy(staging, value_.raw_data(), static_cast<size_t>(bytes));
    CopyFromHost(LaunchOf(context), context.output().data, staging, bytes);
  }

 private:
  Tensor value_;
};

class CheckNumericsKernel final : public UnrecordedKernel {
 public:
  explicit CheckNumericsKernel(const Node& node) : op_(node) {}
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    auto* staging = static_cast<int32_t*>(StagingOf(context, sizeof(int32_t)));
    const int found = CheckFinite(LaunchOf(context), staging, LoopTypeOf("CheckNumerics", x.dtype),
                                  x.NumElements(), x.data);
    CopyWhole(context, op_.Plan(context, {(found & 1) != 0, (found & 2) != 0, (found & 4) != 0}));
  }

 private:
  CheckNumericsOp op_;
};

void ZerosLike(KernelContext& context) {
  ShapeOutput(context, 0, context.input(0).shape);
  ZeroBytes(LaunchOf(context), context.output().data, BytesOf(context.output()));
}

void OnesLike(KernelContext& context) {
  ShapeOutput(context, 0, context.input(0).shape);
  const TensorRef& out = context.output();
  WithOne(out.dtype, [&](auto one) {
    RunFillFromHost(LaunchOf(context), static_cast<int64_t>(sizeof one), out.NumElements(), out.data, &one);
  });
}

// int32 results of these live in host memory.
template <void (*compute)(KernelContext&)>
std::unique_ptr<Kernel> MakeUnlessInt32(const Node& node) {
  if (node.TypeAttr("T") == DataType::kInt32) return MakeHostKernel(node);
  return MakeFunctionKernel<compute>(node);
}

struct CudaGenerators {
  static void Fill(KernelContext& context, const TensorRef& value) {
    const TensorRef& out = context.output();
    RunFill(LaunchOf(context), ElementBytes(out.dtype), out.NumElements(), out.data, value.data);
  }

  // Elements are start + i * delta, not a running sum as on the host: float ranges may differ in the last
  // place.
  static void Range(KernelContext& context) {
    DispatchNumber("Range", context.input(0).dtype, [&]<typename T>(T) {
      const auto [start, delta, size] = PlanRange<T>(context);
      RunRange<T>(LaunchOf(context), size, start, delta, context.output().as<T>());
    });
  }

  static void OneHot(KernelContext& context, const OneHotPlan& plan) {
    const TensorRef& indices = context.input(0);
    const TensorRef& out = context.output();
    const IndexReader reader =
        indices.dtype == DataType::kUint8 ? IndexReader{indices.data, 1} : ReaderOf("OneHot", indices);
    RunOneHot(LaunchOf(context), ElementBytes(out.dtype), plan.prefix, plan.depth, plan.suffix, reader,
              context.input(2).data, context.input(3).data, out.data);
  }

  static void Diag(KernelContext& context, int64_t n) {
    const TensorRef& x = context.input(0);
    RunDiag(LaunchOf(context), ElementBytes(x.dtype), n, context.output().data, x.data);
  }

  static void DiagPart(KernelContext& context, int64_t n) {
    const TensorRef& x = context.input(0);
    RunDiagPart(LaunchOf(context), ElementBytes(x.dtype), n, context.output().data, x.data);
  }

  static void Band(KernelContext& context, const MatrixBand& band) {
    const TensorRef& x = context.input(0);
    RunBand(LaunchOf(context), ElementBytes(x.dtype), x.NumElements(), band.rows, band.columns, band.lower,
            band.upper, context.output().data, x.data);
  }
};

void Gather(KernelContext& context, const GatherPlan& plan) {
  RunGather(LaunchOf(context), ElementBytes(plan.params->dtype), plan.batch, plan.outer, plan.dimension,
            plan.inner, plan.per_batch, ReaderOf("Gather", *plan.indices), plan.params->data,
            context.output().data);
}

void GatherNd(KernelContext& context, const GatherNdPlan& plan) {
  const auto& [source, rows] = plan;
  const TensorRef& params = *source;
  RunGatherNd(LaunchOf(context), ElementBytes(params.dtype), MapOf(rows, params.shape), rows.rows,
              rows.row_size, ReaderOf("GatherNd", context.input(1)), params.data, context.output().data);
}

}  // namespace

void RegisterArrayOps(KernelRegistry& registry) {
  RegisterViewOps<CopyWhole>(registry);
  RegisterGeneratorOps<CudaGenerators>(registry);
  RegisterGatherOps<Gather, GatherNd>(registry);
  // These touch no element in device memory.
  for (const char* op : {"Placeholder", "PlaceholderV2", "Assert", "Shape", "ShapeN", "Size", "Rank",
                         "VariableShape", "BroadcastArgs", "BroadcastGradientArgs", "ConcatOffset",
                         "InvertPermutation", "LinSpace", "ParallelDynamicStitch"}) {
    registry.Register(op, MakeHostKernel);
  }
  registry.Register("Const", MakeKernel<ConstKernel>);
  registry.Register("CheckNumerics", MakeKernel<CheckNumericsKernel>);
  registry.Register("CheckNumericsV2", MakeKernel<CheckNumericsKernel>);
  registry.Register("ZerosLike", MakeUnlessInt32<ZerosLike>);
  registry.Register("OnesLike", MakeUnlessInt32<OnesLike>);
}

}  // namespace lanescope::exec::cuda
