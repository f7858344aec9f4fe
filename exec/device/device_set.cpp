// SPDX-License-Identifier: Apache-2.0
#include "exec/device/device_set.h"

#include <utility>

#include "exec/device/backends.h"

namespace lanescope::exec {

DeviceSet::DeviceSet(const Machine& machine, const DeviceOptions& options)
    : devices(MakeDevices(machine, options)) {}

SharedVariable::SharedVariable(std::shared_ptr<DeviceSet> set, DeviceId device, TensorRef tensor)
    : set_(std::move(set)), device_(device) {
  tensor.data = set_->devices[device]->Allocate(tensor.capacity_bytes);
  variable.tensor = std::move(tensor);
}

SharedVariable::~SharedVariable() {
  const std::lock_guard lock(set_->mutex);
  set_->devices[device_]->Free(variable.tensor.data);
}

}  // namespace lanescope::exec
