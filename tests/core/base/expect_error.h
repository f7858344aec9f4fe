// SPDX-License-Identifier: Apache-2.0
// Calls `action` and gives the text of the Error that it throws, "CODE: message"; empty where it throws none.
#pragma once

#include <string>

#include "core/base/error.h"

namespace lanescope {

template <typename Action>
std::string ErrorOf(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace lanescope
