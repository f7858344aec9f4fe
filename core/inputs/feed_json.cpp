// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/feed_json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json_object.h"
#include "core/graph/small_float_tensor.h"

namespace lanescope {
namespace {

// Larger feeds would need a shape that no step of a graph is meant for, and hours to generate.
constexpr int64_t kMaxElements = int64_t{1} << 31;
// Counts up to this are exact in double and leave room for the products that the generators form.
constexpr int64_t kMaxFeedCount = int64_t{1} << 31;

bool IsNumeric(DataType dtype) {
  switch (dtype) {
    case DataType::kHalf:
    case DataType::kFloat:
    case DataType::kDouble:
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kUint8:
    case DataType::kBool:
      return true;
    default:
      return false;
  }
}

DataType ReadDtype(JsonObject* object) {
  const std::string name = object->String("dtype");
  const DataType dtype = ParseDataType(name);
  if (dtype != DataType::kString && !IsNumeric(dtype)) {
    object->Fail("dtype", "must be float16, float32, float64, int32, int64, uint8, bool or string");
  }
  return dtype;
}

Shape ReadShape(JsonObject* object) {
  const nlohmann::json& list = object->Require("shape");
  if (!list.is_array() || list.size() > static_cast<size_t>(Shape::kMaxRank)) {
    object->Fail("shape", "must be a list of at most 8 sizes");
  }
  Shape shape;
  for (const nlohmann::json& size : list) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > static_cast<uint64_t>(kMaxElements)) {
      object->Fail("shape", "must hold sizes from 0 to 2^31");
    }
    shape.Append(size.get<int64_t>());
  }
  if (shape.NumElements() > kMaxElements) object->Fail("shape", "must hold at most 2^31 elements");
  return shape;
}

// The shape of nested lists, by the first element of each; FlattenValues finds the ragged ones.
Shape NestedShape(JsonObject* object, const nlohmann::json& values) {
  Shape shape;
  for (const nlohmann::json* level = &values; level->is_array(); level = &level->front()) {
    if (shape.rank() == Shape::kMaxRank) object->Fail("values", "must be nested at most 8 deep");
    shape.Append(static_cast<int64_t>(level->size()));
    if (level->empty()) break;
  }
  return shape;
}

void FlattenValues(JsonObject* object, const nlohmann::json& values, const Shape& nesting, int depth,
                   std::vector<const nlohmann::json*>* flat) {
  if (depth == nesting.rank()) {
    if (values.is_array()) object->Fail("values", "must be a rectangular array");
    flat->push_back(&values);
    return;
  }
  if (!values.is_array() || static_cast<int64_t>(values.size()) != nesting[depth]) {
    object->Fail("values", "must be a rectangular array");
  }
  for (const nlohmann::json& value : values) FlattenValues(object, value, nesting, depth + 1, flat);
}

template <typename T>
T Convert(JsonObject* object, const nlohmann::json& value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_integer() && (value == 0 || value == 1)) return value == 1;
    object->Fail("values", "must hold true and false");
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string()) object->Fail("values", "must hold strings");
    return value.get<std::string>();
  } else if constexpr (std::is_integral_v<T>) {
    const bool too_large = value.is_number_unsigned() &&
                           value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<T>::max());
    if (!value.is_number_integer() || too_large ||
        (!value.is_number_unsigned() && value.get<int64_t>() < std::numeric_limits<T>::min())) {
      object->Fail("values", "must hold integers of its dtype");
    }
    return static_cast<T>(value.get<int64_t>());
  } else {
    if (!value.is_number()) object->Fail("values", "must hold numbers");
    return value.get<T>();
  }
}

template <typename T>
Tensor ConvertAll(JsonObject* object, const Shape& shape, const std::vector<const nlohmann::json*>& flat) {
  Tensor tensor(DataTypeOf<T>::value, shape);
  for (size_t i = 0; i < flat.size(); ++i) tensor.data<T>()[i] = Convert<T>(object, *flat[i]);
  return tensor;
}

Tensor ReadValues(JsonObject* object, DataType dtype) {
  const nlohmann::json& values = object->Require("values");
  const Shape nesting = NestedShape(object, values);
  std::vector<const nlohmann::json*> flat;
  FlattenValues(object, values, nesting, 0, &flat);
  const Shape shape = object->Has("shape") ? ReadShape(object) : nesting;
  if (shape.NumElements() != static_cast<int64_t>(flat.size())) {
    object->Fail("values", fmt::format("has {} values for a shape of {}", flat.size(), shape.NumElements()));
  }
  switch (dtype) {
    case DataType::kHalf:
      return NarrowedTensor(ConvertAll<float>(object, shape, flat), dtype);
    case DataType::kFloat:
      return ConvertAll<float>(object, shape, flat);
    case DataType::kDouble:
      return ConvertAll<double>(object, shape, flat);
    case DataType::kInt32:
      return ConvertAll<int32_t>(object, shape, flat);
    case DataType::kInt64:
      return ConvertAll<int64_t>(object, shape, flat);
    case DataType::kUint8:
      return ConvertAll<uint8_t>(object, shape, flat);
    case DataType::kBool:
      return ConvertAll<bool>(object, shape, flat);
    default:
      return ConvertAll<std::string>(object, shape, flat);
  }
}

