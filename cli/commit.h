// SPDX-License-Identifier: Apache-2.0
// The commit that the program was built from.
#pragma once

#include <string_view>

namespace lanescope::cli {

// Empty where it is not known. Written when the program is built (cmake/WriteCommit.cmake).
std::string_view Commit();

}  // namespace lanescope::cli
