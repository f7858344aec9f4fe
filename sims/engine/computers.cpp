// SPDX-License-Identifier: Apache-2.0
#include "sims/engine/computers.h"

#include <utility>

#include "core/machine/tasks.h"
#include "sims/engine/interference.h"

namespace lanescope::sims {

double WorkerSpeed::Of(const OpWork& work) const {
  return ClassOf(work) == WorkClass::kCompute ? compute : memory;
}

Computers::Computers(std::vector<OtherComputer> others) : others_(std::move(others)) {
  for (size_t i = 0; i < others_.size(); ++i) {
    for (const std::string& task : others_[i].tasks) number_of_[task] = static_cast<int>(i) + 1;
  }
}

int Computers::NumberOf(const DeviceSpec& device) const {
  if (number_of_.empty()) return 0;
  const auto found = number_of_.find(NameOfTask(device.parsed));
  return found == number_of_.end() ? 0 : found->second;
}

WorkerSpeed Computers::SpeedOf(const DeviceSpec& device) const {
  const int number = InterferenceDomain(device) == kHostDomain ? NumberOf(device) : 0;
  return number > 0 ? others_[static_cast<size_t>(number) - 1].speed : WorkerSpeed();
}

}  // namespace lanescope::sims
