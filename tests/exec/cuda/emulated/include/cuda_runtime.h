// SPDX-License-Identifier: Apache-2.0
// Stands for CUDA's header where there is no GPU.
#pragma once

#include "tests/exec/cuda/emulated/emulator.h"
