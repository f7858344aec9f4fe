// SPDX-License-Identifier: Apache-2.0
#include "core/graph/tensor_proto.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <complex>

#include "core/base/error.h"

namespace lanescope {
namespace {

// The element lists of a TensorProto as elements of type T. TensorFlow's rule: a list that is too short
// repeats its last element, an empty one means zeros, surplus elements are ignored.
template <typename T, typename List>
void FillFromList(const List& list, Tensor* tensor) {
  const int64_t elements = tensor->NumElements();
  const int64_t given = std::min<int64_t>(list.size(), elements);
  if (given == 0) return;
  T* out = static_cast<T*>(tensor->raw_data());
  for (int64_t i = 0; i < given; ++i) out[i] = static_cast<T>(list[static_cast<int>(i)]);
  std::fill(out + given, out + elements, T(out[given - 1]));
}

template <typename T, typename List>
void FillComplexFromList(const List& list, Tensor* tensor) {
  const int64_t elements = tensor->NumElements();
  const int64_t given = std::min<int64_t>(list.size() / 2, elements);
  if (given == 0) return;
  auto* out = static_cast<std::complex<T>*>(tensor->raw_data());
  for (int i = 0; i < static_cast<int>(given); ++i) out[i] = {list[2 * i], list[2 * i + 1]};
  std::fill(out + given, out + elements, std::complex<T>(out[given - 1]));
}

void FillFromLists(const tf::TensorProto& proto, Tensor* tensor) {
  switch (static_cast<int>(proto.dtype())) {
    case tf::DT_FLOAT:
      return FillFromList<float>(proto.float_val(), tensor);
    case tf::DT_DOUBLE:
      return FillFromList<double>(proto.double_val(), tensor);
    case tf::DT_INT32:
    case tf::DT_QINT32:
      return FillFromList<int32_t>(proto.int_val(), tensor);
    case tf::DT_INT16:
    case tf::DT_QINT16:
    case tf::DT_UINT16:
    case tf::DT_QUINT16:
      return FillFromList<uint16_t>(proto.int_val(), tensor);
    case tf::DT_INT8:
    case tf::DT_QINT8:
    case tf::DT_UINT8:
    case tf::DT_QUINT8:
    case tf::DT_INT4:
    case tf::DT_UINT4:
      return FillFromList<uint8_t>(proto.int_val(), tensor);
    case tf::DT_INT64:
      return FillFromList<int64_t>(proto.int64_val(), tensor);
    case tf::DT_UINT32:
      return FillFromList<uint32_t>(proto.uint32_val(), tensor);
    case tf::DT_UINT64:
      return FillFromList<uint64_t>(proto.uint64_val(), tensor);
    case tf::DT_BOOL:
      return FillFromList<bool>(proto.bool_val(), tensor);
    case tf::DT_HALF:
    case tf::DT_BFLOAT16:
      return FillFromList<uint16_t>(proto.half_val(), tensor);
    case tf::DT_COMPLEX64:
      return FillComplexFromList<float>(proto.scomplex_val(), tensor);
    case tf::DT_COMPLEX128:
      return FillComplexFromList<double>(proto.dcomplex_val(), tensor);
    case tf::DT_STRING:
      return FillFromList<std::string>(proto.string_val(), tensor);
    case tf::DT_FLOAT8_E5M2:
    case tf::DT_FLOAT8_E4M3FN:
      return FillFromList<uint8_t>(proto.float8_val(), tensor);
    default:
      LANESCOPE_CHECK(false);
  }
}

// Raw content of strings: all lengths as varints, then all characters.
void FillStringsFromContent(const std::string& content, Tensor* tensor) {
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(content.data()),
                                               static_cast<int>(content.size()));
  const auto elements = static_cast<size_t>(tensor->NumElements());
  std::vector<uint32_t> lengths(elements);
  bool readable = true;
  for (size_t i = 0; readable && i < elements; ++i) readable = input.ReadVarint32(&lengths[i]);
  for (size_t i = 0; readable && i < elements; ++i) {
    readable = lengths[i] <= content.size() &&
               input.ReadString(&tensor->data<std::string>()[i], static_cast<int>(lengths[i]));
  }
  if (!readable || static_cast<size_t>(input.CurrentPosition()) != content.size()) {
    Throw(Code::kInvalidArgument, "the content of a string constant of shape {} is malformed",
          tensor->shape().ToString());
  }
}

void FillFromContent(const std::string& content, Tensor* tensor) {
  if (tensor->dtype() == DataType::kString) return FillStringsFromContent(content, tensor);
  std::memcpy(tensor->raw_data(), content.data(), content.size());
  if (tensor->dtype() == DataType::kBool) {
    // Any other bit pattern than 0 and 1 would be no bool.
    auto* bytes = static_cast<uint8_t*>(tensor->raw_data());
    for (size_t i = 0; i < content.size(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
  }
}

bool HasElementsHere(DataType dtype) {
  return !IsRefType(dtype) && (dtype == DataType::kString || ElementSize(dtype) > 0);
}

// Raw content must be as long as the shape says (of strings: a length byte each at least); everything beyond
// the bytes given is charged.
void CheckSize(const tf::TensorProto& proto, DataType dtype, const Shape& shape, ExpansionBudget* budget) {
  const bool is_string = dtype == DataType::kString;
  const auto element_size = static_cast<int64_t>(is_string ? sizeof(std::string) : ElementSize(dtype));
  const int64_t elements = shape.NumElements();
  const auto content = static_cast<int64_t>(proto.tensor_content().size());
  const bool content_fits =
      is_string ? content >= elements : content / element_size == elements && content % element_size == 0;
  if (content > 0 && !content_fits) {
    Throw(Code::kInvalidArgument, "a {} constant of shape {} has {} bytes of content", DataTypeName(dtype),
          shape.ToString(), content);
  }
  if (content > 0 && !is_string) return;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, element_size, &bytes)) bytes = std::numeric_limits<int64_t>::max();
  budget->Charge(bytes - static_cast<int64_t>(std::min<uint64_t>(proto.ByteSizeLong(), bytes)), shape);
}

// One element goes into the list of its type, which is what a person can read; more go into raw content.
void ScalarToProto(const Tensor& tensor, tf::TensorProto* proto) {
  switch (tensor.dtype()) {
    case DataType::kFloat:
      return proto->add_float_val(*tensor.data<float>());
    case DataType::kDouble:
      return proto->add_double_val(*tensor.data<double>());
    case DataType::kInt64:
      return proto->add_int64_val(*tensor.data<int64_t>());
    case DataType::kInt32:
      return proto->add_int_val(*tensor.data<int32_t>());
    case DataType::kBool:
      return proto->add_bool_val(*tensor.data<bool>());
    default:
      proto->set_tensor_content(tensor.raw_data(), static_cast<size_t>(tensor.ByteSize()));
  }
}

}  // namespace

