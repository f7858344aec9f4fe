// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/fold.h"

#include <algorithm>

#include "core/base/error.h"

namespace lanescope::ops {
namespace {

constexpr int64_t kOpen = std::numeric_limits<int64_t>::max();
constexpr int64_t kMaxDim = int64_t{1} << 61;
constexpr int64_t kOpenLow = std::numeric_limits<int64_t>::min();

__int128 Widen(int64_t bound) {
  if (bound == kOpen) return kInfinity;
  return bound == kOpenLow ? -kInfinity - 1 : bound;
}

// Two's complement, as the kernels compute.
int64_t Wrap(__int128 value, DataType dtype) {
  if (dtype == DataType::kBool) return value != 0;
  if (dtype == DataType::kInt32) return static_cast<int32_t>(static_cast<uint32_t>(value));
  return static_cast<int64_t>(static_cast<uint64_t>(value));
}

// Back to 64 bits; a finite end outside the dtype means that the value may wrap around: nothing is known.
ValueRange Narrow(__int128 low, __int128 high, DataType dtype) {
  const __int128 largest = dtype == DataType::kInt32 ? std::numeric_limits<int32_t>::max() : kOpen;
  const bool open_low = low <= -kInfinity;
  const bool open_high = high >= kInfinity;
  if ((!open_low && low < -largest - 1) || (!open_high && high > largest)) return {};
  return {open_low ? kOpenLow : static_cast<int64_t>(low), open_high ? kOpen : static_cast<int64_t>(high)};
}

Tensor MakeIntTensor(DataType dtype, const Shape& shape, const Elements& elements) {
  Tensor tensor(dtype, shape);
  for (size_t i = 0; i < elements.size(); ++i) {
    const int64_t value = elements[i].low;
    if (dtype == DataType::kInt64) {
      tensor.data<int64_t>()[i] = value;
    } else if (dtype == DataType::kInt32) {
      tensor.data<int32_t>()[i] = static_cast<int32_t>(value);
    } else {
      tensor.data<bool>()[i] = value != 0;
    }
  }
  return tensor;
}

}  // namespace

bool IsFoldable(DataType dtype) {
  return dtype == DataType::kInt32 || dtype == DataType::kInt64 || dtype == DataType::kBool;
}

bool AnyKnown(const InferenceContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (context.input(i).value != nullptr || context.input(i).ranges != nullptr) return true;
  }
  return false;
}

std::optional<Elements> GetElements(const InferenceContext& context, int input) {
  const TensorInfo& info = context.input(input);
  if (!IsFoldable(info.dtype) || !info.shape.IsExact()) return std::nullopt;
  if (info.value != nullptr) {
    const int64_t size = info.value->NumElements();
    if (size > kMaxFolded) return std::nullopt;
    Elements elements(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) elements[static_cast<size_t>(i)] = Exactly(info.value->IntAt(i));
    return elements;
  }
  const int64_t size = info.shape.NumElements();
  if (info.ranges != nullptr && static_cast<int64_t>(info.ranges->size()) == size) return *info.ranges;
  if (size > kMaxRanges) return std::nullopt;
  if (info.ranges != nullptr && info.ranges->size() == 1)
    return Elements(static_cast<size_t>(size), info.ranges->front());
  return Elements(static_cast<size_t>(size), info.dtype == DataType::kBool ? ValueRange{0, 1} : ValueRange{});
}

std::optional<ValueRange> RangeOfAll(const InferenceContext& context, int input) {
  const TensorInfo& info = context.input(input);
  if (!IsFoldable(info.dtype)) return std::nullopt;
  std::optional<ValueRange> all;
  const auto add = [&](ValueRange range) {
    all = all ? ValueRange{std::min(all->low, range.low), std::max(all->high, range.high)} : range;
  };
  if (info.value != nullptr) {
    for (int64_t i = 0; i < info.value->NumElements(); ++i) add(Exactly(info.value->IntAt(i)));
  } else if (info.ranges != nullptr) {
    for (const ValueRange& range : *info.ranges) add(range);
  }
  return all;
}

void SetRangeOfAll(InferenceContext& context, int output, ValueRange range) {
  TensorInfo& info = context.output(output);
  if (IsFoldable(info.dtype) && info.value == nullptr && range != ValueRange{})
    info.ranges = std::make_shared<const Elements>(1, range);
}

