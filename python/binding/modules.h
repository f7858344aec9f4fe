// SPDX-License-Identifier: Apache-2.0
// Placements by the modules of a PyTorch model.
#pragma once

#include "python/binding/binding.h"

namespace lanescope::python {

void AddModules(nb::module_& module);

}  // namespace lanescope::python