void ExpansionBudget::Charge(int64_t bytes, const Shape& shape) {
  if (bytes > left_) {
    Throw(Code::kInvalidArgument,
          "constants of shape {} and others declare over 2^31 bytes more than the file holds; use Fill for "
          "large repeated values",
          shape.ToString());
  }
  left_ -= bytes;
}

Shape ShapeFromProto(const tf::TensorShapeProto& proto) {
  for (const auto& dim : proto.dim()) {
    if (dim.size() < -1) Throw(Code::kInvalidArgument, "a shape has a dimension of size {}", dim.size());
  }
  if (proto.unknown_rank() || proto.dim_size() > Shape::kMaxRank) return Shape::Unknown();
  Shape shape;
  for (const auto& dim : proto.dim()) shape.Append(dim.size());
  return shape;
}

void ShapeToProto(const Shape& shape, tf::TensorShapeProto* proto) {
  proto->set_unknown_rank(!shape.known_rank());
  for (Dim dim : shape.dims()) proto->add_dim()->set_size(IsExact(dim) ? dim : -1);
}

Tensor TensorFromProto(const tf::TensorProto& proto, ExpansionBudget* budget) {
  const auto dtype = static_cast<DataType>(proto.dtype());
  const Shape shape = ShapeFromProto(proto.tensor_shape());
  if (!HasElementsHere(dtype) || proto.tensor_shape().dim_size() > Shape::kMaxRank) return Tensor();
  if (!shape.IsExact()) {
    Throw(Code::kInvalidArgument, "a constant has the shape {}; every dimension must be known",
          shape.ToString());
  }
  CheckSize(proto, dtype, shape, budget);
  Tensor tensor(dtype, shape);
  if (proto.tensor_content().empty()) {
    FillFromLists(proto, &tensor);
  } else {
    FillFromContent(proto.tensor_content(), &tensor);
  }
  return tensor;
}

void TensorToProto(const Tensor& tensor, tf::TensorProto* proto) {
  proto->set_dtype(static_cast<tf::DataType>(tensor.dtype()));
  ShapeToProto(tensor.shape(), proto->mutable_tensor_shape());
  const int64_t elements = tensor.NumElements();
  if (tensor.dtype() == DataType::kString) {
    for (int64_t i = 0; i < elements; ++i) proto->add_string_val(tensor.data<std::string>()[i]);
  } else if (elements == 1) {
    ScalarToProto(tensor, proto);
  } else if (elements > 1) {
    proto->set_tensor_content(tensor.raw_data(), static_cast<size_t>(tensor.ByteSize()));
  }
}

std::string SerializeInOrder(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  if (!message.SerializeToCodedStream(&output)) {
    Throw(Code::kInvalidArgument, "a graph over 2 GiB cannot be written in the GraphDef format");
  }
  output.Trim();
  return bytes;
}

}  // namespace lanescope
