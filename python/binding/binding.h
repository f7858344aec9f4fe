// SPDX-License-Identifier: Apache-2.0
// The Python module `lanescope._core`: what its files have in common. A function here converts arguments,
// calls the library and converts what it gives; a rule that is missing belongs into study/.
#pragma once

#include <nanobind/nanobind.h>

namespace lanescope::python {

namespace nb = nanobind;

void AddErrors(nb::module_& module);
void AddGraph(nb::module_& module);
void AddMachine(nb::module_& module);
void AddPredictor(nb::module_& module);
void AddSession(nb::module_& module);
void AddComparison(nb::module_& module);
void AddTraces(nb::module_& module);
void AddPlans(nb::module_& module);

}  // namespace lanescope::python
