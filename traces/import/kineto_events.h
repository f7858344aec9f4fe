// SPDX-License-Identifier: Apache-2.0
// Events of a Chrome trace of Kineto, one at a time. Internal to traces.
#pragma once

#include <string>
#include <string_view>

#include "traces/import/importer.h"

namespace lanescope::traces {

// By its name: .json, .json.gz.
bool IsJsonTrace(const ForeignFile& file);

// Reads a JSON file, compressed by gzip or not. Throws NotFound, InvalidArgument (no Chrome trace), DataLoss
// (damaged), Cancelled. Reads events one by one, so that the text of a large file is not held as a tree.
ImportTrace ReadKineto(const ImportSource& source);

// ENUM_CUPTI_SYNC_TYPE of "Stream Wait Event" and the like.
int SynchronizationType(std::string_view name);
// "Memcpy HtoD (Pinned -> Device)".
CopyEnds ParseCopyName(std::string_view name);
// "_ZN5torch4gemmEv.kd", as ROCm names kernels, demangled.
std::string KinetoKernelName(const std::string& name);
// Bytes of an element of "BFloat16" and the like; 0: unknown.
int64_t TorchTypeBytes(std::string_view name);

}  // namespace lanescope::traces