void SetElements(InferenceContext& context, int output, const Shape& shape, const Elements& elements) {
  LANESCOPE_CHECK(shape.NumElements() == static_cast<int64_t>(elements.size()));
  TensorInfo& info = context.output(output);
  info.shape = shape;
  if (!IsFoldable(info.dtype) || elements.size() > static_cast<size_t>(kMaxFolded)) return;
  if (std::ranges::all_of(elements, [](const ValueRange& e) { return e.exact(); })) {
    info.value = std::make_shared<const Tensor>(MakeIntTensor(info.dtype, shape, elements));
  } else if (elements.size() <= static_cast<size_t>(kMaxRanges) &&
             std::ranges::any_of(elements, [](const ValueRange& e) { return e != ValueRange{}; })) {
    info.ranges = std::make_shared<const Elements>(elements);
  }
}

ValueRange RangeOfDim(Dim dim) {
  if (IsExact(dim)) return Exactly(dim);
  return {0, HasBound(dim) ? BoundOf(dim) : kOpen};
}

Dim DimOfRange(ValueRange range) {
  if (range.exact()) {
    if (range.low < -1 || range.low > kMaxDim)
      Throw(Code::kInvalidArgument, "{} is not a dimension", range.low);
    return range.low;
  }
  return range.high > kMaxDim || range.high < 0 ? kUnknownDim : BoundedDim(range.high);
}

Numbers NumbersOf(const InferenceContext& context, int input) {
  return {context.shape(input), GetElements(context, input)};
}

void CheckShapeVector(const Shape& shape) {
  if (!shape.known_rank()) return;
  if (shape.rank() != 1) {
    Throw(Code::kInvalidArgument, "shape must be a vector of {{int32,int64}}, got shape {}",
          shape.ToString());
  }
  if (shape[0] <= Shape::kMaxRank) return;
  Throw(Code::kUnimplemented, "a shape of {} dimensions; at most {} are supported", shape[0],
        Shape::kMaxRank);
}

Shape ShapeOf(const Numbers& numbers) {
  CheckShapeVector(numbers.shape);
  if (!numbers.elements) return Shape::Unknown();
  Shape result;
  for (const ValueRange& size : *numbers.elements) {
    if (size.exact() && size.low < 0) {
      Throw(Code::kInvalidArgument, "Dimension {} must be >= 0, at place {} of a shape", size.low,
            result.rank());
    }
    result.Append(DimOfRange(size));
  }
  if (result.IsExact()) result.NumElements();  // throws where there are too many
  return result;
}

Dim DimFromInput(const InferenceContext& context, int input) {
  const std::optional<Elements> elements = GetElements(context, input);
  return elements && elements->size() == 1 ? DimOfRange(elements->front()) : kUnknownDim;
}

ValueRange ApplyRange(const IntUnary& op, ValueRange a, DataType dtype) {
  if (a.exact()) return Exactly(Wrap(op.apply(a.low), dtype));
  if (!op.corners) return {};
  const auto [low, high] = std::minmax({op.apply(Widen(a.low)), op.apply(Widen(a.high))});
  return Narrow(low, high, dtype);
}

std::optional<ValueRange> ApplyRange(const IntBinary& op, ValueRange a, ValueRange b, DataType dtype) {
  __int128 corner[4];
  if (a.exact() && b.exact()) {
    if (!op.apply(a.low, b.low, &corner[0])) return std::nullopt;
    return Exactly(Wrap(corner[0], dtype));
  }
  if (!op.corners) return ValueRange{};
  if (!op.apply(Widen(a.low), Widen(b.low), &corner[0]) ||
      !op.apply(Widen(a.low), Widen(b.high), &corner[1]) ||
      !op.apply(Widen(a.high), Widen(b.low), &corner[2]) ||
      !op.apply(Widen(a.high), Widen(b.high), &corner[3])) {
    return ValueRange{};
  }
  const auto [low, high] = std::ranges::minmax(corner);
  return Narrow(low, high, dtype);
}

std::vector<int64_t> DenseStrides(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()));
  int64_t stride = 1;
  for (int i = shape.rank(); i-- > 0;) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= shape[i];
  }
  return strides;
}

std::vector<int64_t> BroadcastPositions(const Shape& from, const Shape& to) {
  const std::vector<int64_t> from_strides = DenseStrides(from);
  const std::vector<int64_t> to_strides = DenseStrides(to);
  const int offset = to.rank() - from.rank();
  std::vector<int64_t> positions(static_cast<size_t>(to.NumElements()), 0);
  for (size_t k = 0; k < positions.size(); ++k) {
    for (int d = 0; d < from.rank(); ++d) {
      if (from[d] == 1) continue;
      const int64_t index = static_cast<int64_t>(k) / to_strides[static_cast<size_t>(d + offset)] % from[d];
      positions[k] += index * from_strides[static_cast<size_t>(d)];
    }
  }
  return positions;
}

}  // namespace lanescope::ops
