// SPDX-License-Identifier: Apache-2.0
// MD5 (RFC 1321): the digest by which TensorFlow spreads variables over servers. Not for secrets. Internal to
// graphs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lanescope::graphs {

std::array<uint8_t, 16> Md5(std::string_view text);

}  // namespace lanescope::graphs
