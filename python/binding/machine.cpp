// SPDX-License-Identifier: Apache-2.0
// Machines.
#include "core/machine/machine.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "core/machine/cluster_tasks.h"
#include "python/binding/binding.h"
#include "python/binding/calls.h"
#include "study/job/this_machine.h"

namespace lanescope::python {
namespace {

std::shared_ptr<Machine> Shared(Machine machine) { return std::make_shared<Machine>(std::move(machine)); }

std::shared_ptr<Machine> Load(const std::string& file, double memory_fraction,
                              const std::string& memory_limit, const std::string& visible_devices,
                              const std::string& logical_devices) {
  const Unlocked unlocked;
  return Shared(study::LoadMachine({file, memory_fraction, memory_limit, visible_devices, logical_devices}));
}

}  // namespace

void AddMachine(nb::module_& module) {
  nb::class_<Machine>(module, "Machine", "Devices and the links between them.")
      .def_prop_ro("name", [](const Machine& machine) { return machine.name; })
      .def_prop_ro("devices",
                   [](const Machine& machine) {
                     std::vector<std::string> names;
                     for (const DeviceSpec& device : machine.devices) names.push_back(device.local_name());
                     return names;
                   })
      .def("to_json", &MachineToJson, "As a machine file.");
  module.def("load_machine", &Load, nb::arg("file"), nb::arg("memory_fraction"), nb::arg("memory_limit"),
             nb::arg("visible_devices"), nb::arg("logical_devices"));
  module.def("parse_machine", [](const std::string& json) { return Shared(ParseMachine(json)); });
  module.def("make_machine", [](const std::string& text) { return Shared(MakeCluster(text)); });
  module.def("machine_of_tasks", [](const Machine& each, const std::string& tasks) {
    return Shared(MachineOfTasks(each, ParseClusterTasks(tasks)));
  });
  module.def("virtual_machine", [](int gpus, int workers) { return Shared(VirtualMachine(gpus, workers)); });
}

}  // namespace lanescope::python