std::string ResolveFile(JsonObject* object, const std::string& directory) {
  const std::string file = object->String("file");
  if (file.find('\0') != std::string::npos) object->Fail("file", "is no file name");
  const std::optional<std::string> path = PathWithin(directory, file);
  if (!path.has_value())
    object->Fail("file", "must name a file in the folder of the run configuration or below");
  return *path;
}

void ReadFileFeed(JsonObject* object, const std::string& directory, FeedSpec* feed) {
  feed->values = ReadNpy(ResolveFile(object, directory));
  if (object->Has("dtype") && feed->values.dtype() != feed->dtype) {
    object->Fail("dtype", fmt::format("is {}, the file's is {}", NumpyName(feed->dtype),
                                      NumpyName(feed->values.dtype())));
  }
  feed->dtype = feed->values.dtype();
  if (object->Has("shape") && ReadShape(object) != feed->values.shape()) {
    object->Fail("shape", fmt::format("differs from the file's, {}", feed->values.shape().ToString()));
  }
}

void ReadSeed(JsonObject* object, FeedSpec* feed) {
  feed->has_seed = object->Has("seed");
  if (feed->has_seed) feed->seed = object->Unsigned("seed");
}

void ReadRange(JsonObject* object, FeedSpec* feed) {
  feed->low = object->Number("low");
  feed->high = object->Number("high");
  ReadSeed(object, feed);
  if (feed->low > feed->high || !std::isfinite(feed->high - feed->low)) {
    object->Fail("high", "must not be below 'low', nor infinitely far above");
  }
  const bool whole = std::floor(feed->low) == feed->low && std::floor(feed->high) == feed->high;
  if (feed->generator == "integers" && (!whole || feed->low == feed->high)) {
    object->Fail("high", "must be a whole number above the whole number 'low'");
  }
}

void ReadPolynomial(JsonObject* object, FeedSpec* feed) {
  feed->of = object->String("of");
  const nlohmann::json& list = object->Require("coefficients");
  if (!list.is_array() || list.empty()) object->Fail("coefficients", "must be a list of numbers");
  for (const nlohmann::json& coefficient : list) {
    if (!coefficient.is_number()) object->Fail("coefficients", "must be a list of numbers");
    feed->coefficients.push_back(coefficient.get<double>());
  }
}

void ReadReview(JsonObject* object, FeedSpec* feed) {
  feed->vocabulary = object->Integer("vocabulary", 1, kMaxFeedCount);
  feed->classes = object->Integer("classes", 1, kMaxFeedCount);
  feed->block = object->Integer("block", 1, kMaxFeedCount);
  feed->tower = static_cast<int>(object->Integer("tower", 0, 99));
  ReadSeed(object, feed);
  feed->signal = object->Number("signal");
  if (feed->signal < 0 || feed->signal > 1) object->Fail("signal", "must be a probability");
  if (feed->dtype != DataType::kString) object->Fail("dtype", "must be string for reviews");
  if (feed->shape.rank() != 2) object->Fail("shape", "must be [batch, words] for reviews");
}

void ReadGenerator(JsonObject* object, FeedSpec* feed) {
  feed->generator = object->String("generator");
  feed->shape = ReadShape(object);
  if (feed->generator == "review") return ReadReview(object, feed);
  if (!IsNumeric(feed->dtype)) object->Fail("dtype", "must be a numeric type for this generator");
  if (feed->generator == "uniform" || feed->generator == "integers") {
    ReadRange(object, feed);
  } else if (feed->generator == "polynomial") {
    ReadPolynomial(object, feed);
  } else if (feed->generator == "review_rating") {
    feed->classes = object->Integer("classes", 2, kMaxFeedCount);
    ReadSeed(object, feed);
  } else {
    object->Fail("generator", "must be uniform, integers, polynomial, review or review_rating");
  }
}

}  // namespace

FeedSpec FeedFromJson(const std::string& name, const nlohmann::json& json, const std::string& directory) {
  JsonObject object(json, fmt::format("feed '{}'", name));
  const int kinds = object.Has("values") + object.Has("file") + object.Has("generator");
  if (kinds != 1) object.Fail("values", "or 'file' or 'generator' must be given, and one of them only");
  FeedSpec feed;
  if (object.Has("dtype")) feed.dtype = ReadDtype(&object);
  if (object.Has("generator")) {
    ReadGenerator(&object, &feed);
  } else {
    if (object.Has("values")) {
      feed.values = ReadValues(&object, feed.dtype);
    } else {
      ReadFileFeed(&object, directory, &feed);
    }
    feed.shape = feed.values.shape();
  }
  object.Finish();
  return feed;
}

}  // namespace lanescope
