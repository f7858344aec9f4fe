#include <algorithm>

#include "exec/kernels/linear.h"
#include "exec/kernels/product.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// MatMul and BatchMatMul: leading dimensions are batches, which broadcast.
class MatMulKernel final : public Kernel {
 public:
  explicit MatMulKernel(const Node& node)
      : batches_(node.op != "MatMul"),
        broadcasts_(node.op != "BatchMatMul"),
        turn_a_(node.BoolAttr(batches_ ? "adj_x" : "transpose_a", false)),
        turn_b_(node.BoolAttr(batches_ ? "adj_y" : "transpose_b", false)) {}

  void Compute(KernelContext& context) override {
    DispatchNumber("MatMul", context.input(0).dtype, [&]<typename T>(T) { Run<T>(context); });
  }

 private:
  // Batch dimensions of an operand: all but the last two.
  static Shape BatchOf(const Shape& shape) { return Shape(shape.dims().first(shape.dims().size() - 2)); }

  void CheckRanks(const Shape& a, const Shape& b) const {
    const bool fits = batches_ ? a.rank() >= 2 && b.rank() >= 2 : a.rank() == 2 && b.rank() == 2;
    if (!fits) {
      Throw(Code::kInvalidArgument, "In[0] and In[1] have to be matrices{}, but they have shapes {} and {}",
            batches_ ? " or batches of them" : "", a.ToString(), b.ToString());
    }
    if (batches_ && !broadcasts_ && !(BatchOf(a) == BatchOf(b))) {
      Throw(Code::kInvalidArgument, "In[0] and In[1] must have compatible batch dimensions: {} vs. {}",
            a.ToString(), b.ToString());
    }
  }

  // First element of the operand's matrix for a flat batch number of the result.
  static int64_t MatrixOffset(const Shape& operand, const Shape& batch, int64_t index) {
    const int rank = operand.rank() - 2;
    int64_t stride = operand[rank] * operand[rank + 1];
    int64_t offset = 0;
    for (int back = 1; back <= batch.rank(); ++back) {
      const int64_t size = batch[batch.rank() - back];
      if (back <= rank) {
        const int64_t own = operand[rank - back];
        if (own != 1) offset += index % size * stride;
        stride *= own;
      }
      index /= size;
    }
    return offset;
  }

  template <typename T>
  void Run(KernelContext& context) const {
    const TensorRef& a = context.input(0);
    const TensorRef& b = context.input(1);
    CheckRanks(a.shape, b.shape);
    const int ra = a.shape.rank() - 2;
    const int rb = b.shape.rank() - 2;
    const int64_t m = a.shape[ra + (turn_a_ ? 1 : 0)];
    const int64_t k = a.shape[ra + (turn_a_ ? 0 : 1)];
    const int64_t n = b.shape[rb + (turn_b_ ? 0 : 1)];
    if (b.shape[rb + (turn_b_ ? 1 : 0)] != k) {
      Throw(Code::kInvalidArgument, "Matrix size-incompatible: In[0]: {}, In[1]: {}", a.shape.ToString(),
            b.shape.ToString());
    }
    const Shape batch = BroadcastShapes(BatchOf(a.shape), BatchOf(b.shape));
    Shape shape = batch;
    shape.Append(m);
    shape.Append(n);
    context.SetOutputShape(0, shape);
    T* c = context.output().as<T>();
    const auto multiply = [&](WorkerTeam* team, int64_t index) {
      const MatrixView<T> left{a.as<T>() + MatrixOffset(a.shape, batch, index), a.shape[ra + 1], turn_a_};
      const MatrixView<T> right{b.as<T>() + MatrixOffset(b.shape, batch, index), b.shape[rb + 1], turn_b_};
      Multiply<T>(team, m, n, k, left, right, c + index * m * n);
    };
    // Large products share the team one after the other; small ones are dealt out whole.
    const int64_t count = batch.NumElements();
    const int64_t flops = std::max<int64_t>(1, 2 * m * n * k);
    if (count == 1 || flops > kLargeFlops) {
      for (int64_t index = 0; index < count; ++index) multiply(&context.team(), index);
      return;
    }
    context.team().ParallelFor(count, std::max<int64_t>(1, 1'000'000 / flops),
                               [&](int64_t begin, int64_t end) {
                                 for (int64_t index = begin; index < end; ++index) multiply(nullptr, index);
                               });
  }

  static constexpr int64_t kLargeFlops = 50'000'000;

  bool batches_;
  bool broadcasts_;
  bool turn_a_;
  bool turn_b_;
};

}  // namespace

void RegisterMatMulKernels(KernelRegistry& registry) {
  for (const char* op : {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}) {
    registry.Register(op, MakeKernel<MatMulKernel>);
  }
}

}  // namespace lanescope::exec
