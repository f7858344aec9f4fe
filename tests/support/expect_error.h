// SPDX-License-Identifier: Apache-2.0
// That something throws one Error, and what it says.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "core/base/error.h"

namespace lanescope::test {

template <typename Function>
void ExpectError(Function function, Code code, const std::string& text) {
  try {
    function();
    ADD_FAILURE() << "nothing was thrown; expected " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    EXPECT_THAT(error.message(), testing::HasSubstr(text));
  }
}

}  // namespace lanescope::test
