// SPDX-License-Identifier: Apache-2.0
// Builds with a sanitizer are ten times slower: of many cases alike their tests take fewer. The release build
// takes all.
#pragma once

namespace lanescope::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// One case of so many is taken.
inline constexpr int kOneCaseOf = kSanitized ? 4 : 1;

}  // namespace lanescope::test
