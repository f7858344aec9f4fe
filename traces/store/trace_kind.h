// SPDX-License-Identifier: Apache-2.0
// The kind of a file that is no database, so that the error can say what to do. Internal to traces.
// Internal to traces.
#pragma once

#include <string>

namespace lanescope::traces {

// Throws InvalidArgument for a report of Nsight Systems and for a trace in JSON; does nothing for other
// files.
void RefuseOtherTraces(const std::string& path);

}  // namespace lanescope::traces
