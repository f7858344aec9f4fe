// SPDX-License-Identifier: Apache-2.0
// How pipelines refuse a graph. Internal to core.
#pragma once

#include <utility>

#include "core/base/error.h"

namespace lanescope {

template <typename... Args>
[[noreturn]] void RefusePipeline(fmt::format_string<Args...> text, Args&&... args) {
  Throw(Code::kInvalidArgument, "pipeline: {}", fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace lanescope
