// Ops whose outputs hold their inputs' elements as they are: constants, identities, checks and new shapes.
#include <cmath>

#include "exec/kernels/array_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

void ComputeIdentity(KernelContext& context) { CopyTensor(context, 0, 0); }

void ComputeIdentityN(KernelContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) CopyTensor(context, i, i);
}

void ComputeNothing(KernelContext&) {}

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
  explicit CheckNumericsKernel(const Node& node) : message_(node.StringAttr("message", "")) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    bool nan = false;
    bool infinite = false;
    DispatchReal("CheckNumerics", x.dtype, [&](auto tag) {
      using T = decltype(tag);
      for (int64_t i = 0, n = x.NumElements(); i < n; ++i) {
        nan |= std::isnan(x.as<T>()[i]);
        infinite |= std::isinf(x.as<T>()[i]);
      }
    });
    if (nan || infinite) {
      Throw(Code::kInvalidArgument, "{} : Tensor had {} values", message_,
            nan && infinite ? "Inf and NaN"
            : nan           ? "NaN"
                            : "Inf");
    }
    CopyTensor(context, 0, 0);
  }

 private:
  std::string message_;
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

// The same bytes as elements of another type.
void ComputeBitcast(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const TensorRef& y = context.output();
  ShapeOutput(context, 0, BitcastShape(x.shape, x.dtype, y.dtype));
  const int64_t bytes = x.NumElements() * static_cast<int64_t>(ElementSize(x.dtype));
  CopyElements(DataType::kUint8, y.data, x.data, bytes, context.team());
}

void ComputeReshape(KernelContext& context) {
  const TensorRef& x = context.input(0);
  if (context.input(1).shape.rank() != 1) {
    Throw(Code::kInvalidArgument, "sizes input must be 1-D, not {}", context.input(1).shape.ToString());
  }
  std::vector<int64_t> dims = ReadInts(context.input(1));
  int unknown = -1;
  int64_t known = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1) {
      if (unknown >= 0) {
        Throw(Code::kInvalidArgument, "Only one input size may be -1, not both {} and {}", unknown, i);
      }
      unknown = static_cast<int>(i);
    } else if (dims[i] < 0) {
      Throw(Code::kInvalidArgument, "Size {} must be non-negative, not {}", i, dims[i]);
    } else {
      known = MulDims(known, dims[i]);
    }
  }
  const int64_t count = x.NumElements();
  if (unknown >= 0) {
    if (known == 0 ? count != 0 : count % known != 0) {
      Throw(Code::kInvalidArgument,
            "Input to reshape is a tensor with {} values, but the requested shape requires a multiple of {}",
            count, known);
    }
    dims[static_cast<size_t>(unknown)] = known == 0 ? 0 : count / known;
  } else if (known != count) {
    Throw(Code::kInvalidArgument,
          "Input to reshape is a tensor with {} values, but the requested shape has {}", count, known);
  }
  ShapeOutput(context, 0, Shape(std::span<const Dim>(dims)));
  CopyElements(x.dtype, context.output().data, x.data, count, context.team());
}

void ComputeExpandDims(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int64_t axis = ReadInt(context.input(1), "the axis of ExpandDims");
  const int rank = x.shape.rank();
  if (axis < -1 - rank || axis > rank) {
    Throw(Code::kInvalidArgument, "Tried to expand dim index {} for tensor with {} dimensions.", axis, rank);
  }
  Shape shape = x.shape;
  shape.Insert(static_cast<int>(axis < 0 ? axis + rank + 1 : axis), 1);
  ShapeOutput(context, 0, shape);
  CopyElements(x.dtype, context.output().data, x.data, x.NumElements(), context.team());
}

class SqueezeKernel : public Kernel {
 public:
  explicit SqueezeKernel(const Node& node) {
    for (const char* attr : {"squeeze_dims", "axis"}) {
      if (node.FindAttr(attr) != nullptr) axes_ = node.IntListAttr(attr);
    }
  }

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int rank = x.shape.rank();
    std::vector<bool> chosen(static_cast<size_t>(rank), false);
    for (const int64_t axis : axes_) {
      if (axis < -rank || axis >= rank) {
        Throw(Code::kInvalidArgument, "Tried to squeeze dim index {} for tensor with {} dimensions.", axis,
              rank);
      }
      chosen[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
    Shape shape;
    for (int d = 0; d < rank; ++d) {
      const bool squeezed = axes_.empty() ? x.shape[d] == 1 : chosen[static_cast<size_t>(d)];
      if (squeezed && x.shape[d] != 1) {
        Throw(Code::kInvalidArgument, "Can not squeeze dim[{}], expected a dimension of 1, got {}", d,
              x.shape[d]);
      }
      if (!squeezed) shape.Append(x.shape[d]);
    }
    ShapeOutput(context, 0, shape);
    CopyElements(x.dtype, context.output().data, x.data, x.NumElements(), context.team());
  }

 private:
  std::vector<int64_t> axes_;
};

}  // namespace

Shape BitcastShape(const Shape& shape, DataType from, DataType to) {
  const auto before = static_cast<int64_t>(ElementSize(from)), after = static_cast<int64_t>(ElementSize(to));
  Shape result = shape;
  if (before > after) {
    result.Append(before / after);
  } else if (before < after) {
    const int last = shape.rank() - 1;
    if (last < 0 || shape[last] != after / before) {
      Throw(Code::kInvalidArgument, "Cannot bitcast from {} to {}: the shape is {}", DataTypeName(from),
            DataTypeName(to), shape.ToString());
    }
    result.Erase(last);
  }
  return result;
}

void RegisterIdentityKernels(KernelRegistry& registry) {
  for (const char* op : {"Identity", "Snapshot", "StopGradient", "PreventGradient", "PlaceholderWithDefault",
                         "RefIdentity", "DebugGradientIdentity"}) {
    registry.Register(op, MakeFunctionKernel<ComputeIdentity>);
  }
  registry.Register("IdentityN", MakeFunctionKernel<ComputeIdentityN>);
  registry.Register("NoOp", MakeFunctionKernel<ComputeNothing>);
  registry.Register("ControlTrigger", MakeFunctionKernel<ComputeNothing>);
  registry.Register("Const", MakeKernel<ConstKernel>);
  registry.Register("Placeholder", MakeKernel<PlaceholderKernel>);
  registry.Register("PlaceholderV2", MakeKernel<PlaceholderKernel>);
  registry.Register("CheckNumerics", MakeKernel<CheckNumericsKernel>);
  registry.Register("Assert", MakeKernel<AssertKernel>);
  registry.Register("Bitcast", MakeFunctionKernel<ComputeBitcast>);
  registry.Register("Reshape", MakeFunctionKernel<ComputeReshape>);
  registry.Register("ExpandDims", MakeFunctionKernel<ComputeExpandDims>);
  registry.Register("Squeeze", MakeKernel<SqueezeKernel>);
}

}  // namespace lanescope::exec
