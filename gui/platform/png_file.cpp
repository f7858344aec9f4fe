// SPDX-License-Identifier: Apache-2.0
#include "gui/platform/png_file.h"

#include <png.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/error.h"
#include "core/base/file.h"

namespace lanescope::gui {
namespace {

constexpr int64_t kMaxPixels = int64_t{1} << 27;

}  // namespace

void WritePng(const std::string& path, const Image& image) {
  std::vector<uint8_t> rgb;
  rgb.reserve(image.rgba.size() / 4 * 3);
  for (size_t i = 0; i + 3 < image.rgba.size(); i += 4) {
    rgb.insert(rgb.end(), {image.rgba[i], image.rgba[i + 1], image.rgba[i + 2]});
  }
  png_image header = {};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&header, bytes.data(), &size, 0, rgb.data(), 0, nullptr) == 0) {
    Throw(Code::kResourceExhausted, "cannot make the picture '{}': {}", path, header.message);
  }
  WriteFile(path, std::string_view(bytes).substr(0, size));
}

Image ReadPng(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) Throw(Code::kNotFound, "cannot read '{}': {}", path, std::strerror(errno));
  std::fclose(file);
  png_image header = {};
  header.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&header, path.c_str()) == 0) {
    Throw(Code::kDataLoss, "'{}' is no PNG file: {}", path, header.message);
  }
  if (int64_t{header.width} * header.height > kMaxPixels) {
    png_image_free(&header);
    Throw(Code::kResourceExhausted, "'{}' has too many pixels", path);
  }
  header.format = PNG_FORMAT_RGBA;
  Image image(static_cast<int>(header.width), static_cast<int>(header.height));
  if (png_image_finish_read(&header, nullptr, image.rgba.data(), 0, nullptr) == 0) {
    Throw(Code::kDataLoss, "'{}' is damaged: {}", path, header.message);
  }
  return image;
}

}  // namespace lanescope::gui
