// SPDX-License-Identifier: Apache-2.0
// Numbers as integers of a scale and a zero, and back.
#include <algorithm>

#include "core/base/error.h"
#include "core/inputs/onnx/onnx_node.h"
#include "core/inputs/onnx/onnx_tensor.h"
#include "core/inputs/onnx/small_elements.h"

namespace lanescope {
namespace {

// One of a tensor, of each index of an axis, or of each block of them: as it broadcasts with `x`.
OnnxValue Spread(OnnxEmitter& to, const OnnxNode& node, const OnnxValue& scale, const OnnxValue& x) {
  if (scale.rank() == 0 || (scale.rank() == 1 && scale.shape().dim(0) == 1)) return to.Reshaped(scale, {});
  const int64_t axis = Axis(node.Int("axis", 1), x.rank());
  const int64_t size = x.shape().dim(static_cast<int>(axis)), block = node.Int("block_size", 0);
  if (block > 0) {
    std::vector<int64_t> of;
    for (int64_t i = 0; i < size; ++i) of.push_back(i / block);
    return to.Node("GatherV2", {scale, to.Ints(of), to.Int(axis)});
  }
  std::vector<int64_t> sizes(static_cast<size_t>(x.rank()), 1);
  sizes[static_cast<size_t>(axis)] = size;
  return to.Reshaped(scale, sizes);
}

bool FitsScale(const OnnxNode& node, const OnnxValue& x, const OnnxValue& scale) {
  constexpr int64_t kLongestAxis = int64_t{1} << 24;
  if (!x.known_rank() || !scale.exists() || !scale.known_rank() || !x.shape().IsExact()) return false;
  if (node.Int("block_size", 0) == 0) return scale.rank() <= 1;
  if (scale.rank() != x.rank() || node.Int("block_size", 0) < 0) return false;
  return x.shape().dim(static_cast<int>(Axis(node.Int("axis", 1), x.rank()))) <= kLongestAxis;
}

// Codes of floats by the table of their numbers.
OnnxValue Decoded(OnnxEmitter& to, const OnnxValue& x, DataType dtype) {
  const std::vector<float> values = FormatValues(x.format());
  const OnnxValue table =
      to.Constant(Tensor::FromValues<float>({static_cast<int64_t>(values.size())}, values));
  const OnnxValue codes = to.Cast(x, DataType::kInt32);
  return to.Cast(to.Node("GatherV2", {table, codes, to.Int(0)}), dtype);
}

OnnxValues Dequantize(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue &x = inputs[0], &scale = inputs[1], &zero = inputs[2];
  if (!FitsScale(node, x, scale) || scale.format() != 0 || !IsFloat(scale.dtype())) return {};
  OnnxValue numbers;
  if (x.format() != 0) {
    numbers = Decoded(to, x, scale.dtype());
  } else if (zero.exists() && zero.format() == 0) {
    // The difference of integers is exact in float.
    numbers =
        to.Node("Sub", {to.Cast(x, DataType::kFloat), Spread(to, node, to.Cast(zero, DataType::kFloat), x)});
    numbers = to.Cast(numbers, scale.dtype());
  } else {
    numbers = to.Cast(x, scale.dtype());
  }
  const OnnxValue result = to.Node("Mul", {numbers, Spread(to, node, scale, x)});
  const auto wanted = static_cast<int>(node.Int("output_dtype", 0));
  return {wanted == 0 ? result : to.Cast(result, OnnxDataType(wanted))};
}

struct ByteRange {
  double least, most;
};

std::optional<ByteRange> RangeOf(DataType dtype) {
  switch (dtype) {
    case DataType::kUint8:
      return ByteRange{0, 255};
    case DataType::kInt8:
      return ByteRange{-128, 127};
    case DataType::kUint16:
      return ByteRange{0, 65535};
    case DataType::kInt16:
      return ByteRange{-32768, 32767};
    default:
      return std::nullopt;
  }
}

// The type is that of the zero, or an attribute, or bytes. Rounded to the nearest, ties to even.
OnnxValues Quantize(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue &x = inputs[0], &scale = inputs[1], &zero = inputs[2];
  const auto wanted = static_cast<int>(node.Int("output_dtype", 0));
  const DataType dtype = zero.exists() ? zero.dtype() : wanted != 0 ? OnnxDataType(wanted) : DataType::kUint8;
  const std::optional<ByteRange> range = RangeOf(dtype);
  if (!FitsScale(node, x, scale) || !range || SmallElementBits(wanted) != 0 || zero.format() != 0 ||
      !IsFloat(x.dtype()))
    return {};
  const auto number = [&](double value) { return to.Number(value, DataType::kFloat); };
  const OnnxValue scales = Spread(to, node, to.Cast(scale, DataType::kFloat), x);
  OnnxValue whole = to.Node("Round", {to.Node("RealDiv", {to.Cast(to.Plain(x), DataType::kFloat), scales})});
  if (zero.exists()) whole = to.Node("AddV2", {whole, Spread(to, node, to.Cast(zero, DataType::kFloat), x)});
  whole = to.Node("Minimum", {to.Node("Maximum", {whole, number(range->least)}), number(range->most)});
  return {to.Cast(whole, dtype)};
}

// Bytes from the least to the largest number, zero among them.
OnnxValues DynamicQuantize(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || x.dtype() != DataType::kFloat || node.num_outputs() != 3) return {};
  const OnnxValue zero = to.Number(0, DataType::kFloat), most = to.Number(255, DataType::kFloat);
  const std::vector<int64_t> all = AllAxes(x.rank());
  const OnnxValue high = to.Node("Maximum", {Reduced(to, "Max", x, all, false), zero});
  const OnnxValue low = to.Node("Minimum", {Reduced(to, "Min", x, all, false), zero});
  const OnnxValue scale = to.Node("RealDiv", {to.Node("Sub", {high, low}), most});
  const auto clipped = [&](const OnnxValue& value) {
    return to.Node("Minimum", {to.Node("Maximum", {to.Node("Round", {value}), zero}), most});
  };
  const OnnxValue point = clipped(to.Node("RealDiv", {to.Node("Sub", {zero, low}), scale}));
  const OnnxValue whole = to.Node("Round", {to.Node("RealDiv", {to.Plain(x), scale})});
  return {to.Cast(clipped(to.Node("AddV2", {whole, point})), DataType::kUint8), scale,
          to.Cast(point, DataType::kUint8)};
}

// Products of integers of a byte, less their zeros, are exact in integers of four.
OnnxValues MatMulInteger(OnnxEmitter& to, const OnnxNode&, const OnnxValues& inputs) {
  const auto less = [&](const OnnxValue& x, size_t zero) -> std::optional<OnnxValue> {
    const OnnxValue whole = to.Cast(x, DataType::kInt32);
    if (zero >= inputs.size() || !inputs[zero].exists()) return whole;
    if (inputs[zero].rank() > 1 || (zero == 2 && inputs[zero].shape().NumElements() != 1))
      return std::nullopt;
    const OnnxValue zeros = to.Cast(inputs[zero], DataType::kInt32);
    return to.Node("Sub", {whole, zero == 2 ? to.Reshaped(zeros, {}) : zeros});
  };
  if (!inputs[1].exists() || inputs[0].rank() < 2 || inputs[1].rank() < 2) return {};
  const std::optional<OnnxValue> a = less(inputs[0], 2), b = less(inputs[1], 3);
  if (!a || !b) return {};
  const bool matrices = a->rank() == 2 && b->rank() == 2;
  return {to.Node(matrices ? "MatMul" : "BatchMatMulV2", {*a, *b})};
}

}  // namespace

OnnxValue CastFromFormat(OnnxEmitter& to, const OnnxValue& x, DataType dtype) {
  return Decoded(to, x, dtype);
}

void AddQuantizationRules(OnnxRules* rules) {
  rules->emplace("DequantizeLinear", Dequantize);
  rules->emplace("QuantizeLinear", Quantize);
  rules->emplace("DynamicQuantizeLinear", DynamicQuantize);
  rules->emplace("MatMulInteger", MatMulInteger);
}

}  // namespace lanescope
