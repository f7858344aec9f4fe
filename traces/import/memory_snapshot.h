// SPDX-License-Identifier: Apache-2.0
// PyTorch's memory snapshots: what its allocator gave out, and what holds the peak. Internal to traces.
#pragma once

#include "traces/import/importer.h"

namespace lanescope::traces {

// By its name (.pickle, .pkl) and its first byte.
bool IsMemorySnapshot(const ForeignFile& file);

// Memory of each GPU over time, and as notes what it holds at most: by the innermost line of the program
// outside PyTorch that asked for it. The file is read as data, and nothing in it is run.
ImportTrace ReadMemorySnapshot(const ImportSource& source);

}  // namespace lanescope::traces
