// SPDX-License-Identifier: Apache-2.0
// The trace of a program that records CUDA graphs, beside one of the same program that launches them.
// Internal to traces.
#pragma once

#include <string>

#include "traces/import/import_trace.h"

namespace lanescope::traces {

// Leaves of `capture`, the trace in `file`, the calls that made nodes of graphs and the ranges around them,
// as calls of the process that `of` is of, before its first event. Throws InvalidArgument where no stream is
// captured.
void KeepCapture(const std::string& file, const ImportTrace& of, ImportTrace* capture);

}  // namespace lanescope::traces
