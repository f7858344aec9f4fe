// SPDX-License-Identifier: Apache-2.0
// Numbers to text and back, and joining of texts.
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "exec/kernels/string_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kTextGrain = 2048;

bool IsReal(DataType dtype) { return dtype == DataType::kFloat || dtype == DataType::kDouble; }

// Formats like C's printf, by the node's attributes.
class AsStringKernel : public Kernel {
 public:
  explicit AsStringKernel(const Node& node)
      : dtype_(RemoveRef(node.TypeAttr("T"))),
        width_(node.IntAttr("width", -1)),
        precision_(node.IntAttr("precision", -1)) {
    const bool scientific = node.BoolAttr("scientific", false);
    const bool shortest = node.BoolAttr("shortest", false);
    const std::string fill = node.StringAttr("fill", "");
    if (scientific && shortest) {
      Throw(Code::kInvalidArgument, "Cannot select both scientific and shortest notation");
    }
    if (!IsReal(dtype_) && (scientific || shortest)) {
      Throw(Code::kInvalidArgument, "scientific and shortest format not supported for datatype {}",
            DataTypeName(dtype_));
    }
    if (!IsReal(dtype_) && precision_ > -1) {
      Throw(Code::kInvalidArgument, "precision not supported for datatype {}", DataTypeName(dtype_));
    }
    if (fill.size() > 1) Throw(Code::kInvalidArgument, "Fill string must be one or fewer characters");
    if (fill.find_first_not_of(" +-0#") != std::string::npos) {
      Throw(Code::kInvalidArgument, "Fill argument not supported: \"{}\"", fill);
    }
    if (width_ > kMaxWidth || precision_ > kMaxWidth) {
      Throw(Code::kInvalidArgument, "width {} and precision {} of AsString must be at most {}", width_,
            precision_, kMaxWidth);
    }
    format_ += fill;
    if (width_ > -1) format_ += std::to_string(width_);
    if (precision_ > -1) format_.append(1, '.').append(std::to_string(precision_));
    format_ += !IsReal(dtype_) ? "lld" : shortest ? "g" : scientific ? "e" : "f";
    plain_ = fill.empty() && width_ <= 0;
  }

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    ShapeOutput(context, 0, x.shape);
    std::string* out = context.output().as<std::string>();
    context.team().ParallelFor(x.NumElements(), kTextGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = Text(x, i);
    });
  }

 private:
  static constexpr int64_t kMaxWidth = 1000;

  std::string Text(const TensorRef& x, int64_t i) const {
    switch (x.dtype) {
      case DataType::kBool:
        return x.as<bool>()[i] ? "true" : "false";
      case DataType::kFloat:
        return Printed(static_cast<double>(x.as<float>()[i]));
      case DataType::kDouble:
        return Printed(x.as<double>()[i]);
      case DataType::kInt32:
        return Integer(x.as<int32_t>()[i]);
      case DataType::kInt64:
        return Integer(x.as<int64_t>()[i]);
      case DataType::kUint8:
        return Integer(x.as<uint8_t>()[i]);
      case DataType::kInt8:
        return Integer(x.as<int8_t>()[i]);
      case DataType::kInt16:
        return Integer(x.as<int16_t>()[i]);
      default:
        ThrowUnsupportedType("AsString", x.dtype);
    }
  }

  std::string Integer(int64_t value) const {
    return plain_ ? std::to_string(value) : Printed(static_cast<long long>(value));
  }

  template <typename T>
  std::string Printed(T value) const {
    std::array<char, 64> text;
    const int size = std::snprintf(text.data(), text.size(), format_.c_str(), value);
    if (size >= 0 && static_cast<size_t>(size) < text.size()) return {text.data(), static_cast<size_t>(size)};
    std::string longer(static_cast<size_t>(std::max(size, 0)) + 1, '\0');
    std::snprintf(longer.data(), longer.size(), format_.c_str(), value);
    longer.pop_back();
    return longer;
  }

  DataType dtype_;
  int64_t width_;
  int64_t precision_;
  std::string format_ = "%";
  bool plain_;
};

std::string_view Trimmed(std::string_view text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

// TensorFlow knows "inf" and "nan" in any case, but neither "infinity" nor "nan(1)".
bool IsLongSpecialValue(std::string_view digits) {
  if (digits.starts_with('-')) digits.remove_prefix(1);
  return digits.size() > 3 && std::isalpha(static_cast<unsigned char>(digits.front())) != 0;
}

// A plus sign may stand before a real number only.
template <typename T>
T Parse(const std::string& text) {
  std::string_view digits = Trimmed(text);
  if (std::is_floating_point_v<T> && digits.size() > 1 && digits[0] == '+' && digits[1] != '-') {
    digits.remove_prefix(1);
  }
  T value{};
  const char* end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  bool good = result.ec == std::errc() && result.ptr == end;
  if constexpr (std::is_floating_point_v<T>) {
    if (IsLongSpecialValue(digits)) good = false;
    // Too large or too small is infinity or zero, as in C.
    if (result.ec == std::errc::result_out_of_range && result.ptr == end) {
      value = static_cast<T>(std::strtod(std::string(digits).c_str(), nullptr));
      good = true;
    }
  }
  if (!good || digits.empty()) {
    Throw(Code::kInvalidArgument, "StringToNumberOp could not correctly convert string: {}", text);
  }
  return value;
}

void ComputeStringToNumber(KernelContext& context) {
  const TensorRef& x = context.input(0);
  ShapeOutput(context, 0, x.shape);
  DispatchNumber("StringToNumber", context.output().dtype, [&](auto tag) {
    using T = decltype(tag);
    T* out = context.output().as<T>();
    context.team().ParallelFor(x.NumElements(), kTextGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = Parse<T>(x.as<std::string>()[i]);
    });
  });
}

class StringJoinKernel : public Kernel {
 public:
  explicit StringJoinKernel(const Node& node) : separator_(node.StringAttr("separator", "")) {}

  // Element by element; a scalar joins every element.
  void Compute(KernelContext& context) override {
    Shape shape;
    for (int i = 0; i < context.num_inputs(); ++i) {
      const Shape& input = context.input(i).shape;
      if (input.rank() == 0) continue;
      if (shape.rank() != 0 && !(shape == input)) {
        Throw(Code::kInvalidArgument, "Input shapes do not match: {} vs. {}", shape.ToString(),
              input.ToString());
      }
      shape = input;
    }
    ShapeOutput(context, 0, shape);
    std::string* out = context.output().as<std::string>();
    const int64_t count = shape.NumElements();
    for (int64_t e = 0; e < count; ++e) {
      std::string joined;
      for (int i = 0; i < context.num_inputs(); ++i) {
        if (i > 0) joined += separator_;
        const TensorRef& input = context.input(i);
        joined += input.as<std::string>()[input.shape.rank() == 0 ? 0 : e];
      }
      out[e] = std::move(joined);
    }
  }

 private:
  std::string separator_;
};

}  // namespace

void RegisterTextKernels(KernelRegistry& registry) {
  registry.Register("AsString", MakeKernel<AsStringKernel>);
  registry.Register("StringToNumber", MakeFunctionKernel<ComputeStringToNumber>);
  registry.Register("StringJoin", MakeKernel<StringJoinKernel>);
}

void RegisterStringKernels(KernelRegistry& registry) {
  RegisterTextKernels(registry);
  RegisterTableKernels(registry);
  RegisterHashKernels(registry);
  RegisterSummaryKernels(registry);
}

}  // namespace lanescope::exec
