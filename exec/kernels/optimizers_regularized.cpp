// Optimizers with penalties on the size of a variable: proximal steps and follow-the-regularised-leader.
#include "exec/functors/optimizer.h"
#include "exec/kernels/optimizer_kernel.h"
#include "exec/kernels/state_kernels.h"

namespace lanescope::exec {
namespace {

constexpr std::string_view kL1 = "l1 regularization strength";
constexpr std::string_view kL2 = "l2 regularization strength";
constexpr std::string_view kShrinkage = "l2 shrinkage regularization strength";

// A scalar of which `accepts` holds; `kind` says in words what that means.
template <typename T, typename Accepts>
T ScalarThat(const Accepts& accepts, std::string_view kind, const KernelContext& context, int input,
             std::string_view name) {
  const TensorRef& tensor = context.input(input);
  if (tensor.NumElements() != 1 || !accepts(*tensor.as<T>())) {
    Throw(Code::kInvalidArgument, "{} is not a {}: {}", name, kind, tensor.shape.ToString());
  }
  return *tensor.as<T>();
}

template <typename T>
T Positive(const KernelContext& context, int input, std::string_view name) {
  return ScalarThat<T>([](T x) { return x > T(0); }, "positive scalar", context, input, name);
}

template <typename T>
T NotNegative(const KernelContext& context, int input, std::string_view name) {
  return ScalarThat<T>([](T x) { return x >= T(0); }, "non-negative scalar", context, input, name);
}

}  // namespace

// Named, since the templates of the kernels stand in a header.
namespace optimizers {

template <typename T>
struct ProximalGradientDescentStep {
  static constexpr SlotNames<0> kSlots = {};
  static constexpr int kGradient = 4;
  ProximalGradientDescentStep(const KernelContext& context, const StepFlags&, bool sparse)
      : step{Scalar<T>(context, 1, sparse ? "lr" : "alpha"), Scalar<T>(context, 2, kL1),
             Scalar<T>(context, 3, kL2)} {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    for (int64_t i = 0; i < n; ++i) step(grad[i], at[0][i]);
  }
  functors::ProximalGradientDescentStep<T> step;
};

template <typename T>
struct ProximalAdagradStep {
  static constexpr SlotNames<1> kSlots = {"accum"};
  static constexpr int kGradient = 5;
  ProximalAdagradStep(const KernelContext& context, const StepFlags&, bool)
      : step{Positive<T>(context, 2, "lr"), NotNegative<T>(context, 3, kL1),
             NotNegative<T>(context, 4, kL2)} {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    for (int64_t i = 0; i < n; ++i) step(grad[i], at[0][i], at[1][i]);
  }
  functors::ProximalAdagradStep<T> step;
};

// TensorFlow checks the values of the scalars in the steps by rows alone.
template <typename T, bool kShrinks>
struct AnyFtrlStep {
  static constexpr SlotNames<2> kSlots = {"accum", "linear"};
  static constexpr int kGradient = 3;
  AnyFtrlStep(const KernelContext& context, const StepFlags& flags, bool sparse) {
    const int first = sparse ? 5 : 4;
    const int power = first + (kShrinks ? 4 : 3);
    step.scaled = flags.multiply_linear_by_lr;
    step.by_rows = sparse;
    if (sparse) {
      step.rate =
          ScalarThat<T>([&](T x) { return x > T(0) || (step.scaled && x == T(0)); },
                        "positive scalar (or zero if multiply_linear_by_lr is set)", context, first, "lr");
      step.l1 = NotNegative<T>(context, first + 1, kL1);
      step.l2 = NotNegative<T>(context, first + 2, kL2);
      if (kShrinks) step.l2_shrinkage = NotNegative<T>(context, first + 3, kShrinkage);
      step.lr_power =
          ScalarThat<T>([](T x) { return x <= T(0); }, "non-positive scalar", context, power, "lr_power");
    } else {
      step.rate = Scalar<T>(context, first, "lr");
      step.l1 = Scalar<T>(context, first + 1, kL1);
      step.l2 = Scalar<T>(context, first + 2, kL2);
      if (kShrinks) step.l2_shrinkage = Scalar<T>(context, first + 3, kShrinkage);
      step.lr_power = Scalar<T>(context, power, "lr_power");
    }
  }
  void operator()(int64_t n, const T* grad, T* const* at) const {
    for (int64_t i = 0; i < n; ++i) step(grad[i], at[0][i], at[1][i], at[2][i]);
  }
  functors::FtrlStep<T> step{};
};

template <typename T>
struct FtrlStep : AnyFtrlStep<T, false> {
  using AnyFtrlStep<T, false>::AnyFtrlStep;
};
template <typename T>
struct FtrlV2Step : AnyFtrlStep<T, true> {
  using AnyFtrlStep<T, true>::AnyFtrlStep;
};

}  // namespace optimizers

void RegisterRegularizedOptimizerKernels(KernelRegistry& registry) {
  RegisterSparseStep<optimizers::ProximalGradientDescentStep>(registry, "ProximalGradientDescent");
  RegisterSparseStep<optimizers::ProximalAdagradStep>(registry, "ProximalAdagrad");
  RegisterSparseStep<optimizers::FtrlStep>(registry, "Ftrl");
  RegisterSparseStep<optimizers::FtrlV2Step>(registry, "FtrlV2");
}

}  // namespace lanescope::exec
