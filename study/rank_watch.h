// Notices that another process of a job has stopped. Internal to study.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "exec/transport.h"

namespace lanescope::study {

// Between the first rank and each other one a sign of life goes back and forth, on a thread of its own: a
// process that computes or waits answers, one that was stopped or whose host is gone does not. The transport
// must outlive it.
class RankWatch {
 public:
  // `silent` is called once, on that thread, with the rank that has not answered for `limit_ns`.
  RankWatch(exec::Transport* transport, int64_t limit_ns, std::function<void(int rank)> silent);
  // Sends no more; the other ends must be about to do the same.
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanescope::study
