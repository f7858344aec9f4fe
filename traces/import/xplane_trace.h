// SPDX-License-Identifier: Apache-2.0
// XPlane files of TensorFlow's and JAX' profilers (.xplane.pb). Internal to traces.
#pragma once

#include "traces/import/importer.h"

namespace lanescope::traces {

// By its name: .xplane.pb.
bool IsXPlane(const ForeignFile& file);

// Streams of GPUs become kernels and copies, ops of other accelerators kernels on devices of their own,
// CUPTI's plane API calls, and what threads of the host annotate ranges; a range with a step's number is that
// step. Throws InvalidArgument for a file without any of these, DataLoss, Cancelled.
ImportTrace ReadXPlane(const ImportSource& source);

}  // namespace lanescope::traces
