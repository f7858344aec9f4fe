// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

// Wants <cstdio> before it.
#include <jpeglib.h>

#include "core/base/error.h"
#include "exec/readers/pictures.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kMaxJpegPixels = int64_t{1} << 28;

struct Errors {
  jpeg_error_mgr base;  // libjpeg knows this one alone
  std::jmp_buf jump;
  char problem[JMSG_LENGTH_MAX] = {};
};

void Fail(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<Errors*>(jpeg->err);
  errors->base.format_message(jpeg, errors->problem);
  std::longjmp(errors->jump, 1);
}

void Ignore(j_common_ptr) {}

class JpegReader {
 public:
  explicit JpegReader(std::string_view bytes) : bytes_(bytes) {
    jpeg_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = Fail;
    errors_.base.output_message = Ignore;
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // Nothing with a destructor may live in these: an error jumps out of them. False: there was one.
  bool ReadHeader(const JpegOptions& options) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&jpeg_);
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&jpeg_, TRUE);
    const int channels = options.channels == 0 ? std::min(jpeg_.num_components, 3) : options.channels;
    const bool four_inks = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
    inks_ = four_inks;
    jpeg_.out_color_space = four_inks ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    channels_ = channels;
    jpeg_.do_fancy_upsampling = options.fancy_upscaling ? TRUE : FALSE;
    jpeg_.scale_num = 1;
    jpeg_.scale_denom = static_cast<unsigned>(options.ratio);
    // TensorFlow's choice where nobody chooses.
    jpeg_.dct_method = options.dct_method == "INTEGER_ACCURATE" ? JDCT_ISLOW : JDCT_IFAST;
    jpeg_calc_output_dimensions(&jpeg_);
    return true;
  }
  // `line`: room for a row as libjpeg gives it.
  bool ReadRows(uint8_t* image, uint8_t* line) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_start_decompress(&jpeg_);
    const size_t width = static_cast<size_t>(jpeg_.output_width) * static_cast<size_t>(channels_);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      uint8_t* const to = image + jpeg_.output_scanline * width;
      JSAMPROW row = inks_ ? line : to;
      if (jpeg_read_scanlines(&jpeg_, &row, 1) != 1) return false;
      if (inks_) FromInks(line, to);
    }
    jpeg_finish_decompress(&jpeg_);
    return true;
  }

  int64_t rows() const { return jpeg_.output_height; }
  int64_t columns() const { return jpeg_.output_width; }
  int channels() const { return channels_; }
  bool inks() const { return inks_; }
  const char* problem() const { return errors_.problem; }
  // Data were missing or wrong, and libjpeg went on.
  bool warned() const { return errors_.base.num_warnings > 0; }

 private:
  // Cyan, magenta, yellow and black, inverted as Adobe writes them.
  void FromInks(const uint8_t* line, uint8_t* to) const {
    for (JDIMENSION x = 0; x < jpeg_.output_width; ++x, line += 4) {
      int color[3];
      for (int c = 0; c < 3; ++c) {
        color[c] = jpeg_.saw_Adobe_marker ? line[3] * line[c] / 255 : (255 - line[3]) * (255 - line[c]) / 255;
      }
      if (channels_ == 1) {
        *to++ = static_cast<uint8_t>((color[0] * 299 + color[1] * 587 + color[2] * 114) / 1000);
        continue;
      }
      for (const int value : color) *to++ = static_cast<uint8_t>(value);
    }
  }

  const std::string_view bytes_;
  Errors errors_;
  jpeg_decompress_struct jpeg_{};
  int channels_ = 0;
  bool inks_ = false;
};

}  // namespace

Tensor DecodeJpeg(std::string_view bytes, const JpegOptions& options) {
  JpegReader reader(bytes);
  const auto fail = [&] {
    Throw(Code::kInvalidArgument, "Invalid JPEG data or crop window, data size {}: {}", bytes.size(),
          reader.problem());
  };
  if (!reader.ReadHeader(options)) fail();
  if (reader.columns() > kMaxJpegPixels / std::max<int64_t>(1, reader.rows())) {
    Throw(Code::kInvalidArgument, "JPEG size too large: {} by {}", reader.columns(), reader.rows());
  }
  Tensor image(DataType::kUint8, Shape{reader.rows(), reader.columns(), reader.channels()});
  std::vector<uint8_t> line(reader.inks() ? static_cast<size_t>(reader.columns()) * 4 : 0);
  if (!reader.ReadRows(image.data<uint8_t>(), line.data())) fail();
  if (reader.warned() && !options.recover_truncated) {
    Throw(Code::kInvalidArgument, "Invalid JPEG data or crop window, data size {}: it is damaged",
          bytes.size());
  }
  return image;
}

}  // namespace lanescope::exec
