// Every element to a new place: transposes, tiles, slices, pads. Axes, sizes and the like are in host memory.
#include <algorithm>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/movement.h"
#include "exec/kernels/copy_plan.h"

namespace lanescope::exec::cuda {
namespace {

void CopyElementsOf(KernelContext& context, const CopyPlan& plan) {
  const TensorRef& x = context.input(plan.input);
  const TensorRef& y = context.output();
  if (plan.clear) ZeroBytes(LaunchOf(context), y.data, y.NumElements() * ElementBytes(y.dtype));
  CopyMap map;
  for (const CopyPlan::Dim& dim : plan.dims) map.AddDim(dim.count, dim.to, dim.from);
  if (map.elements == 0) return;
  RunStridedCopy(LaunchOf(context), ElementBytes(x.dtype), map, ElementAt(y.dtype, y.data, plan.to),
                 ElementAt(x.dtype, static_cast<const void*>(x.data), plan.from));
}

// Pad, PadV2 (with a constant in host memory) and MirrorPad.
class PadKernel final : public Kernel {
 public:
  explicit PadKernel(const Node& node) {
    if (node.op == "MirrorPad") {
      mode_ = node.StringAttr("mode") == "REFLECT" ? PadMode::kReflect : PadMode::kSymmetric;
    }
  }

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int rank = x.shape.rank();
    const std::vector<int64_t> pads = ReadInts(context.input(1));
    if (pads.size() != 2 * static_cast<size_t>(rank)) {
      Throw(Code::kInvalidArgument, "paddings of {} numbers do not fit an input of shape {}", pads.size(),
            x.shape.ToString());
    }
    PadMap map;
    map.mode = mode_;
    Shape shape = x.shape;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t before = pads[2 * static_cast<size_t>(d)];
      const int64_t after = pads[2 * static_cast<size_t>(d) + 1];
      CheckPad(x.shape[d], before, after);
      shape.set_dim(d, AddDims(AddDims(before, x.shape[d]), after));
      map.AddOuter(x.shape[d], before, after);
    }
    ShapeOutput(context, 0, shape);
    const void* fill = nullptr;
    if (context.num_inputs() == 3) {
      RequireScalar("constant_values", context.input(2));
      fill = context.input(2).data;
    }
    RunPad(LaunchOf(context), ElementBytes(x.dtype), map, fill, context.output().data, x.data);
  }

 private:
  void CheckPad(int64_t size, int64_t before, int64_t after) const {
    if (before < 0 || after < 0) {
      Throw(Code::kInvalidArgument, "Paddings must be non-negative: {} {}", before, after);
    }
    if (mode_ == PadMode::kConstant) return;
    const int64_t limit = mode_ == PadMode::kReflect ? std::max<int64_t>(0, size - 1) : size;
    if (before > limit || after > limit) {
      Throw(Code::kInvalidArgument, "mirrored paddings {} {} must be at most {} for a dimension of size {}",
            before, after, limit, size);
    }
  }

  PadMode mode_ = PadMode::kConstant;
};

class MirrorPadGradKernel final : public Kernel {
 public:
  explicit MirrorPadGradKernel(const Node& node) : reflect_(node.StringAttr("mode") == "REFLECT") {}

  void Compute(KernelContext& context) override {
    const MirrorPadGradMap map = PrepareMirrorPadGrad(context, reflect_);
    const TensorRef& out = context.output();
    DispatchReal("MirrorPadGrad on a GPU", out.dtype, [&]<typename T>(T) {
      RunMirrorPadGrad<T>(LaunchOf(context), map, out.NumElements(), out.as<T>(), context.input(0).as<T>());
    });
  }

 private:
  bool reflect_;
};

}  // namespace

void RegisterLayoutOps(KernelRegistry& registry) {
  RegisterCopyOps<CopyElementsOf>(registry);
  registry.Register("MirrorPadGrad", MakeKernel<MirrorPadGradKernel>);
  for (const char* op : {"Pad", "PadV2", "MirrorPad"}) registry.Register(op, MakeKernel<PadKernel>);
}

}  // namespace lanescope::exec::cuda
