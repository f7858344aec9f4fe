// SPDX-License-Identifier: Apache-2.0
// NVRTC by its public names, without its headers: it makes kernels of CUDA C at run time. Internal to exec.
#pragma once

#include <memory>
#include <string>

namespace lanescope::exec::cuda {

class Nvrtc {
 public:
  virtual ~Nvrtc() = default;
  // "13.0"
  virtual std::string version() const = 0;
  // The binary of a text that includes FunctorHeaders() alone, for GPUs of this compute capability (90).
  // Throws Unimplemented where the library does not know these, Internal with the first lines of what it says
  // for any other failure. `log`: warnings, if not null.
  virtual std::string Compile(const std::string& text, int compute_capability,
                              std::string* log = nullptr) const = 0;
};

// Loads libnvrtc.so.13 or .12, as the loader finds it or from /usr/local/cuda, or what
// LANESCOPE_NVRTC_LIBRARY names, at the first call. Null without it, or where it lacks a function; `reason`
// then says why in one line. Thread-safe; stays loaded.
std::shared_ptr<const Nvrtc> LoadNvrtc(std::string* reason);

}  // namespace lanescope::exec::cuda
