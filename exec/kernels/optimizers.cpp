// Optimizer steps on variables and their slots, dense and by rows. Each optimizer says which inputs it reads
// and what it does to a run of elements; formulas and input order are TensorFlow's documented ones.
#include <cmath>

#include "exec/functors/optimizer.h"
#include "exec/kernels/optimizer_kernel.h"
#include "exec/kernels/state_kernels.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {
// Named, since the templates of the kernels stand in a header.
namespace optimizers {

template <typename T>
struct GradientDescentStep {
  static constexpr SlotNames<0> kSlots = {};
  static constexpr int kGradient = 2;
  GradientDescentStep(const KernelContext& context, const StepFlags&, bool)
      : rate(Scalar<T>(context, 1, "alpha")) {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    HostLoops().train<T>().gradient_descent(n, rate, grad, at[0]);
  }
  T rate;
};

template <typename T>
struct MomentumStep {
  static constexpr SlotNames<1> kSlots = {"accum"};
  static constexpr int kGradient = 3;
  MomentumStep(const KernelContext& context, const StepFlags& flags, bool sparse)
      : rate(Scalar<T>(context, 2, "lr")),
        momentum(Scalar<T>(context, sparse ? 5 : 4, "momentum")),
        nesterov(flags.nesterov) {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    HostLoops().train<T>().momentum(n, rate, momentum, nesterov, grad, at[0], at[1]);
  }
  T rate, momentum;
  bool nesterov;
};

template <typename T>
struct KerasMomentumStep {
  static constexpr SlotNames<1> kSlots = {"accum"};
  static constexpr int kGradient = 3;
  KerasMomentumStep(const KernelContext& context, const StepFlags& flags, bool sparse)
      : step{Scalar<T>(context, 2, "lr"), Scalar<T>(context, sparse ? 5 : 4, "momentum"), flags.nesterov} {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    for (int64_t i = 0; i < n; ++i) step(grad[i], at[0][i], at[1][i]);
  }
  functors::KerasMomentumStep<T> step;
};

template <typename T>
struct AdamStep {
  static constexpr SlotNames<2> kSlots = {"m", "v"};
  static constexpr int kGradient = 9;
  AdamStep(const KernelContext& context, const StepFlags& flags, bool)
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
  static constexpr SlotNames<1> kSlots = {"accum"};
  static constexpr int kGradient = 3;
  AdagradStep(const KernelContext& context, const StepFlags& flags, bool)
      : rate(Scalar<T>(context, 2, "lr")), update_slots(flags.update_slots) {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    HostLoops().train<T>().adagrad(n, rate, update_slots, grad, at[0], at[1]);
  }
  T rate;
  bool update_slots;
};

template <typename T>
struct AdagradV2Step {
  static constexpr SlotNames<1> kSlots = {"accum"};
  static constexpr int kGradient = 4;
  AdagradV2Step(const KernelContext& context, const StepFlags& flags, bool)
      : step{Scalar<T>(context, 2, "lr"), Scalar<T>(context, 3, "epsilon"), flags.update_slots} {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    for (int64_t i = 0; i < n; ++i) step(grad[i], at[0][i], at[1][i]);
  }
  functors::AdagradV2Step<T> step;
};

template <typename T>
struct RmsPropStep {
  static constexpr SlotNames<2> kSlots = {"ms", "mom"};
  static constexpr int kGradient = 7;
  RmsPropStep(const KernelContext& context, const StepFlags&, bool)
      : rate(Scalar<T>(context, 3, "lr")),
        rho(Scalar<T>(context, 4, "rho")),
        momentum(Scalar<T>(context, 5, "momentum")),
        epsilon(Scalar<T>(context, 6, "epsilon")) {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    HostLoops().train<T>().rms_prop(n, rate, rho, momentum, epsilon, grad, at[0], at[1], at[2]);
  }
  T rate, rho, momentum, epsilon;
};

template <typename T>
struct CenteredRmsPropStep {
  static constexpr SlotNames<3> kSlots = {"mg", "ms", "mom"};
  static constexpr int kGradient = 8;
  CenteredRmsPropStep(const KernelContext& context, const StepFlags&, bool)
      : step{Scalar<T>(context, 4, "lr"), Scalar<T>(context, 5, "rho"), Scalar<T>(context, 6, "momentum"),
             Scalar<T>(context, 7, "epsilon")} {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    for (int64_t i = 0; i < n; ++i) step(grad[i], at[0][i], at[1][i], at[2][i], at[3][i]);
  }
  functors::CenteredRmsPropStep<T> step;
};

template <typename T>
struct AdadeltaStep {
  static constexpr SlotNames<2> kSlots = {"accum", "accum_update"};
  static constexpr int kGradient = 6;
  AdadeltaStep(const KernelContext& context, const StepFlags&, bool)
      : step{Scalar<T>(context, 3, "lr"), Scalar<T>(context, 4, "rho"), Scalar<T>(context, 5, "epsilon")} {}
  void operator()(int64_t n, const T* grad, T* const* at) const {
    for (int64_t i = 0; i < n; ++i) step(grad[i], at[0][i], at[1][i], at[2][i]);
  }
  functors::AdadeltaStep<T> step;
};

}  // namespace optimizers

void RegisterOptimizerKernels(KernelRegistry& registry) {
  RegisterStep<optimizers::GradientDescentStep>(registry, "GradientDescent");
  RegisterStep<optimizers::AdamStep>(registry, "Adam");
  RegisterSparseStep<optimizers::MomentumStep>(registry, "Momentum");
  RegisterSparseStep<optimizers::AdagradStep>(registry, "Adagrad");
  RegisterSparseStep<optimizers::AdagradV2Step>(registry, "AdagradV2");
  RegisterSparseStep<optimizers::RmsPropStep>(registry, "RMSProp");
  RegisterSparseStep<optimizers::CenteredRmsPropStep>(registry, "CenteredRMSProp");
  RegisterSparseStep<optimizers::AdadeltaStep>(registry, "Adadelta");
  registry.Register("ResourceApplyKerasMomentum", MakeKernel<DenseStepKernel<optimizers::KerasMomentumStep>>);
  registry.Register("ResourceSparseApplyKerasMomentum",
                    MakeKernel<SparseStepKernel<optimizers::KerasMomentumStep>>);
}

}  // namespace lanescope::exec
