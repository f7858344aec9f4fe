// SPDX-License-Identifier: Apache-2.0
// The text of nvprof with --print-gpu-trace --csv. Internal to traces.
#pragma once

#include "traces/import/importer.h"

namespace lanescope::traces {

// A .csv file by its first lines.
bool IsNvprofText(const ForeignFile& file);

// Kernels, copies and memory sets; the print has no API calls. Throws InvalidArgument for a file without such
// rows, DataLoss for one whose columns or units are unknown, Cancelled.
ImportTrace ReadNvprofText(const ImportSource& source);

}  // namespace lanescope::traces
