// SPDX-License-Identifier: Apache-2.0
// Devices as sessions have them: one session's own, or shared by several.
#pragma once

#include <memory>
#include <mutex>

#include "core/machine/machine.h"
#include "exec/device/device.h"
#include "exec/device/device_options.h"
#include "exec/device/kernel.h"
#include "exec/resources/resource.h"

namespace lanescope::exec {

// Owns the devices. Whoever takes memory of theirs or gives it back holds the mutex meanwhile.
struct DeviceSet {
  DeviceSet(const Machine& machine, const DeviceOptions& options);

  const IdVector<DeviceId, std::unique_ptr<Device>> devices;
  std::mutex mutex;
};

// A variable of one session, or by its name of all that share a ResourceManager and a DeviceSet. Takes its
// memory when it is made, by who holds the set's mutex, and gives it back at its end, which nobody holds it
// at. Nothing orders accesses of steps that run at the same time.
class SharedVariable final : public Resource {
 public:
  static constexpr char kTypeName[] = "Variable";

  SharedVariable(std::shared_ptr<DeviceSet> set, DeviceId device, TensorRef tensor);
  ~SharedVariable() override;
  SharedVariable(const SharedVariable&) = delete;
  SharedVariable& operator=(const SharedVariable&) = delete;

  Variable variable;
  DeviceId device() const { return device_; }

 private:
  const std::shared_ptr<DeviceSet> set_;
  const DeviceId device_;
};

}  // namespace lanescope::exec
