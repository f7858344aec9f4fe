// SPDX-License-Identifier: Apache-2.0
// Texts in HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace lanescope {

// As content or attribute: what means something there is escaped, and what no XML may hold (control
// characters, bytes that are no UTF-8) is shown as Printable shows it.
std::string MarkupText(std::string_view text);

}  // namespace lanescope
