// SPDX-License-Identifier: Apache-2.0
// Ops whose outputs hold their inputs' elements as they are: constants, identities, checks and new shapes.
#include <cmath>

#include "exec/kernels/array_kernels.h"
#include "exec/kernels/view_plan.h"

namespace lanescope::exec {
namespace {

void CopyWhole(KernelContext& context, const WholeCopy& copy) {
  CopyElements(copy.from->dtype, context.output(copy.output).data, copy.from->data, copy.from->NumElements(),
               context.team());
}

class ConstKernel : public Kernel {
 public:
  explicit ConstKernel(const Node& node) : value_(node.GetTensorAttr("value")) {}

  void Compute(KernelContext& context) override {
    ShapeOutput(context, 0, value_.shape());
    CopyElements(value_.dtype(), context.output().data, value_.raw_data(), value_.NumElements(),
                 context.team());
  }

 private:
  Tensor value_;
};

class PlaceholderKernel : public Kernel {
 public:
  explicit PlaceholderKernel(const Node& node)
      : name_(node.name), dtype_(node.TypeAttr("dtype", DataType::kFloat)) {}

  void Compute(KernelContext&) override {
    Throw(Code::kInvalidArgument, "You must feed a value for placeholder tensor '{}' with dtype {}", name_,
          DataTypeName(dtype_));
  }

 private:
  std::string name_;
  DataType dtype_;
};

class CheckNumericsKernel : public Kernel {
 public:
  explicit CheckNumericsKernel(const Node& node) : op_(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    NotFinite found;
    DispatchReal("CheckNumerics", x.dtype, [&](auto tag) {
      using T = decltype(tag);
      for (int64_t i = 0, n = x.NumElements(); i < n; ++i) {
        const T value = x.as<T>()[i];
        found.nan |= std::isnan(value);
        found.above |= std::isinf(value) && value > 0;
        found.below |= std::isinf(value) && value < 0;
      }
    });
    CopyWhole(context, op_.Plan(context, found));
  }

 private:
  CheckNumericsOp op_;
};

std::string ElementText(const TensorRef& tensor, int64_t i) {
  switch (tensor.dtype) {
    case DataType::kFloat:
      return std::to_string(tensor.as<float>()[i]);
    case DataType::kDouble:
      return std::to_string(tensor.as<double>()[i]);
    case DataType::kInt32:
      return std::to_string(tensor.as<int32_t>()[i]);
    case DataType::kInt64:
      return std::to_string(tensor.as<int64_t>()[i]);
    case DataType::kBool:
      return tensor.as<bool>()[i] ? "1" : "0";
    case DataType::kString:
      return tensor.as<std::string>()[i];
    default:
      return "?";
  }
}

class AssertKernel : public Kernel {
 public:
  explicit AssertKernel(const Node& node) : summarize_(node.IntAttr("summarize", 3)) {}

  void Compute(KernelContext& context) override {
    if (context.input(0).NumElements() != 1) {
      Throw(Code::kInvalidArgument, "In[0] should be a scalar: {}", context.input(0).shape.ToString());
    }
    if (*context.input(0).as<bool>()) return;
    std::string text;
    for (int i = 1; i < context.num_inputs(); ++i) {
      if (i > 1) text += ' ';
      text += Summary(context.input(i));
    }
    Throw(Code::kInvalidArgument, "assertion failed: {}", text);
  }

 private:
  std::string Summary(const TensorRef& data) const {
    const int64_t count = data.NumElements();
    const int64_t shown = summarize_ < 0 ? count : std::min(summarize_, count);
    std::string text = "[";
    for (int64_t e = 0; e < shown; ++e) {
      if (e > 0) text += ' ';
      text += ElementText(data, e);
    }
    text += shown < count ? "...]" : "]";
    return text;
  }

  int64_t summarize_;
};

}  // namespace

void RegisterIdentityKernels(KernelRegistry& registry) {
  RegisterViewOps<CopyWhole>(registry);
  registry.Register("Const", MakeKernel<ConstKernel>);
  registry.Register("Placeholder", MakeKernel<PlaceholderKernel>);
  registry.Register("PlaceholderV2", MakeKernel<PlaceholderKernel>);
  registry.Register("CheckNumerics", MakeKernel<CheckNumericsKernel>);
  registry.Register("CheckNumericsV2", MakeKernel<CheckNumericsKernel>);
  registry.Register("Assert", MakeKernel<AssertKernel>);
}

}  // namespace lanescope::exec
