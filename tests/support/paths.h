// SPDX-License-Identifier: Apache-2.0
// Where the sources and the program under test are.
#pragma once

#include <string>

namespace lanescope::test {

// The root of the sources, without a slash at its end.
std::string SourceDir();
// The `lanescope` program; empty in a build without it.
std::string ProgramPath();
// The Python that has what scripts/python-env.sh installs, or the system's.
std::string PythonPath();
// The library of fault_shim.cpp.
std::string FaultShimPath();

}  // namespace lanescope::test
