// SPDX-License-Identifier: Apache-2.0
// Notices that another process of a job has stopped. Internal to study.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "exec/messages/transport.h"

namespace lanescope::study {

// Between this rank and its peers a sign of life goes back and forth, on a thread of its own: a process that
// computes or waits answers, one that was stopped or whose host is gone does not. The transport must outlive
// it.
class RankWatch {
 public:
  // A peer has this process as a peer too. `silent` is called once for each, on that thread, with a rank
  // that has not answered for `limit_ns`.
  RankWatch(exec::Transport* transport, const std::vector<int>& peers, int64_t limit_ns,
            std::function<void(int rank)> silent);
  // Sends no more; the other ends must be about to do the same.
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanescope::study
