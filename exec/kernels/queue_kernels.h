// SPDX-License-Identifier: Apache-2.0
// The files of queues and what fills them; KernelRegistry::Host calls them.
#pragma once

#include "exec/device/kernel.h"

namespace lanescope::exec {

void RegisterQueueKernels(KernelRegistry& registry);  // FIFOQueue ..., QueueEnqueue, QueueDequeue ...
void RegisterAccumulatorKernels(KernelRegistry& registry);
void RegisterTransferKernels(KernelRegistry& registry);  // _Send, _Recv
void RegisterReaderKernels(KernelRegistry& registry);    // TextLineReader ..., ReaderRead
void RegisterExampleKernels(KernelRegistry& registry);   // ParseExample, ParseSingleExample
void RegisterDecodeKernels(KernelRegistry& registry);    // DecodeCSV, DecodeRaw
void RegisterPieceKernels(KernelRegistry& registry);     // Substr, StringSplit ..., ReadFile
void RegisterPictureKernels(KernelRegistry& registry);   // DecodePng, DecodeJpeg

}  // namespace lanescope::exec
