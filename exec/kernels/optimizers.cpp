// Optimizer steps on variables and their slots, dense and by rows. Each optimizer says which inputs it reads
// and what it does to a run of elements; formulas and input order are TensorFlow's documented ones.
#include <cmath>

#include "exec/kernels/row_access.h"
#include "exec/kernels/state_kernels.h"
#include "exec/kernels/tensor_access.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kStepGrain = 1 << 14;

template <typename T>
T Scalar(const KernelContext& context, int input, const char* name) {
  const TensorRef& tensor = context.input(input);
  if (tensor.NumElements() != 1) {
    Throw(Code::kInvalidArgument, "{} is not a scalar: {}", name, tensor.shape.ToString());
  }
  return *tensor.as<T>();
}

// Flags of a node that an optimizer may read.
struct StepFlags {
  explicit StepFlags(const Node& node)
      : nesterov(node.BoolAttr("use_nesterov", false)), update_slots(node.BoolAttr("update_slots", true)) {}
  bool nesterov;
  bool update_slots;
};

// kVariables: inputs 0 .. kVariables - 1 are the variable and its slots. kGradient: the gradient's input. In
// the sparse op the indices follow the gradient, and inputs after it move by one: `shift`.

template <typename T>
struct GradientDescentStep {
  static constexpr int kVariables = 1;
  static constexpr int kGradient = 2;
  GradientDescentStep(const KernelContext& context, const StepFlags&, int)
      : rate(Scalar<T>(context, 1, "alpha")) {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    HostLoops().train<T>().gradient_descent(n, rate, grad, at[0]);
  }
  T rate;
};

template <typename T>
struct MomentumStep {
  static constexpr int kVariables = 2;
  static constexpr int kGradient = 3;
  MomentumStep(const KernelContext& context, const StepFlags& flags, int shift)
      : rate(Scalar<T>(context, 2, "lr")),
        momentum(Scalar<T>(context, 4 + shift, "momentum")),
        nesterov(flags.nesterov) {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    HostLoops().train<T>().momentum(n, rate, momentum, nesterov, grad, at[0], at[1]);
  }
  T rate, momentum;
  bool nesterov;
};

// accum = momentum * accum - rate * grad; var += accum (nesterov: momentum * accum - rate * grad).
template <typename T>
struct KerasMomentumStep {
  static constexpr int kVariables = 2;
  static constexpr int kGradient = 3;
  KerasMomentumStep(const KernelContext& context, const StepFlags& flags, int shift)
      : rate(Scalar<T>(context, 2, "lr")),
        momentum(Scalar<T>(context, 4 + shift, "momentum")),
        nesterov(flags.nesterov) {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    for (int64_t i = 0; i < n; ++i) {
      at[1][i] = at[1][i] * momentum - grad[i] * rate;
      at[0][i] += nesterov ? at[1][i] * momentum - grad[i] * rate : at[1][i];
    }
  }
  T rate, momentum;
  bool nesterov;
};

template <typename T>
struct AdamStep {
  static constexpr int kVariables = 3;
  static constexpr int kGradient = 9;
  AdamStep(const KernelContext& context, const StepFlags& flags, int)
      : beta1(Scalar<T>(context, 6, "beta1")),
        beta2(Scalar<T>(context, 7, "beta2")),
        epsilon(Scalar<T>(context, 8, "epsilon")),
        nesterov(flags.nesterov) {
    const T beta1_power = Scalar<T>(context, 3, "beta1_power");
    const T beta2_power = Scalar<T>(context, 4, "beta2_power");
    rate = Scalar<T>(context, 5, "lr") * std::sqrt(T{1} - beta2_power) / (T{1} - beta1_power);
  }
  void operator()(int64_t n, const T* grad, T* const* at) const {
    HostLoops().train<T>().adam(n, rate, beta1, beta2, epsilon, nesterov, grad, at[0], at[1], at[2]);
  }
  T rate, beta1, beta2, epsilon;
  bool nesterov;
};

