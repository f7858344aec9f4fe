// Optimizer steps: which inputs each reads; the bodies are in optimizer.h. Input order is TensorFlow's.
#include <algorithm>
#include <initializer_list>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/optimizer.h"

namespace lanescope::exec::cuda {
namespace {

// The inputs of the dense op: `slots` variables first, then the gradient at `grad` and the scalars, in the
// order that OptimizerStep wants. In the sparse op the indices follow the gradient, and later inputs move by
// one. The flag is an attribute that may be missing.
struct OptimizerInputs {
  std::string_view name;
  Optimizer optimizer;
  int slots;
  int grad;
  std::initializer_list<int> scalars;
  const char* flag;
  bool flag_fallback;
};

const OptimizerInputs kOptimizers[] = {
    {"GradientDescent", Optimizer::kGradientDescent, 1, 2, {1}, "", false},
    {"Momentum", Optimizer::kMomentum, 2, 3, {2, 4}, "use_nesterov", false},
    {"KerasMomentum", Optimizer::kKerasMomentum, 2, 3, {2, 4}, "use_nesterov", false},
    {"Adam", Optimizer::kAdam, 3, 9, {5, 6, 7, 8, 3, 4}, "use_nesterov", false},
    {"Adagrad", Optimizer::kAdagrad, 2, 3, {2}, "update_slots", true},
    {"AdagradV2", Optimizer::kAdagradV2, 2, 4, {2, 3}, "update_slots", true},
    {"RMSProp", Optimizer::kRmsProp, 3, 7, {3, 4, 5, 6}, "", false},
    {"Adadelta", Optimizer::kAdadelta, 3, 6, {3, 4, 5}, "", false},
    {"CenteredRMSProp", Optimizer::kCenteredRmsProp, 4, 8, {4, 5, 6, 7}, "", false},
    {"ProximalAdagrad", Optimizer::kProximalAdagrad, 2, 5, {2, 3, 4}, "", false},
    {"Ftrl", Optimizer::kFtrl, 3, 3, {4, 5, 6, 7}, "multiply_linear_by_lr", false},
    {"FtrlV2", Optimizer::kFtrl, 3, 3, {4, 5, 6, 8, 7}, "multiply_linear_by_lr", false},
};

class OptimizerKernel final : public Kernel {
 public:
  explicit OptimizerKernel(const Node& node) : dtype_(node.TypeAttr("T")) {
    std::string_view name = node.op;
    for (const std::string_view prefix : {"Resource", "Sparse", "Apply"}) {
      if (!name.starts_with(prefix)) continue;
      if (prefix == "Sparse") sparse_ = true;
      name.remove_prefix(prefix.size());
    }
    const auto* found = std::find_if(std::begin(kOptimizers), std::end(kOptimizers),
                                     [&](const OptimizerInputs& entry) { return entry.name == name; });
    LANESCOPE_CHECK(found != std::end(kOptimizers));
    inputs_ = found;
    flag_ = inputs_->flag_fallback;
    if (*inputs_->flag != '\0') flag_ = node.BoolAttr(inputs_->flag, inputs_->flag_fallback);
  }

  void Compute(KernelContext& context) override {
    DispatchReal("an optimizer", dtype_, [&]<typename T>(T) { Run<T>(context); });
  }

 private:
  template <typename T>
  OptimizerStep<T> StepOf(KernelContext& context) const {
    const Shape& shape = context.variable(0).tensor.shape;
    OptimizerStep<T> step;
    step.optimizer = inputs_->optimizer;
    step.flag = flag_;
    step.grad = context.input(inputs_->grad).template as<T>();
    for (int i = 0; i < inputs_->slots; ++i) {
      const TensorRef& slot = context.variable(i).tensor;
      RequireSameShape("a variable and its slots", shape, slot.shape);
      step.slots[static_cast<size_t>(i)] = slot.as<T>();
    }
    size_t next = 0;
    for (const int input : inputs_->scalars) {
      const TensorRef& scalar = context.input(sparse_ && input > inputs_->grad ? input + 1 : input);
      RequireScalar("a hyperparameter of an optimizer", scalar);
      step.scalars[next++] = scalar.as<T>();
    }
    return step;
  }

  template <typename T>
  void Run(KernelContext& context) const {
    const Shape& shape = context.variable(0).tensor.shape;
    const Shape& grad = context.input(inputs_->grad).shape;
    const OptimizerStep<T> step = StepOf<T>(context);
    if (!sparse_) {
      RequireSameShape("var and grad", shape, grad);
      return RunOptimizer<T>(LaunchOf(context), step, shape.NumElements());
    }
    const TensorRef& indices = context.input(inputs_->grad + 1);
    Shape expected = shape;
    if (shape.rank() < 1 || indices.shape.rank() != 1) {
      Throw(Code::kInvalidArgument, "var must have rows and indices be one-dimensional, not {} and {}",
            shape.ToString(), indices.shape.ToString());
    }
    expected.set_dim(0, indices.shape[0]);
    RequireSameShape("grad and the rows that it updates", grad, expected);
    RunSparseOptimizer<T>(LaunchOf(context), step, shape[0], indices.shape[0],
                          SizeOfDims(shape, 1, shape.rank()), ReaderOf("an optimizer", indices));
  }

  DataType dtype_;
  const OptimizerInputs* inputs_ = nullptr;
  bool sparse_ = false;
  bool flag_ = false;
};

}  // namespace

void RegisterOptimizerOps(KernelRegistry& registry) {
  for (const OptimizerInputs& entry : kOptimizers) {
    const std::string name(entry.name);
    const bool keras = entry.optimizer == Optimizer::kKerasMomentum;
    const bool sparse = entry.optimizer != Optimizer::kGradientDescent &&
                        entry.optimizer != Optimizer::kAdam && entry.optimizer != Optimizer::kCenteredRmsProp;
    registry.Register("ResourceApply" + name, MakeKernel<OptimizerKernel>);
    if (!keras) registry.Register("Apply" + name, MakeKernel<OptimizerKernel>);
    if (sparse) registry.Register("ResourceSparseApply" + name, MakeKernel<OptimizerKernel>);
    if (sparse && !keras) registry.Register("SparseApply" + name, MakeKernel<OptimizerKernel>);
  }
}

}  // namespace lanescope::exec::cuda
