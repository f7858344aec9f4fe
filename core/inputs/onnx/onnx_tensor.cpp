// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/onnx/onnx_tensor.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/inputs/onnx/small_elements.h"

namespace lanescope {
namespace {

namespace fs = std::filesystem;

constexpr int kExternal = 1;
constexpr int64_t kMaxBytes = int64_t{1} << 40;

Shape TensorShape(const onnx::TensorProto& proto) {
  if (proto.dims_size() > Shape::kMaxRank)
    Throw(Code::kUnimplemented, "has {} axes; {} are the most here", proto.dims_size(), Shape::kMaxRank);
  Shape shape;
  for (const int64_t size : proto.dims()) {
    if (size < 0) Throw(Code::kInvalidArgument, "has an axis of size {}", size);
    shape.Append(size);
  }
  return shape;
}

template <typename T, typename Values>
void Fill(const Values& values, Tensor* tensor) {
  if (values.size() != tensor->NumElements())
    Throw(Code::kInvalidArgument, "has {} values for shape {}", values.size(), tensor->shape().ToString());
  auto* out = static_cast<T*>(tensor->raw_data());
  for (const auto value : values) *out++ = static_cast<T>(value);
}

void FillFromField(const onnx::TensorProto& proto, Tensor* tensor) {
  switch (tensor->dtype()) {
    case DataType::kFloat:
      return Fill<float>(proto.float_data(), tensor);
    case DataType::kDouble:
      return Fill<double>(proto.double_data(), tensor);
    case DataType::kInt64:
      return Fill<int64_t>(proto.int64_data(), tensor);
    case DataType::kUint32:
      return Fill<uint32_t>(proto.uint64_data(), tensor);
    case DataType::kUint64:
      return Fill<uint64_t>(proto.uint64_data(), tensor);
    case DataType::kInt32:
      return Fill<int32_t>(proto.int32_data(), tensor);
    case DataType::kInt16:
      return Fill<int16_t>(proto.int32_data(), tensor);
    case DataType::kUint16:
    case DataType::kHalf:
    case DataType::kBfloat16:
      return Fill<uint16_t>(proto.int32_data(), tensor);
    case DataType::kInt8:
      return Fill<int8_t>(proto.int32_data(), tensor);
    case DataType::kUint8:
    case DataType::kBool:
      return Fill<uint8_t>(proto.int32_data(), tensor);
    default:
      Throw(Code::kUnimplemented, "has elements of type {}", DataTypeName(tensor->dtype()));
  }
}

int64_t Number(const std::string& text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
    Throw(Code::kInvalidArgument, "has '{}' where a number of bytes belongs", text);
  return std::stoll(text);
}

struct Place {
  fs::path path;
  int64_t offset = 0;
};

// Where the tensor's `bytes` lie, which are there.
Place PlaceOf(const onnx::TensorProto& proto, const std::string& folder, int64_t bytes) {
  std::string location;
  Place place;
  std::optional<int64_t> length;
  for (const onnx::Entry& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") place.offset = Number(entry.value());
    if (entry.key() == "length") length = Number(entry.value());
  }
  if (folder.empty()) Throw(Code::kInvalidArgument, "lies in '{}', which cannot be read here", location);
  if (length.value_or(bytes) != bytes)
    Throw(Code::kInvalidArgument, "has {} bytes in '{}', not {}", *length, location, bytes);
  const std::optional<std::string> path = PathWithin(folder, location);
  if (!path.has_value())
    Throw(Code::kInvalidArgument, "lies in '{}', which leads out of the model's folder; copy the file there",
          location);
  place.path = *path;
  std::error_code error;
  if (!fs::is_regular_file(place.path, error))
    Throw(Code::kNotFound, "lies in '{}', which is no file beside the model", location);
  const auto size = static_cast<int64_t>(fs::file_size(place.path, error));
  if (error || place.offset > size || bytes > size - place.offset)
    Throw(Code::kInvalidArgument, "reaches beyond the end of '{}'", location);
  return place;
}

void ReadFrom(const Place& place, Tensor* tensor) {
  std::ifstream file(place.path, std::ios::binary);
  file.seekg(place.offset);
  if (!file.read(static_cast<char*>(tensor->raw_data()), tensor->ByteSize()))
    Throw(Code::kDataLoss, "cannot be read from '{}'", place.path.string());
}

// Any other byte is no bool to C++.
void CheckBools(const Tensor& tensor) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw_data());
  for (int64_t i = 0; i < tensor.NumElements(); ++i)
    if (bytes[i] > 1) Throw(Code::kInvalidArgument, "has bools that are neither true nor false");
}

