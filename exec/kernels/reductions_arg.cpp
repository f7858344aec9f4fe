#include <limits>
#include <vector>

#include "exec/kernels/reductions.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Index of the first largest (smallest) element along one dimension. A NaN is never larger or smaller.
class ArgKernel final : public Kernel {
 public:
  explicit ArgKernel(const Node& node) : largest_(node.op == "ArgMax") {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int rank = x.shape.rank();
    const int64_t dimension = ReadInt(context.input(1), "dimension");
    if (dimension < -rank || dimension >= rank) {
      Throw(Code::kInvalidArgument, "Expected dimension in the range [{}, {}), but got {}", -rank, rank,
            dimension);
    }
    const int axis = static_cast<int>(dimension < 0 ? dimension + rank : dimension);
    Shape shape = x.shape;
    shape.Erase(axis);
    if (x.shape[axis] == 0 && shape.NumElements() > 0) {
      Throw(Code::kInvalidArgument, "Reduction axis {} is empty in shape {}", axis, x.shape.ToString());
    }
    context.SetOutputShape(0, shape);
    if (shape.NumElements() == 0) return;
    DispatchNumber("ArgMax", x.dtype, [&]<typename T>(T) {
      DispatchIndex("ArgMax", context.output().dtype, [&]<typename Index>(Index) {
        largest_ ? Search<T, Index, true>(context, axis) : Search<T, Index, false>(context, axis);
      });
    });
  }

 private:
  template <typename T, typename Index, bool kLargest>
  static void Search(KernelContext& context, int axis) {
    const TensorRef& x = context.input(0);
    const int64_t length = x.shape[axis];
    const int64_t inner = SizeOfDims(x.shape, axis + 1, x.shape.rank());
    const int64_t outer = SizeOfDims(x.shape, 0, axis);
    const int64_t grain = std::max<int64_t>(1, 16384 / (length * inner));
    context.team().ParallelFor(outer, grain, [&](int64_t begin, int64_t end) {
      std::vector<T> best(static_cast<size_t>(inner));
      for (int64_t i = begin; i < end; ++i) {
        best.assign(best.size(), kLargest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
        Index* to = context.output().as<Index>() + i * inner;
        std::fill(to, to + inner, Index(0));
        for (int64_t k = 0; k < length; ++k) {
          const T* from = x.as<T>() + (i * length + k) * inner;
          for (int64_t j = 0; j < inner; ++j) {
            T& record = best[static_cast<size_t>(j)];
            if (kLargest ? from[j] > record : from[j] < record) {
              record = from[j];
              to[j] = static_cast<Index>(k);
            }
          }
        }
      }
    });
  }

  bool largest_;
};

}  // namespace

void RegisterArgKernels(KernelRegistry& registry) {
  registry.Register("ArgMax", MakeKernel<ArgKernel>);
  registry.Register("ArgMin", MakeKernel<ArgKernel>);
}

}  // namespace lanescope::exec
