#include "traces/export/work_order.h"

namespace lanescope::traces {

Rows<> WorkBefore(RunTables tables) {
  RunView& view = tables.view;
  view.Settle(tables.dependencies);
  Rows<> before;
  std::vector<int> seen_for(view.commands.size(), -1), open;
  for (int command = 0; command < static_cast<int>(view.commands.size()); ++command) {
    if (IsWork(view.commands[static_cast<size_t>(command)].kind)) open.push_back(command);
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      for (const int holder : view.holders[at]) {
        int& seen = seen_for[static_cast<size_t>(holder)];
        if (seen == command || holder == command) continue;
        seen = command;
        if (IsWork(view.commands[static_cast<size_t>(holder)].kind)) {
          before.Append(holder);
        } else {
          open.push_back(holder);
        }
      }
    }
    before.SortOpenRow();
    before.EndRow();
  }
  return before;
}

}  // namespace lanescope::traces