int ValuesIn(const onnx::TensorProto& proto) {
  return std::max({proto.float_data_size(), proto.int32_data_size(), proto.int64_data_size(),
                   proto.double_data_size(), proto.uint64_data_size()});
}

// Converts elements that are not a whole number of bytes, or that no tensor here has.
Tensor ConvertSmall(const onnx::TensorProto& proto, const std::string& folder) {
  const Shape shape = TensorShape(proto);
  const int64_t elements = shape.NumElements(), in_byte = 8 / SmallElementBits(proto.data_type());
  if (elements > kMaxBytes) Throw(Code::kInvalidArgument, "has the shape {}", shape.ToString());
  const int64_t size = (elements + in_byte - 1) / in_byte;
  std::string bytes = proto.raw_data();
  if (proto.data_location() == kExternal) {
    const Place place = PlaceOf(proto, folder, size);
    Tensor held(DataType::kUint8, Shape{size});
    ReadFrom(place, &held);
    bytes.assign(static_cast<const char*>(held.raw_data()), static_cast<size_t>(size));
  } else if (bytes.empty()) {
    for (const int32_t byte : proto.int32_data()) bytes += static_cast<char>(byte);
  }
  if (static_cast<int64_t>(bytes.size()) != size)
    Throw(Code::kInvalidArgument, "has {} bytes for {} elements of {} bits", bytes.size(), elements,
          SmallElementBits(proto.data_type()));
  return UnpackElements(proto.data_type(), shape, bytes);
}

Tensor Convert(const onnx::TensorProto& proto, const std::string& folder) {
  if (SmallElementBits(proto.data_type()) != 0) return ConvertSmall(proto, folder);
  const DataType dtype = OnnxDataType(proto.data_type());
  const Shape shape = TensorShape(proto);
  if (dtype == DataType::kString) {
    if (proto.string_data_size() != shape.NumElements())
      Throw(Code::kInvalidArgument, "has {} texts for shape {}", proto.string_data_size(), shape.ToString());
    Tensor tensor(dtype, Shape{proto.string_data_size()});
    for (int i = 0; i < proto.string_data_size(); ++i) tensor.data<std::string>()[i] = proto.string_data(i);
    return tensor.Reshaped(shape);
  }
  // All checks come before memory is taken.
  const int64_t elements = shape.NumElements();
  const auto size = static_cast<int64_t>(ElementSize(dtype));
  if (elements > kMaxBytes / size) Throw(Code::kInvalidArgument, "has the shape {}", shape.ToString());
  Place place;
  const std::string& raw = proto.raw_data();
  const bool external = proto.data_location() == kExternal;
  if (external) {
    place = PlaceOf(proto, folder, elements * size);
  } else if (!raw.empty()) {
    if (static_cast<int64_t>(raw.size()) != elements * size)
      Throw(Code::kInvalidArgument, "has {} bytes for {} elements of type {}", raw.size(), elements,
            DataTypeName(dtype));
  } else if (const int values = ValuesIn(proto); values != elements) {
    Throw(Code::kInvalidArgument, "has {} values for shape {}", values, shape.ToString());
  }
  Tensor tensor(dtype, shape);
  if (external) {
    ReadFrom(place, &tensor);
  } else if (!raw.empty()) {
    std::memcpy(tensor.raw_data(), raw.data(), raw.size());
  } else {
    FillFromField(proto, &tensor);
  }
  if (dtype == DataType::kBool) CheckBools(tensor);
  return tensor;
}

}  // namespace

DataType OnnxDataType(int number) {
  if (SmallElementBits(number) != 0) return SmallElementType(number);
  constexpr DataType kTypes[] = {
      DataType::kInvalid, DataType::kFloat,   DataType::kUint8,  DataType::kInt8,   DataType::kUint16,
      DataType::kInt16,   DataType::kInt32,   DataType::kInt64,  DataType::kString, DataType::kBool,
      DataType::kHalf,    DataType::kDouble,  DataType::kUint32, DataType::kUint64, DataType::kInvalid,
      DataType::kInvalid, DataType::kBfloat16};
  if (number < 1 || number >= static_cast<int>(std::size(kTypes)) || kTypes[number] == DataType::kInvalid)
    Throw(Code::kUnimplemented, "has elements of ONNX's type {}, which no tensor here has", number);
  return kTypes[number];
}

Tensor OnnxTensor(const onnx::TensorProto& proto, const std::string& folder) {
  try {
    return Convert(proto, folder);
  } catch (const Error& error) {
    Throw(error.code(), "uses the tensor '{}', which {}", proto.name(), error.message());
  }
}

}  // namespace lanescope
