// SPDX-License-Identifier: Apache-2.0
// Emulated links, for who moves bytes by other means and needs to know when they would be through.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/machine.h"

namespace lanescope::exec {

// Bytes on their way over the links of one machine. At every moment those that pass a link, a bus or a
// network interface share its bandwidth, none gets more than the narrowest on its way gives, and what one
// cannot use is the others' (max-min fairness). Times are NowNs'; they are reckoned when someone looks, and
// nobody needs to look in between. Shares no code with the simulator. Not thread-safe.
class LinkFlows {
 public:
  explicit LinkFlows(const Machine& machine);

  // `bytes` that set out at `begin_ns`. Its number. If that is before what has been moved to, it has got as
  // far meanwhile as its share brings it now, and nobody else has lost by it.
  int Begin(const Route& route, int64_t begin_ns, int64_t bytes);
  // When the flow is through, if no other one begins until then.
  int64_t EndNs(int flow);
  // It is forgotten, through or not.
  void Forget(int flow);
  // Takes into account all that ends until then.
  void MoveTo(int64_t now_ns);

 private:
  struct Flow {
    std::vector<int> resources;
    int64_t begin_ns = 0;
    double left = 0;      // bytes, at now_ns_
    double rate = 0;      // bytes per ns; 0: not on its way
    int64_t end_ns = -1;  // through; -1: not yet
    int64_t foreseen_ns = 0;
    bool used = false;
  };

  void ShareOut();
  static int64_t EndOf(const Flow& flow, int64_t now_ns);
  int64_t NextChange() const;
  void Foresee();

  std::vector<double> capacity_;  // by resource, bytes per ns
  std::vector<Flow> flows_;
  int64_t now_ns_ = 0;
  bool foreseen_ = true;  // of all flows
};

}  // namespace lanescope::exec
