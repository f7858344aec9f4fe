// SPDX-License-Identifier: Apache-2.0
// JSON of rocprofv3. Internal to traces.
#pragma once

#include "traces/import/importer.h"

namespace lanescope::traces {

// By its name (.json, .json.gz) and its first key.
bool IsRocprof(const ForeignFile& file);

// Kernels, copies, calls of HIP, HSA and RCCL, and markers. Streams of kernels are the queues of their GPU.
// Records are read one by one: no more than one and the names of kernels are held.
ImportTrace ReadRocprof(const ImportSource& source);

}  // namespace lanescope::traces
