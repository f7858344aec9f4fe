// SPDX-License-Identifier: Apache-2.0
#include "traces/report/longest_launch.h"

#include "core/base/printable.h"
#include "core/runs/run_view.h"

namespace lanescope::traces {

LongestLaunch LongestLaunchOf(const Summary& summary) {
  LongestLaunch longest;
  double all = 0;
  for (const SummaryRow& row : summary.gpu_activities) {
    if ((row.type != "kernel" && row.type != "graph") || IsCommunication(row.name)) continue;
    if (longest.row == nullptr) longest.row = &row;
    all += static_cast<double>(row.total_ns);
  }
  if (all > 0) longest.share = static_cast<double>(longest.row->total_ns) / all;
  return longest;
}

std::string ShortName(const std::string& name) {
  constexpr size_t kMax = 48;
  std::string text = Printable(name.substr(0, name.find('<')));
  text = text.substr(0, text.find('('));
  if (text.starts_with("void ")) text = text.substr(5);
  return text.size() <= kMax ? text : text.substr(0, kMax) + "..";
}

}  // namespace lanescope::traces
