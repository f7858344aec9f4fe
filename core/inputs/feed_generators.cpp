// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/feed_generators.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/base/split_mix.h"
#include "core/graph/small_float_tensor.h"

// Products and sums must round one by one, as they do in every other implementation: this file is compiled
// with -ffp-contract=off.

namespace lanescope {
namespace {

constexpr uint64_t kUniformStream = 0;
constexpr uint64_t kIntegersStream = 1;
constexpr uint64_t kClassStream = 100;   // plus the tower
constexpr uint64_t kSignalStream = 200;  // plus the tower
constexpr uint64_t kWordStream = 300;    // plus the tower

// C's conversion (towards zero), held to the ends of the type where C leaves the result undefined.
template <typename T>
T Cast(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    constexpr double kEnd = static_cast<double>(uint64_t{1} << std::numeric_limits<T>::digits);
    if (std::isnan(value)) return 0;
    if (value >= kEnd) return std::numeric_limits<T>::max();
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

// Calls visit(T()) with the element type of a numeric feed.
template <typename Visit>
void VisitNumeric(DataType dtype, Visit visit) {
  switch (dtype) {
    case DataType::kFloat:
      return visit(float());
    case DataType::kDouble:
      return visit(double());
    case DataType::kInt32:
      return visit(int32_t());
    case DataType::kInt64:
      return visit(int64_t());
    case DataType::kUint8:
      return visit(uint8_t());
    case DataType::kInt8:
      return visit(int8_t());
    case DataType::kInt16:
      return visit(int16_t());
    case DataType::kUint16:
      return visit(uint16_t());
    case DataType::kUint32:
      return visit(uint32_t());
    case DataType::kBool:
      return visit(bool());
    default:
      LANESCOPE_CHECK(false);
  }
}

// Element i is value(i), computed in double.
template <typename Value>
Tensor Fill(const FeedSpec& spec, Value value) {
  if (HasSmallFloats(spec.dtype)) {
    FeedSpec wide = spec;
    wide.dtype = DataType::kFloat;
    return NarrowedTensor(Fill(wide, value), spec.dtype);
  }
  Tensor tensor(spec.dtype, spec.shape);
  VisitNumeric(spec.dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* out = static_cast<T*>(tensor.raw_data());
    for (int64_t i = 0; i < tensor.NumElements(); ++i) out[i] = Cast<T>(value(static_cast<uint64_t>(i)));
  });
  return tensor;
}

double ClassOf(const FeedSpec& spec, const HashStream& stream, uint64_t review) {
  return std::floor(static_cast<double>(spec.classes) * stream(review));
}

std::string WordText(double id) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof(text), static_cast<int64_t>(id)).ptr;
  return {text, end};
}

// Reviews of one tower: a word comes from the block of its review's class with probability `signal`, else
// from the whole vocabulary, small numbers first by a cubic law.
Tensor GenerateReview(const FeedSpec& spec, int64_t step) {
  const auto tower = static_cast<uint64_t>(spec.tower);
  const HashStream classes(spec.seed, step, kClassStream + tower);
  const HashStream signals(spec.seed, step, kSignalStream + tower);
  const HashStream words(spec.seed, step, kWordStream + tower);
  const auto block = static_cast<double>(spec.block);
  const auto vocabulary = static_cast<double>(spec.vocabulary);
  Tensor tensor(DataType::kString, spec.shape);
  const auto reviews = static_cast<uint64_t>(spec.shape[0]);
  const auto length = static_cast<uint64_t>(spec.shape[1]);
  for (uint64_t review = 0; review < reviews; ++review) {
    const double base = ClassOf(spec, classes, review) * block;
    for (uint64_t k = review * length; k < (review + 1) * length; ++k) {
      const double x = words(k);
      const bool from_class = signals(k) < spec.signal;
      tensor.data<std::string>()[k] =
          WordText(from_class ? base + std::floor(block * x) : std::floor(vocabulary * (x * x * x)));
    }
  }
  return tensor;
}

// The rating of review b rises with the classes of both towers: 1 to 5.
Tensor GenerateReviewRating(const FeedSpec& spec, int64_t step) {
  const HashStream user(spec.seed, step, kClassStream);
  const HashStream item(spec.seed, step, kClassStream + 1);
  const auto top = static_cast<double>(spec.classes - 1);
  return Fill(spec, [&](uint64_t b) {
    return 1 + 4 * (ClassOf(spec, user, b) / top) * (ClassOf(spec, item, b) / top);
  });
}

std::vector<double> AsDoubles(const Tensor& tensor) {
  if (HasSmallFloats(tensor.dtype())) return AsDoubles(WidenedTensor(tensor));
  std::vector<double> values(static_cast<size_t>(tensor.NumElements()));
  VisitNumeric(tensor.dtype(), [&](auto zero) {
    const auto* in = static_cast<const decltype(zero)*>(tensor.raw_data());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(in[i]);
  });
  return values;
}

Tensor GeneratePolynomial(const FeedSpec& spec, const Tensor& of) {
  const std::vector<double> x = AsDoubles(of);
  return Fill(spec, [&](uint64_t i) {
    double y = 0;
    for (auto c = spec.coefficients.rbegin(); c != spec.coefficients.rend(); ++c) y = y * x[i] + *c;
    return y;
  });
}

}  // namespace

HashStream::HashStream(uint64_t seed, int64_t step, uint64_t stream)
    : key_(SplitMix(SplitMix(SplitMix(seed) ^ static_cast<uint64_t>(step)) ^ stream)) {}

double HashStream::operator()(uint64_t i) const {
  return static_cast<double>(SplitMix(key_ ^ i) >> 11) * 0x1p-53;
}

Tensor GenerateFeed(const FeedSpec& spec, const Tensor* of, int64_t step) {
  if (spec.generator == "polynomial") {
    LANESCOPE_CHECK(of != nullptr);
    return GeneratePolynomial(spec, *of);
  }
  if (spec.generator == "review") return GenerateReview(spec, step);
  if (spec.generator == "review_rating") return GenerateReviewRating(spec, step);
  const double range = spec.high - spec.low;
  if (spec.generator == "uniform") {
    const HashStream stream(spec.seed, step, kUniformStream);
    return Fill(spec, [&](uint64_t i) { return spec.low + range * stream(i); });
  }
  LANESCOPE_CHECK(spec.generator == "integers");
  const HashStream stream(spec.seed, step, kIntegersStream);
  return Fill(spec, [&](uint64_t i) { return spec.low + std::floor(range * stream(i)); });
}

}  // namespace lanescope
