// SPDX-License-Identifier: Apache-2.0
#include "python/binding/tensors.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "core/base/error.h"

namespace lanescope::python {
namespace {

nb::object Numpy() { return nb::module_::import_("numpy"); }

Shape ShapeOfArray(const nb::object& array) {
  std::vector<Dim> sizes;
  for (const nb::handle size : nb::object(array.attr("shape"))) sizes.push_back(nb::cast<Dim>(size));
  return Shape(std::span<const Dim>(sizes));
}

std::string TextOf(nb::handle element) {
  if (nb::isinstance<nb::bytes>(element)) {
    const auto bytes = nb::borrow<nb::bytes>(element);
    return {bytes.c_str(), bytes.size()};
  }
  if (nb::isinstance<nb::str>(element)) return nb::cast<std::string>(element);
  Throw(Code::kInvalidArgument, "an element of an array of objects is neither str nor bytes");
}

Tensor StringsOf(const nb::object& array) {
  Tensor tensor(DataType::kString, ShapeOfArray(array));
  int64_t i = 0;
  for (const nb::handle element : nb::object(array.attr("ravel")().attr("tolist")()))
    tensor.data<std::string>()[i++] = TextOf(element);
  return tensor;
}

nb::object StringArray(const Tensor& tensor, const std::vector<size_t>& shape) {
  nb::list texts;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const std::string& text = tensor.data<std::string>()[i];
    texts.append(nb::bytes(text.data(), text.size()));
  }
  nb::object array = Numpy().attr("empty")(tensor.NumElements(), "O");
  array[nb::slice(nb::none(), nb::none(), nb::none())] = texts;
  nb::list sizes;
  for (const size_t size : shape) sizes.append(size);
  return array.attr("reshape")(nb::tuple(sizes));
}

Tensor WidenedBfloat16(const Tensor& tensor) {
  Tensor wide(DataType::kFloat, tensor.shape());
  const auto* bits = static_cast<const uint16_t*>(tensor.raw_data());
  for (int64_t i = 0; i < tensor.NumElements(); ++i)
    wide.data<float>()[i] = std::bit_cast<float>(static_cast<uint32_t>(bits[i]) << 16);
  return wide;
}

}  // namespace

Tensor TensorOf(nb::handle value) {
  nb::object array = Numpy().attr("ascontiguousarray")(Numpy().attr("asarray")(value));
  // ascontiguousarray makes vectors of scalars.
  array = array.attr("reshape")(Numpy().attr("shape")(value));
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (kind == "O" || kind == "S" || kind == "U") return StringsOf(array);
  const auto name = nb::cast<std::string>(array.attr("dtype").attr("name"));
  const DataType dtype = ParseDataType(name);
  if (dtype == DataType::kInvalid || ElementSize(dtype) == 0)
    Throw(Code::kInvalidArgument, "no tensor has elements of the type '{}'", name);
  Tensor tensor(dtype, ShapeOfArray(array));
  const nb::object bytes = array.attr("tobytes")();
  const auto content = nb::borrow<nb::bytes>(bytes);
  LANESCOPE_CHECK(static_cast<int64_t>(content.size()) == tensor.ByteSize());
  if (content.size() > 0) std::memcpy(tensor.raw_data(), content.c_str(), content.size());
  return tensor;
}

std::map<std::string, Tensor> TensorsOf(const nb::dict& arrays) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, array] : arrays) tensors[nb::cast<std::string>(name)] = TensorOf(array);
  return tensors;
}

nb::object ArrayOf(const Tensor& tensor) {
  std::vector<size_t> shape;
  for (const Dim dim : tensor.shape().dims()) shape.push_back(static_cast<size_t>(dim));
  if (tensor.dtype() == DataType::kString) return StringArray(tensor, shape);
  if (tensor.dtype() == DataType::kBfloat16) return ArrayOf(WidenedBfloat16(tensor));
  // The array owns a tensor that shares the memory.
  auto owned = std::make_unique<Tensor>(tensor);
  void* const data = owned->raw_data();
  const nb::capsule owner(owned.get(), [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  owned.release();
  nb::object bytes =
      nb::cast(nb::ndarray<nb::numpy, uint8_t>(data, {static_cast<size_t>(tensor.ByteSize())}, owner));
  nb::list sizes;
  for (const size_t size : shape) sizes.append(size);
  return bytes.attr("view")(NumpyName(tensor.dtype())).attr("reshape")(nb::tuple(sizes));
}

}  // namespace lanescope::python
