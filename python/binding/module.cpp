// SPDX-License-Identifier: Apache-2.0
#include "python/binding/binding.h"
#include "python/binding/modules.h"

NB_MODULE(_core, module) {
  module.doc() = "The library behind the package lanescope. Its functions take and give JSON as texts.";
  module.attr("__version__") = LANESCOPE_VERSION;
  lanescope::python::AddErrors(module);
  lanescope::python::AddGraph(module);
  lanescope::python::AddMachine(module);
  lanescope::python::AddPredictor(module);
  lanescope::python::AddSession(module);
  lanescope::python::AddComparison(module);
  lanescope::python::AddTraces(module);
  lanescope::python::AddPlans(module);
  lanescope::python::AddModules(module);
}
