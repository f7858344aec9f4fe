// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "exec/readers/pictures.h"

namespace lanescope::exec {
namespace {

// More pixels than this are no picture that training reads, and would only cost memory.
constexpr int64_t kMaxPngPixels = int64_t{1} << 28;

struct PngBytes {
  std::string_view left;
  std::string problem;
};

void ReadBytes(png_structp png, png_bytep to, size_t count) {
  auto* input = static_cast<PngBytes*>(png_get_io_ptr(png));
  if (count > input->left.size()) png_error(png, "the file ends too early");
  std::memcpy(to, input->left.data(), count);
  input->left.remove_prefix(count);
}

// libpng wants that this does not return.
[[noreturn]] void Fail(png_structp png, png_const_charp text) {
  static_cast<PngBytes*>(png_get_error_ptr(png))->problem = text;
  png_longjmp(png, 1);
}

void Ignore(png_structp, png_const_charp) {}

// Libpng's state; ends with this object.
class PngReader {
 public:
  explicit PngReader(PngBytes* input)
      : png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, input, Fail, Ignore)),
        info_(png_ != nullptr ? png_create_info_struct(png_) : nullptr) {
    if (info_ == nullptr) Throw(Code::kResourceExhausted, "no memory to decode a PNG");
    png_set_read_fn(png_, input, ReadBytes);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  // Nothing with a destructor may live in these two: an error jumps out of them. False: there was one.
  bool ReadHeader(int channels, bool wide) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_info(png_, info_);
    SetChannels(channels, wide);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool ReadRows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, info_);
    return true;
  }

  int64_t rows() const { return png_get_image_height(png_, info_); }
  int64_t columns() const { return png_get_image_width(png_, info_); }
  int channels() const { return png_get_channels(png_, info_); }
  int bits() const { return png_get_bit_depth(png_, info_); }
  size_t row_bytes() const { return png_get_rowbytes(png_, info_); }

 private:
  void SetChannels(int channels, bool wide) {
    const int color = png_get_color_type(png_, info_);
    const bool transparent = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    const bool opacity = (color & PNG_COLOR_MASK_ALPHA) != 0;
    const bool gray = (color & PNG_COLOR_MASK_COLOR) == 0;
    const int bits = png_get_bit_depth(png_, info_);
    if (channels == 0) {
      channels = color == PNG_COLOR_TYPE_PALETTE ? (transparent ? 4 : 3) : png_get_channels(png_, info_);
    }
    if (channels % 2 == 0) {
      if (!opacity && transparent) {
        png_set_tRNS_to_alpha(png_);
      } else if (!opacity) {
        png_set_add_alpha(png_, (1u << bits) - 1, PNG_FILLER_AFTER);
      }
    } else if (opacity || transparent) {
      png_set_strip_alpha(png_);
    }
    if (bits > 8 && !wide) png_set_strip_16(png_);
    png_set_packing(png_);
    if (bits > 8 && wide) png_set_swap(png_);
    if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (gray && bits < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (channels < 3 && !gray) png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    if (channels >= 3 && gray) png_set_gray_to_rgb(png_);
  }

  png_structp png_;
  png_infop info_;
};

// A byte b as 16 bits is 257 * b.
void Widen(Tensor* image) {
  const int64_t count = image->NumElements();
  auto* wide = static_cast<uint16_t*>(image->raw_data());
  const auto* narrow = reinterpret_cast<const uint8_t*>(wide);
  for (int64_t i = count; i-- > 0;) wide[i] = static_cast<uint16_t>(narrow[i] * 257);
}

}  // namespace

Tensor DecodePng(std::string_view bytes, int channels, DataType type) {
  const bool wide = type == DataType::kUint16;
  PngBytes input{bytes, {}};
  PngReader reader(&input);
  const auto fail = [&] { Throw(Code::kInvalidArgument, "Invalid PNG data: {}", input.problem); };
  if (!reader.ReadHeader(channels, wide)) fail();
  if (reader.columns() > kMaxPngPixels / std::max<int64_t>(1, reader.rows())) {
    Throw(Code::kInvalidArgument, "PNG size too large: {} by {}", reader.columns(), reader.rows());
  }
  const int given = reader.channels();
  if (channels != 0 && given != channels) {
    Throw(Code::kInvalidArgument, "a PNG of {} channels does not become one of {}", given, channels);
  }
  Tensor image(type, Shape{reader.rows(), reader.columns(), given});
  const int64_t row_bytes = reader.columns() * given * (reader.bits() > 8 ? 2 : 1);
  LANESCOPE_CHECK(static_cast<int64_t>(reader.row_bytes()) == row_bytes);
  std::vector<png_bytep> rows;
  for (int64_t r = 0; r < reader.rows(); ++r) {
    rows.push_back(static_cast<png_bytep>(image.raw_data()) + r * row_bytes);
  }
  if (!reader.ReadRows(rows.data())) fail();
  if (wide && reader.bits() <= 8) Widen(&image);
  return image;
}

}  // namespace lanescope::exec
