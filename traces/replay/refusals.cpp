// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/refusals.h"

#include <fmt/core.h>

#include "traces/read/collectives.h"

namespace lanescope::traces {

std::string WhyNoTransferTimes(const ReplayGraph& graph) {
  // A few may be cut off at the ends of the trace: those keep their time.
  constexpr int64_t kFew = 10;
  int64_t parts = 0;
  for (const std::vector<int>& collective : graph.collectives) parts += std::ssize(collective);
  if (graph.facts.alone == 0 || kFew * graph.facts.alone <= parts) return "";
  return fmt::format(
      "of {} of NCCL's kernels the trace does not have the other ranks' parts, so it does not say how long "
      "they transfer and how long they wait; open the traces of all ranks together",
      graph.facts.alone);
}

std::string WhyNoRankWaits(const ReplayGraph& graph) {
  if (std::string why = WhyNoTransferTimes(graph); !why.empty()) return why;
  if (!graph.collectives.empty()) return "";
  return "the trace has no collectives that several GPUs have in common, so it does not say who waits for "
         "whom";
}

std::string WhyNoHostTimes(const ReplayGraph& graph) {
  if (graph.facts.calls == 0) {
    return "the trace has no API calls, so it does not say what the host did; record them too (nsys profile "
           "--trace=cuda)";
  }
  if (2 * graph.facts.launched >= graph.facts.operations) return "";
  return fmt::format(
      "the trace has the launches of {} of {} operations only, so it does not say what the host held up",
      graph.facts.launched, graph.facts.operations);
}

std::string WhyNotRanks(int64_t ranks, const ReplayGraph& graph) {
  if (std::string why = WhyNoRankWaits(graph); !why.empty()) return why;
  for (size_t i = 0; i < graph.collectives.size(); ++i) {
    const std::vector<int>& parts = graph.collectives[i];
    const int64_t here = graph.ranks_of_collectives[i];
    if (ranks < here)
      return fmt::format("the trace has collectives of {} ranks; ranks can be added, not taken away", here);
    const ReplayTask& first = graph.tasks[static_cast<size_t>(parts.front())];
    const std::string name = first.name < 0 ? "no name" : graph.names[static_cast<size_t>(first.name)];
    const std::string kind = CollectiveKind(name);
    const auto before = BusFactor(kind, here);
    if (!before || !BusFactor(kind, ranks) || *before <= 0)
      return fmt::format("of '{}' nobody says how its time grows with the ranks", name.substr(0, 80));
  }
  return "";
}

}  // namespace lanescope::traces
