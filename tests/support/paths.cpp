#include "tests/support/paths.h"

namespace lanescope::test {

std::string SourceDir() { return LANESCOPE_SOURCE_DIR; }
std::string ProgramPath() { return LANESCOPE_PROGRAM; }
std::string FaultShimPath() { return LANESCOPE_FAULT_SHIM; }

}  // namespace lanescope::test
