// SPDX-License-Identifier: Apache-2.0
#include "cli/ablation_report.h"

#include <algorithm>
#include <span>

#include "cli/line_width.h"
#include "cli/print.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "sims/effects/effect.h"

namespace lanescope::cli {

void PrintAblation(const std::vector<Ablated>& predictions) {
  const std::span<const sims::EffectKind* const> effects = sims::AllEffects();
  std::vector<Ablated> shown = predictions;
  std::erase_if(shown, [&](const Ablated& one) { return one.without_ns.size() != effects.size(); });
  if (shown.empty()) return;
  TextTable table;
  table.Name("Without").Text("Of");
  for (const Ablated& one : shown) table.Number(one.label);
  table.Name("What takes time there");
  for (size_t e = 0; e < effects.size(); ++e) {
    if (std::all_of(shown.begin(), shown.end(),
                    [&](const Ablated& one) { return one.without_ns[e] == one.step_ns; }))
      continue;
    std::vector<std::string> cells = {std::string(effects[e]->name), std::string(effects[e]->of)};
    for (const Ablated& one : shown) {
      const auto with = static_cast<double>(std::max<int64_t>(1, one.step_ns));
      cells.push_back(SignedPercentText(static_cast<double>(one.without_ns[e] - one.step_ns) / with));
    }
    cells.emplace_back(effects[e]->about);
    table.Row(std::move(cells));
  }
  PrintText("\n" + (table.empty() ? "No effect takes time here\n" : table.Take(LineWidth())));
}

}  // namespace lanescope::cli
