// SPDX-License-Identifier: Apache-2.0
#include "traces/report/advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/units.h"
#include "traces/report/longest_launch.h"
#include "traces/store/saturating.h"

namespace lanescope::traces {
namespace {

constexpr double kWorthSaying = 0.05;

struct Advice {
  double saves = 0;  // at most, as a fraction of the time
  std::string text;
};

// Means over the devices of the summary's communication.
struct Shares {
  double compute = 0, exposed = 0, idle = 0, nccl = 0;
};
Shares SharesOf(const Communication& c) {
  const double span =
      static_cast<double>(c.compute_ns) + static_cast<double>(c.exposed_ns) + static_cast<double>(c.idle_ns);
  if (span <= 0) return {};
  return {static_cast<double>(c.compute_ns) / span, static_cast<double>(c.exposed_ns) / span,
          static_cast<double>(c.idle_ns) / span, static_cast<double>(c.nccl_ns) / span};
}

bool IsWait(const std::string& call) { return call.find("Synchronize") != std::string::npos; }

// Advice on the host's work meanwhile: the call that matters is the one in whose time nothing ran, which need
// not be the one that takes the most.
std::string IdleText(const Summary& summary, double idle) {
  std::string text =
      fmt::format("{} for {} of the time.",
                  summary.communication.devices > 1 ? "The mean device does nothing" : "Nothing runs",
                  PercentText(idle, 0));
  if (summary.api_calls.empty()) return text + " The trace does not say what the host did meanwhile.";
  if (summary.idle_call_ns <= 0) return text + " The host is in no API call meanwhile: it does other things.";
  text += fmt::format(" Of the API calls {} takes the most of that ({}).", summary.idle_call,
                      TimeText(summary.idle_call_ns));
  if (IsWait(summary.idle_call)) {
    return text + " The host waits for the devices there: ask for results later, or less often.";
  }
  int64_t launches = 0;
  for (const SummaryRow& row : summary.gpu_activities) launches += row.type == "kernel" ? row.calls : 0;
  return text + fmt::format(
                    " {} kernels were launched one by one: CUDA graphs, fused kernels or larger batches "
                    "leave fewer launches.",
                    launches);
}

// Advice on the kernel that takes the most time: short ones cost their launches, long ones their
// arithmetic.
std::string_view RemedyOf(const SummaryRow& launch) {
  constexpr int64_t kShortNs = 20'000;
  if (launch.type == "graph") return "record its kernels (nsys --cuda-graph-trace=node) to see which decide";
  if (launch.calls > 1 && launch.avg_ns < kShortNs)
    return "fuse it with the ops before and after it (torch.compile, XLA), or give it larger batches";
  return "give it a lower precision (bfloat16, TF32) or sizes that are multiples of 8, or a kernel that "
         "fuses "
         "it with the ops beside it";
}

// The device that computes most and the one that computes least, where there are several.
void AddImbalance(const Summary& summary, std::vector<Advice>* found) {
  const DeviceTime *most = nullptr, *least = nullptr;
  for (const DeviceTime& device : summary.devices) {
    if (device.device.find("GPU:") == std::string::npos || device.window_ns <= 0) continue;
    if (most == nullptr || device.compute_ns > most->compute_ns) most = &device;
    if (least == nullptr || device.compute_ns < least->compute_ns) least = &device;
  }
  if (most == least) return;
  const auto share = [](const DeviceTime& time) {
    return static_cast<double>(time.compute_ns) / static_cast<double>(time.window_ns);
  };
  found->push_back(
      {(share(*most) - share(*least)) / 2,
       fmt::format(
           "{} computes for {} of the time, {} for {}: work that moves from one to the other could run "
           "beside the rest.",
           most->device, PercentText(share(*most), 0), least->device, PercentText(share(*least), 0))});
}

// Where a summary has what ranks wait for: the GPU whose coming late costs the others most.
void AddStraggler(const Summary& summary, std::vector<Advice>* found) {
  if (!summary.waits || summary.waits->stragglers.empty()) return;
  double share = 0;
  for (const DeviceWaits& device : summary.waits->devices) {
    if (device.window_ns > 0)
      share += static_cast<double>(device.for_ranks_ns) / static_cast<double>(device.window_ns);
  }
  share /= static_cast<double>(summary.waits->devices.size());
  std::map<std::string, int64_t> waited;
  for (const Straggler& straggler : summary.waits->stragglers) {
    int64_t& of = waited[straggler.label];
    of = AddSaturating(of, straggler.others_waited_ns);
  }
  const auto last = std::ranges::max_element(waited, {}, [](const auto& entry) { return entry.second; });
  found->push_back(
      {share, fmt::format("The mean GPU waits in collectives for {} of the time with nothing else to "
                          "do, most for {}: what that does before them holds up all.",
                          PercentText(share, 0), last->first)});
}

}  // namespace

std::vector<std::string> AdviceOf(const Summary& summary) {
  const Shares shares = SharesOf(summary.communication);
  std::vector<Advice> found;
  found.push_back({shares.idle, IdleText(summary, shares.idle)});
  found.push_back(
      {shares.exposed,
       fmt::format("{} for {} of the time while nothing computes: {}",
                   shares.nccl > 0 ? "Communication runs" : "Copies run", PercentText(shares.exposed, 0),
                   shares.nccl > 0
                       ? "start it as soon as its data is there, in pieces, on a stream of its own."
                       : "start them earlier, from pinned memory, on a stream of their own, or place "
                         "what needs the data where it is.")});
  AddImbalance(summary, &found);
  AddStraggler(summary, &found);
  if (const LongestLaunch longest = LongestLaunchOf(summary); longest.row != nullptr) {
    found.push_back({longest.share * shares.compute / 2,
                     fmt::format("{} takes {} of what computes, in {} launches of {} on average: {}.",
                                 ShortName(longest.row->name), PercentText(longest.share, 0),
                                 longest.row->calls, TimeText(longest.row->avg_ns), RemedyOf(*longest.row))});
  }
  std::erase_if(found, [](const Advice& advice) { return advice.saves < kWorthSaying; });
  std::stable_sort(found.begin(), found.end(),
                   [](const Advice& a, const Advice& b) { return a.saves > b.saves; });
  std::vector<std::string> texts;
  for (const Advice& advice : found)
    texts.push_back(fmt::format("{} (at most {} of the time)", advice.text, PercentText(advice.saves, 0)));
  return texts;
}

}  // namespace lanescope::traces
