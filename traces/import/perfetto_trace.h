// SPDX-License-Identifier: Apache-2.0
// Traces in Perfetto's format, as rocprofv3 writes them too. Internal to traces.
#pragma once

#include "traces/import/importer.h"

namespace lanescope::traces {

// By its name: ".pftrace", ".perfetto-trace".
bool IsPerfetto(const ForeignFile& file);

// Slices of rocprofv3 on GPUs become kernels and copies, those of its calls API calls, and slices of
// all other tools become ranges of their thread, or of a thread called after their track. Throws
// InvalidArgument for a file without slices, DataLoss for a damaged one, Cancelled.
ImportTrace ReadPerfetto(const ImportSource& source);

}  // namespace lanescope::traces
