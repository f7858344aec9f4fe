// SPDX-License-Identifier: Apache-2.0
// Files of PyTorch's ExecutionTraceObserver: which operators ran, in which order, on which tensors; no
// times. Internal to traces.
#pragma once

#include <string>
#include <vector>

#include "traces/import/importer.h"

namespace lanescope::traces {

// A JSON file whose first 4 KiB name the schema of such traces.
bool IsExecutionTrace(const ForeignFile& file);

// Operators become ranges, in order, of 1 us where none runs within them, with shapes and types. Throws
// InvalidArgument for a file without operators, NotFound, DataLoss, Cancelled.
ImportTrace ReadExecutionTrace(const ImportSource& source);

// Gives operators of other traces what execution traces of the same processes say of them, by the number of
// the call and the operator's name, and drops those. `files`: of the traces. Of one that no other trace is of
// the process of, the name goes to `left_out`, unless there are execution traces alone.
void JoinExecutionTraces(std::vector<ImportTrace>* traces, std::vector<std::string>* files,
                         std::vector<std::string>* left_out);

}  // namespace lanescope::traces
