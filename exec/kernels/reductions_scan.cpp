#include "exec/functors/binary.h"
#include "exec/kernels/reductions.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Cumulative sum or product along one dimension; exclusive leaves out the element itself, reverse starts at
// the end.
class ScanKernel final : public Kernel {
 public:
  explicit ScanKernel(const Node& node)
      : product_(node.op == "Cumprod"),
        exclusive_(node.BoolAttr("exclusive", false)),
        reverse_(node.BoolAttr("reverse", false)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int rank = x.shape.rank();
    const int64_t axis = ReadInt(context.input(1), "axis");
    if (axis < -rank || axis >= rank) {
      Throw(Code::kInvalidArgument, "ScanOp: Expected scan axis in the range [{}, {}), but got {}", -rank,
            rank, axis);
    }
    context.SetOutputShape(0, x.shape);
    if (x.NumElements() == 0) return;
    const int dim = static_cast<int>(axis < 0 ? axis + rank : axis);
    DispatchNumber("Cumsum", x.dtype, [&]<typename T>(T) {
      product_ ? Scan<T>(context, dim, functors::Mul(), T(1)) : Scan<T>(context, dim, functors::Add(), T(0));
    });
  }

 private:
  template <typename T, typename F>
  void Scan(KernelContext& context, int dim, F op, T identity) const {
    const TensorRef& x = context.input(0);
    const int64_t length = x.shape[dim];
    const int64_t inner = SizeOfDims(x.shape, dim + 1, x.shape.rank());
    const int64_t outer = SizeOfDims(x.shape, 0, dim);
    const T* in = x.as<T>();
    T* out = context.output().as<T>();
    context.team().ParallelFor(outer * inner, std::max<int64_t>(1, 16384 / length),
                               [&](int64_t begin, int64_t end) {
                                 for (int64_t line = begin; line < end; ++line) {
                                   const int64_t base = line / inner * length * inner + line % inner;
                                   T total = identity;
                                   for (int64_t k = 0; k < length; ++k) {
                                     const int64_t at = base + (reverse_ ? length - 1 - k : k) * inner;
                                     const T next = op(total, in[at]);
                                     out[at] = exclusive_ ? total : next;
                                     total = next;
                                   }
                                 }
                               });
  }

  bool product_;
  bool exclusive_;
  bool reverse_;
};

}  // namespace

void RegisterScanKernels(KernelRegistry& registry) {
  registry.Register("Cumsum", MakeKernel<ScanKernel>);
  registry.Register("Cumprod", MakeKernel<ScanKernel>);
}

}  // namespace lanescope::exec