template <typename T>
struct AdagradStep {
  static constexpr int kVariables = 2;
  static constexpr int kGradient = 3;
  AdagradStep(const KernelContext& context, const StepFlags& flags, int)
      : rate(Scalar<T>(context, 2, "lr")), update_slots(flags.update_slots) {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    HostLoops().train<T>().adagrad(n, rate, update_slots, grad, at[0], at[1]);
  }
  T rate;
  bool update_slots;
};

// accum += grad^2; var -= rate * grad / (sqrt(accum) + epsilon).
template <typename T>
struct AdagradV2Step {
  static constexpr int kVariables = 2;
  static constexpr int kGradient = 4;
  AdagradV2Step(const KernelContext& context, const StepFlags& flags, int)
      : rate(Scalar<T>(context, 2, "lr")),
        epsilon(Scalar<T>(context, 3, "epsilon")),
        update_slots(flags.update_slots) {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    for (int64_t i = 0; i < n; ++i) {
      if (update_slots) at[1][i] += grad[i] * grad[i];
      at[0][i] -= grad[i] * rate / (std::sqrt(at[1][i]) + epsilon);
    }
  }
  T rate, epsilon;
  bool update_slots;
};

template <typename T>
struct RmsPropStep {
  static constexpr int kVariables = 3;
  static constexpr int kGradient = 7;
  RmsPropStep(const KernelContext& context, const StepFlags&, int)
      : rate(Scalar<T>(context, 3, "lr")),
        rho(Scalar<T>(context, 4, "rho")),
        momentum(Scalar<T>(context, 5, "momentum")),
        epsilon(Scalar<T>(context, 6, "epsilon")) {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    HostLoops().train<T>().rms_prop(n, rate, rho, momentum, epsilon, grad, at[0], at[1], at[2]);
  }
  T rate, rho, momentum, epsilon;
};

// accum = rho * accum + (1 - rho) * grad^2; step = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) *
// grad; var -= rate * step; accum_update = rho * accum_update + (1 - rho) * step^2.
template <typename T>
struct AdadeltaStep {
  static constexpr int kVariables = 3;
  static constexpr int kGradient = 6;
  AdadeltaStep(const KernelContext& context, const StepFlags&, int)
      : rate(Scalar<T>(context, 3, "lr")),
        rho(Scalar<T>(context, 4, "rho")),
        epsilon(Scalar<T>(context, 5, "epsilon")) {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    for (int64_t i = 0; i < n; ++i) {
      at[1][i] = at[1][i] * rho + grad[i] * grad[i] * (T{1} - rho);
      const T step = std::sqrt(at[2][i] + epsilon) / std::sqrt(at[1][i] + epsilon) * grad[i];
      at[0][i] -= step * rate;
      at[2][i] = at[2][i] * rho + step * step * (T{1} - rho);
    }
  }
  T rate, rho, epsilon;
};

// The memory of the variable and its slots, which must have one shape.
template <typename T, int count>
std::array<T*, count> SlotsOf(KernelContext& context, const Shape& shape) {
  std::array<T*, count> slots;
  for (int i = 0; i < count; ++i) {
    const TensorRef& slot = context.variable(i).tensor;
    if (!(slot.shape == shape)) {
      Throw(Code::kInvalidArgument, "var and slot {} do not have the same shape: {} {}", i, shape.ToString(),
            slot.shape.ToString());
    }
    slots[static_cast<size_t>(i)] = slot.as<T>();
  }
  return slots;
}

template <size_t count, typename T>
std::array<T*, count> Advanced(std::array<T*, count> slots, int64_t offset) {
  for (T*& slot : slots) slot += offset;
  return slots;
}

template <template <typename> typename Step>
class DenseKernel : public Kernel {
 public:
  explicit DenseKernel(const Node& node) : flags_(node) {}

