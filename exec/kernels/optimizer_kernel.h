// Kernels of optimizer steps on variables and their slots, dense and by rows, for any step. A step says which
// inputs it reads and what it does to a run of elements:
//   kSlots      names of the variables after the first, which are inputs 1, 2, ...
//   kGradient   the gradient's input; in the sparse op the indices follow it, and later inputs move by one
//   Step(context, flags, sparse)   reads the scalars
//   step(n, grad, at)   steps n elements: at[0] the variable's, at[1], ... the slots'
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "exec/kernels/row_access.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {

inline constexpr int64_t kStepGrain = 1 << 14;

template <size_t count>
using SlotNames = std::array<std::string_view, count>;

template <typename T>
T Scalar(const KernelContext& context, int input, std::string_view name) {
  const TensorRef& tensor = context.input(input);
  if (tensor.NumElements() != 1) {
    Throw(Code::kInvalidArgument, "{} is not a scalar: {}", name, tensor.shape.ToString());
  }
  return *tensor.as<T>();
}

// Flags of a node that an optimizer may read.
struct StepFlags {
  explicit StepFlags(const Node& node)
      : nesterov(node.BoolAttr("use_nesterov", false)),
        update_slots(node.BoolAttr("update_slots", true)),
        multiply_linear_by_lr(node.BoolAttr("multiply_linear_by_lr", false)) {}
  bool nesterov;
  bool update_slots;
  bool multiply_linear_by_lr;
};

template <typename Step>
inline constexpr size_t kVariables = 1 + Step::kSlots.size();

// The memory of the variable and its slots, which must have one shape.
template <typename T, typename Step>
std::array<T*, kVariables<Step>> SlotsOf(KernelContext& context, const Shape& shape) {
  std::array<T*, kVariables<Step>> memory;
  memory[0] = context.variable(0).tensor.template as<T>();
  for (size_t i = 1; i < memory.size(); ++i) {
    const TensorRef& slot = context.variable(static_cast<int>(i)).tensor;
    if (!(slot.shape == shape)) {
      Throw(Code::kInvalidArgument, "var and {} do not have the same shape{} {}", Step::kSlots[i - 1],
            shape.ToString(), slot.shape.ToString());
    }
    memory[i] = slot.as<T>();
  }
  return memory;
}

template <size_t count, typename T>
std::array<T*, count> Advanced(std::array<T*, count> slots, int64_t offset) {
  for (T*& slot : slots) slot += offset;
  return slots;
}

template <template <typename> typename Step>
class DenseStepKernel : public Kernel {
 public:
  explicit DenseStepKernel(const Node& node) : flags_(node), gradient_(GradientName(node.op)) {}

  void Compute(KernelContext& context) override {
    DispatchReal("an optimizer", context.variable(0).tensor.dtype, [&](auto tag) {
      using T = decltype(tag);
      const Shape& shape = context.variable(0).tensor.shape;
      const TensorRef& grad = context.input(Step<T>::kGradient);
      const auto slots = SlotsOf<T, Step<T>>(context, shape);
      if (!(grad.shape == shape)) {
        Throw(Code::kInvalidArgument, "var and {} do not have the same shape{} {}", gradient_,
              shape.ToString(), grad.shape.ToString());
      }
      const Step<T> step(context, flags_, false);
      context.team().ParallelFor(shape.NumElements(), kStepGrain, [&](int64_t begin, int64_t end) {
        step(end - begin, grad.as<T>() + begin, Advanced(slots, begin).data());
      });
    });
  }

 private:
  static std::string_view GradientName(std::string_view op) {
    return op.ends_with("GradientDescent") ? "delta" : "grad";
  }

  StepFlags flags_;
  std::string_view gradient_;
};

// Rows of the gradient belong to rows `indices` of the variable; a row that is named twice takes two steps.
template <template <typename> typename Step>
class SparseStepKernel : public Kernel {
 public:
  explicit SparseStepKernel(const Node& node) : flags_(node) {}

  void Compute(KernelContext& context) override {
    DispatchReal("an optimizer", context.variable(0).tensor.dtype, [&](auto tag) {
      using T = decltype(tag);
      const Shape& shape = context.variable(0).tensor.shape;
      const TensorRef& grad = context.input(Step<T>::kGradient);
      const TensorRef& indices = context.input(Step<T>::kGradient + 1);
      const auto slots = SlotsOf<T, Step<T>>(context, shape);
      const Step<T> step(context, flags_, true);
      const std::vector<int64_t> rows = RowsOf(shape, grad.shape, indices);
      const int64_t inner = SizeOfDims(shape, 1, shape.rank());
      const RowRanges ranges(shape[0], static_cast<int64_t>(rows.size()), inner,
                             [&](int64_t i) { return rows[static_cast<size_t>(i)]; });
      ranges.ForEach(context.team(), [&](int64_t, int64_t, std::span<const int64_t> own) {
        for (const int64_t i : own) {
          step(inner, grad.as<T>() + i * inner, Advanced(slots, rows[static_cast<size_t>(i)] * inner).data());
        }
      });
    });
  }

 private:
  static std::vector<int64_t> RowsOf(const Shape& variable, const Shape& grad, const TensorRef& indices) {
    if (variable.rank() < 1) Throw(Code::kInvalidArgument, "var must be at least 1 dimensional");
    if (indices.shape.rank() != 1) Throw(Code::kInvalidArgument, "indices must be one-dimensional");
    if (grad.rank() != variable.rank()) {
      Throw(Code::kInvalidArgument, "var and grad must have the same number of dimensions, not {} and {}",
            variable.ToString(), grad.ToString());
    }
    for (int d = 1; d < variable.rank(); ++d) {
      if (grad[d] != variable[d]) {
        Throw(Code::kInvalidArgument, "var and grad must match in dimension {}: {} {}", d,
              variable.ToString(), grad.ToString());
      }
    }
    if (grad[0] != indices.shape[0]) {
      Throw(Code::kInvalidArgument, "grad must be the same size as indices in the first dimension.");
    }
    std::vector<int64_t> rows = ReadInts(indices);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= 0 && rows[i] < variable[0]) continue;
      Throw(Code::kInvalidArgument, "Index {} at offset {} in indices is out of range", rows[i], i);
    }
    return rows;
  }

  StepFlags flags_;
};

template <template <typename> typename Step>
void RegisterStep(KernelRegistry& registry, const std::string& name) {
  registry.Register("Apply" + name, MakeKernel<DenseStepKernel<Step>>);
  registry.Register("ResourceApply" + name, MakeKernel<DenseStepKernel<Step>>);
}

template <template <typename> typename Step>
void RegisterSparseStep(KernelRegistry& registry, const std::string& name) {
  RegisterStep<Step>(registry, name);
  registry.Register("SparseApply" + name, MakeKernel<SparseStepKernel<Step>>);
  registry.Register("ResourceSparseApply" + name, MakeKernel<SparseStepKernel<Step>>);
}

}  // namespace lanescope::exec
