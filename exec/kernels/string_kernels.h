// SPDX-License-Identifier: Apache-2.0
// The files of the string family; RegisterStringKernels calls them.
#pragma once

#include "exec/device/kernel.h"

namespace lanescope::exec {

void RegisterTextKernels(KernelRegistry& registry);     // AsString, StringToNumber, StringJoin
void RegisterTableKernels(KernelRegistry& registry);    // HashTable, LookupTable*
void RegisterHashKernels(KernelRegistry& registry);     // StringToHashBucketFast
void RegisterSummaryKernels(KernelRegistry& registry);  // ScalarSummary, MergeSummary

}  // namespace lanescope::exec
