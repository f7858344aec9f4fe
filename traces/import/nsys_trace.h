// SPDX-License-Identifier: Apache-2.0
// Exports of Nsight Systems, for a job of several: one is read as it is. Internal to traces.
#pragma once

#include "traces/import/importer.h"

namespace lanescope::traces {

// SQLite with tables of CUPTI's activities, and without runs of ours.
bool IsNsysExport(const ForeignFile& file);

// Kernels, copies, memory sets, calls, ranges and synchronisations of one rank. Its rank is that of MPI,
// where the export names one; times are ns since 1970, where it says when it began.
ImportTrace ReadNsysExport(const ImportSource& source);

}  // namespace lanescope::traces
