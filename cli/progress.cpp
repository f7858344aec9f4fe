// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include "core/record/recorder.h"

namespace lanescope::cli {
namespace {

constexpr int64_t kIntervalNs = 1'000'000'000;

}  // namespace

Progress::Progress(std::string what, int64_t total)
    : what_(std::move(what)),
      total_(total),
      next_ns_(NowNs() + kIntervalNs),
      terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (shown_ && terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::Update(int64_t done) {
  const int64_t now = NowNs();
  if (now < next_ns_) return;
  next_ns_ = now + kIntervalNs;
  shown_ = true;
  fmt::print(stderr, "{}{} {} of {}{}", terminal_ ? "\r\033[K" : "", what_, done, total_,
             terminal_ ? "" : "\n");
}

}  // namespace lanescope::cli
