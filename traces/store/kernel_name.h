// SPDX-License-Identifier: Apache-2.0
// Names of kernels as people read them. Internal to traces.
#pragma once

#include <string>
#include <string_view>

namespace lanescope::traces {

// The C++ name that `mangled` stands for; `mangled` itself where it is none.
std::string DemangledKernelName(const std::string& mangled);

// The function's own name: without result type, namespaces, template arguments and parameters.
// "void at::native::copy_kernel<4, float>(int, float*)" -> "copy_kernel".
std::string_view ShortKernelName(std::string_view demangled);

}  // namespace lanescope::traces
