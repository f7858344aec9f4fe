// SPDX-License-Identifier: Apache-2.0
// The look and the script of a report's page. Internal to traces.
#pragma once

#include <string_view>

namespace lanescope::traces {

extern const std::string_view kPageStyle, kPageScript;

}  // namespace lanescope::traces
