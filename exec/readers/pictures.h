// SPDX-License-Identifier: Apache-2.0
// Pictures in PNG and JPEG files as tensors [rows, columns, channels].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/tensor.h"

namespace lanescope::exec {

// `channels`: 1 gray, 2 with opacity, 3 colors, 4 with opacity; 0: as the file has it. `type`: uint8 or
// uint16. Throws InvalidArgument for what is no PNG, or a damaged one.
Tensor DecodePng(std::string_view bytes, int channels, DataType type);

struct JpegOptions {
  int channels = 0;  // 1 or 3; 0: as the file has it
  int ratio = 1;     // 1, 2, 4 or 8: how much smaller
  bool fancy_upscaling = true;
  bool recover_truncated = false;  // what is missing is gray
  std::string dct_method;          // "", "INTEGER_FAST" or "INTEGER_ACCURATE"
};
// Throws the same for what is no JPEG.
Tensor DecodeJpeg(std::string_view bytes, const JpegOptions& options);

}  // namespace lanescope::exec
