// SPDX-License-Identifier: Apache-2.0
// rocpd, the databases of rocprofiler-sdk. Internal to traces.
#pragma once

#include "traces/import/importer.h"

namespace lanescope::traces {

// SQLite with tables of kernels or calls of rocpd.
bool IsRocpd(const ForeignFile& file);

// Kernels, copies, calls of HIP, HSA and RCCL, and markers, of every recording in the file. Streams of
// kernels are the queues of their GPU.
ImportTrace ReadRocpd(const ImportSource& source);

}  // namespace lanescope::traces
