// SPDX-License-Identifier: Apache-2.0
// The files of the array family; RegisterArrayKernels calls them.
#pragma once

#include "exec/device/kernel.h"

namespace lanescope::exec {

void RegisterIdentityKernels(KernelRegistry& registry);  // Const, Identity, NoOp, Placeholder, Reshape ...
void RegisterMetadataKernels(KernelRegistry& registry);  // Shape, Size, Rank, broadcast arithmetic
void RegisterGeneratorKernels(
    KernelRegistry& registry);                         // Fill, Range, LinSpace, OneHot, Diag, MatrixBandPart
void RegisterConcatKernels(KernelRegistry& registry);  // Concat, Pack, Split, Unpack
void RegisterCopyKernels(KernelRegistry& registry);    // Transpose, Tile, BroadcastTo, slices
void RegisterPadKernels(KernelRegistry& registry);     // Pad, PadV2, MirrorPad
void RegisterGatherKernels(KernelRegistry& registry);  // Gather, GatherV2, GatherNd, ResourceGather
void RegisterTopKKernels(KernelRegistry& registry);    // TopK, InTopK
void RegisterResizeKernels(KernelRegistry& registry);  // ResizeBilinear, ResizeNearestNeighbor
void RegisterReverseSequenceKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
