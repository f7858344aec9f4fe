// SPDX-License-Identifier: Apache-2.0
#include "tests/support/paths.h"

#include <cstdlib>

namespace lanescope::test {

// Programs that were built elsewhere are told where the checkout is.
std::string SourceDir() {
  const char* given = std::getenv("LANESCOPE_SOURCE_DIR");
  return given == nullptr ? LANESCOPE_SOURCE_DIR : given;
}
std::string ProgramPath() { return LANESCOPE_PROGRAM; }
std::string PythonPath() { return LANESCOPE_PYTHON; }
std::string FaultShimPath() { return LANESCOPE_FAULT_SHIM; }

}  // namespace lanescope::test
