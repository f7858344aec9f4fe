// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/shared_cores.h"

#include <algorithm>
#include <utility>

namespace lanescope::sims {

void SharedCores::AddLaunches(std::span<const Interval> running) { Add(running, 1, 0); }
void SharedCores::AddThread(std::span<const Interval> working) { Add(working, 0, 1); }

void SharedCores::Add(std::span<const Interval> stretches, int launches, int threads) {
  for (const Interval& stretch : stretches) {
    changes_.push_back({stretch.start, launches, threads});
    changes_.push_back({stretch.end, -launches, -threads});
  }
}

SharedCores::Sums SharedCores::RateOf(int launches, int threads) const {
  const auto share = [this](int wanted) {
    return wanted > cores_ ? static_cast<double>(cores_) / wanted : 1.0;
  };
  const int wanted = launches + threads;
  return {share(wanted), launches > 0 ? share(wanted) / share(launches) : 1.0, wanted > cores_ ? 1.0 : 0.0};
}

void SharedCores::Settle() {
  std::ranges::sort(changes_, {}, &Change::time);
  int launches = 0, threads = 0;
  for (const Change& change : changes_) {
    if (moments_.empty()) {
      moments_.push_back({change.time, {}, {}});
    } else if (change.time > moments_.back().time) {
      moments_.push_back({change.time, At(change.time), {}});
    }
    launches += change.launches;
    threads += change.threads;
    moments_.back().rate = RateOf(launches, threads);
  }
}

SharedCores::Sums SharedCores::At(int64_t time) const {
  const auto after = std::ranges::upper_bound(moments_, time, {}, &Moment::time);
  if (after == moments_.begin()) {
    // Before anything ran.
    const double early = moments_.empty() ? 0 : static_cast<double>(time - moments_.front().time);
    return {early, early, 0};
  }
  const Moment& last = *(after - 1);
  const auto since = static_cast<double>(time - last.time);
  return {last.done.thread + since * last.rate.thread, last.done.step + since * last.rate.step,
          last.done.crowded + since * last.rate.crowded};
}

double SharedCores::ThreadWork(const Interval& stretch) const {
  return At(stretch.end).thread - At(stretch.start).thread;
}
double SharedCores::StepWork(const Interval& stretch) const {
  return At(stretch.end).step - At(stretch.start).step;
}
bool SharedCores::IsCrowded(const Interval& stretch) const {
  return At(stretch.end).crowded > At(stretch.start).crowded;
}

std::vector<Interval> SharedCores::Quiet() const {
  std::vector<Interval> quiet;
  for (size_t i = 0; i + 1 < moments_.size(); ++i) {
    if (moments_[i].rate.crowded == 0) quiet.push_back({moments_[i].time, moments_[i + 1].time});
  }
  return UnionOf(std::move(quiet));
}

}  // namespace lanescope::sims
