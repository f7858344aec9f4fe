// SPDX-License-Identifier: Apache-2.0
#include "core/machine/machine_part.h"

#include <map>
#include <utility>

#include "core/base/error.h"

namespace lanescope {

Machine PartOf(const Machine& machine, const std::vector<DeviceId>& devices) {
  LANESCOPE_CHECK(!machine.cluster);
  Machine part;
  part.name = machine.name;
  part.buses = machine.buses;
  std::map<DeviceId, DeviceId> number;  // of the machine's devices, in the part
  for (const DeviceId d : devices) number[d] = part.devices.Add(machine.device(d));
  for (LinkSpec link : machine.links) {
    const auto a = number.find(link.a), b = number.find(link.b);
    if (a == number.end() || b == number.end()) continue;
    link.a = a->second;
    link.b = b->second;
    part.links.push_back(std::move(link));
  }
  for (const NicSpec& nic : machine.nics) {
    NicSpec own;
    own.bandwidth = nic.bandwidth;
    for (const DeviceId host : nic.hosts) {
      if (const auto found = number.find(host); found != number.end()) own.hosts.push_back(found->second);
    }
    if (!own.hosts.empty()) part.nics.push_back(std::move(own));
  }
  return part;
}

}  // namespace lanescope
