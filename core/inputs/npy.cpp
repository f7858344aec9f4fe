// SPDX-License-Identifier: Apache-2.0
// NumPy's array files: a magic number, a version, the length of a header, the header (a Python dictionary in
// text form), the elements.
#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/inputs/run_spec.h"

namespace lanescope {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

struct ElementCode {
  DataType dtype;
  std::string_view code;  // without the byte order
};
constexpr std::array<ElementCode, 12> kCodes = {{{DataType::kFloat, "f4"},
                                                 {DataType::kDouble, "f8"},
                                                 {DataType::kInt32, "i4"},
                                                 {DataType::kInt64, "i8"},
                                                 {DataType::kHalf, "f2"},
                                                 {DataType::kInt16, "i2"},
                                                 {DataType::kInt8, "i1"},
                                                 {DataType::kUint64, "u8"},
                                                 {DataType::kUint32, "u4"},
                                                 {DataType::kUint16, "u2"},
                                                 {DataType::kUint8, "u1"},
                                                 {DataType::kBool, "b1"}}};

struct Header {
  DataType dtype = DataType::kInvalid;
  bool fortran_order = false;
  Shape shape;
};

[[noreturn]] void ThrowMalformed() {
  Throw(Code::kInvalidArgument, "the .npy header is malformed; write the file with numpy.save");
}

// Reads the one dictionary that a header may hold, in the way of a recursive-descent parser of depth two.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Header Parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    Expect('{');
    while (!Accept('}')) {
      const std::string_view key = Quoted();
      Expect(':');
      if (key == "descr") {
        header.dtype = ParseDescr(Quoted());
        has_descr = true;
      } else if (key == "fortran_order") {
        header.fortran_order = Boolean();
        has_order = true;
      } else if (key == "shape") {
        header.shape = Tuple();
        has_shape = true;
      } else {
        ThrowMalformed();
      }
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) ThrowMalformed();
    return header;
  }

 private:
  void SkipSpace() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }
  bool Accept(char c) {
    SkipSpace();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void Expect(char c) {
    if (!Accept(c)) ThrowMalformed();
  }
  std::string_view Quoted() {
    SkipSpace();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) ThrowMalformed();
    const size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) ThrowMalformed();
    const std::string_view content = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return content;
  }
  bool Boolean() {
    SkipSpace();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    ThrowMalformed();
  }
  Shape Tuple() {
    Shape shape;
    Expect('(');
    while (!Accept(')')) {
      SkipSpace();
      int64_t size = -1;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) ThrowMalformed();
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      shape.Append(size);
      if (!Accept(',')) {
        Expect(')');
        break;
      }
    }
    return shape;
  }
  static DataType ParseDescr(std::string_view descr) {
    const std::string_view code = descr.substr(std::min<size_t>(descr.size(), 1));
    const bool one_byte = code.ends_with('1');
    const char order = descr.empty() ? ' ' : descr[0];
    for (const ElementCode& known : kCodes) {
      if (known.code == code && (order == '<' || (order == '|' && one_byte))) return known.dtype;
    }
    Throw(Code::kInvalidArgument,
          "the .npy element type '{}' is not read here; convert to bool or little-endian float16, float32, "
          "float64 or integers",
          descr);
  }

  std::string_view text_;
};

// Splits off the header text; `bytes` is left with the elements.
std::string_view TakeHeader(std::string_view* bytes) {
  const std::string_view all = *bytes;
  if (all.size() < 10 || !all.starts_with(kMagic)) {
    Throw(Code::kInvalidArgument, "the bytes are no .npy file");
  }
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(all[i])); };
  const size_t version = byte(6);
  if (version < 1 || version > 3) {
    Throw(Code::kInvalidArgument, ".npy format {} is not known here; versions 1 to 3 are", version);
  }
  const size_t start = version == 1 ? 10 : 12;
  if (all.size() < start) ThrowMalformed();
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > all.size() - start) ThrowMalformed();
  *bytes = all.substr(start + length);
  return all.substr(start, length);
}

std::string HeaderText(const Tensor& tensor) {
  const auto* known = std::ranges::find(kCodes, tensor.dtype(), &ElementCode::dtype);
  if (known == kCodes.end()) {
    Throw(Code::kInvalidArgument, "a {} tensor cannot be written as .npy", DataTypeName(tensor.dtype()));
  }
  std::string shape;
  for (Dim dim : tensor.shape().dims()) shape += fmt::format("{}, ", dim);
  // A tuple of one needs its comma; longer ones are written without the last.
  if (tensor.shape().rank() == 1) shape.pop_back();
  if (tensor.shape().rank() > 1) shape.resize(shape.size() - 2);
  return fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                     ElementSize(tensor.dtype()) == 1 ? '|' : '<', known->code, shape);
}

}  // namespace

Tensor ParseNpy(std::string_view bytes) {
  const Header header = HeaderParser(TakeHeader(&bytes)).Parse();
  if (header.fortran_order && header.shape.rank() > 1) {
    Throw(Code::kInvalidArgument, "the .npy file is in Fortran order; save numpy.ascontiguousarray of it");
  }
  const int64_t elements = header.shape.NumElements();
  const auto element_size = static_cast<int64_t>(ElementSize(header.dtype));
  const auto size = static_cast<int64_t>(bytes.size());
  if (size / element_size != elements || size % element_size != 0) {
    Throw(Code::kInvalidArgument, "the .npy file declares {} of shape {} but holds {} bytes of elements",
          NumpyName(header.dtype), header.shape.ToString(), size);
  }
  Tensor tensor(header.dtype, header.shape);
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(tensor.raw_data()));
  if (header.dtype == DataType::kBool) {
    auto* flags = static_cast<uint8_t*>(tensor.raw_data());
    std::transform(flags, flags + elements, flags, [](uint8_t flag) { return flag != 0 ? 1 : 0; });
  }
  return tensor;
}

Tensor ReadNpy(const std::string& path) {
  const std::string bytes = ReadFile(path);
  try {
    return ParseNpy(bytes);
  } catch (const Error& error) {
    Throw(error.code(), "{}: {}", path, error.message());
  }
}

void WriteNpy(const Tensor& tensor, const std::string& path) {
  std::string header = HeaderText(tensor);
  // The elements start at a multiple of 64 bytes, after a line end.
  const size_t prefix = kMagic.size() + 4;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {1, 0, static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.ByteSize()));
  WriteFile(path, bytes);
}

}  // namespace lanescope
