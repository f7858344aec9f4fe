// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces of MLCommons (.et). Internal to traces.
#pragma once

#include "traces/import/importer.h"

namespace lanescope::traces {

// By its name: .et.
bool IsChakra(const ForeignFile& file);

// Nodes that say when they ran: what is no op of a processor becomes a kernel or copy of GPU 0, collectives
// kernels of NCCL; ops of processors become ranges. The file's number (JOB.3.et) is its rank. Throws
// InvalidArgument for a trace without times (recorded before execution, or made), DataLoss, Cancelled. Where
// no node says when it ran and some how long they took, they are laid out by what waits for what.
ImportTrace ReadChakra(const ImportSource& source);

}  // namespace lanescope::traces