  void Compute(KernelContext& context) override {
    DispatchReal("an optimizer", context.variable(0).tensor.dtype, [&](auto tag) {
      using T = decltype(tag);
      const Shape& shape = context.variable(0).tensor.shape;
      const TensorRef& grad = context.input(Step<T>::kGradient);
      if (!(grad.shape == shape)) {
        Throw(Code::kInvalidArgument, "var and grad do not have the same shape {} {}", shape.ToString(),
              grad.shape.ToString());
      }
      const auto slots = SlotsOf<T, Step<T>::kVariables>(context, shape);
      const Step<T> step(context, flags_, 0);
      context.team().ParallelFor(shape.NumElements(), kStepGrain, [&](int64_t begin, int64_t end) {
        step(end - begin, grad.as<T>() + begin, Advanced(slots, begin).data());
      });
    });
  }

 private:
  StepFlags flags_;
};

// Rows of the gradient belong to rows `indices` of the variable; a row that is named twice takes two steps.
template <template <typename> typename Step>
class SparseKernel : public Kernel {
 public:
  explicit SparseKernel(const Node& node) : flags_(node) {}

  void Compute(KernelContext& context) override {
    DispatchReal("an optimizer", context.variable(0).tensor.dtype, [&](auto tag) {
      using T = decltype(tag);
      const Shape& shape = context.variable(0).tensor.shape;
      const TensorRef& grad = context.input(Step<T>::kGradient);
      const TensorRef& indices = context.input(Step<T>::kGradient + 1);
      CheckRows(shape, grad.shape, indices);
      const auto slots = SlotsOf<T, Step<T>::kVariables>(context, shape);
      const Step<T> step(context, flags_, 1);
      const int64_t inner = SizeOfDims(shape, 1, shape.rank());
      const std::vector<int64_t> rows = ReadInts(indices);
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
  static void CheckRows(const Shape& variable, const Shape& grad, const TensorRef& indices) {
    if (indices.shape.rank() != 1) Throw(Code::kInvalidArgument, "indices must be one-dimensional");
    bool match = variable.rank() >= 1 && grad.rank() == variable.rank() && grad[0] == indices.shape[0];
    for (int d = 1; match && d < variable.rank(); ++d) match = grad[d] == variable[d];
    if (!match) {
      Throw(Code::kInvalidArgument,
            "var and grad must match in all but the first dimension, which is the number "
            "of indices: var {}, grad {}, indices {}",
            variable.ToString(), grad.ToString(), indices.shape.ToString());
    }
    CheckIndices("indices", indices, variable[0]);
  }

  StepFlags flags_;
};

template <template <typename> typename Step>
void RegisterStep(KernelRegistry& registry, const std::string& name) {
  registry.Register("Apply" + name, MakeKernel<DenseKernel<Step>>);
  registry.Register("ResourceApply" + name, MakeKernel<DenseKernel<Step>>);
}

template <template <typename> typename Step>
void RegisterSparseStep(KernelRegistry& registry, const std::string& name) {
  RegisterStep<Step>(registry, name);
  registry.Register("SparseApply" + name, MakeKernel<SparseKernel<Step>>);
  registry.Register("ResourceSparseApply" + name, MakeKernel<SparseKernel<Step>>);
}

}  // namespace

void RegisterOptimizerKernels(KernelRegistry& registry) {
  RegisterStep<GradientDescentStep>(registry, "GradientDescent");
  RegisterStep<AdamStep>(registry, "Adam");
  RegisterSparseStep<MomentumStep>(registry, "Momentum");
  RegisterSparseStep<AdagradStep>(registry, "Adagrad");
  RegisterSparseStep<AdagradV2Step>(registry, "AdagradV2");
  RegisterSparseStep<RmsPropStep>(registry, "RMSProp");
  RegisterSparseStep<AdadeltaStep>(registry, "Adadelta");
  registry.Register("ResourceApplyKerasMomentum", MakeKernel<DenseKernel<KerasMomentumStep>>);
  registry.Register("ResourceSparseApplyKerasMomentum", MakeKernel<SparseKernel<KerasMomentumStep>>);
}

}  // namespace lanescope::exec
