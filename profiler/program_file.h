// SPDX-License-Identifier: Apache-2.0
// Files of programs, looked at before they are run.
#pragma once

#include <string>

namespace lanescope::profiler {

// The file that the system runs by this name, searched in PATH; the name itself where there is none.
std::string ProgramFile(const std::string& name);

// Whether the file is a program that is linked statically: without a dynamic linker (PT_INTERP) nothing can
// be loaded into it safely. False for a script, and for whatever is no program.
bool IsStaticProgram(const std::string& file);

}  // namespace lanescope::profiler
