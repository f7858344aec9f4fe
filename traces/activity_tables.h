// The tables that captures fill, with the columns that they know. Private to traces/.
#pragma once

#include "traces/row_inserter.h"

namespace lanescope {

// The inserters that all captures of a writer share.
struct ActivityTables {
  explicit ActivityTables(Database& database);
  void Flush();
  RowInserter kernels, copies, memsets, calls, syncs, events, overheads, graphs, ranges, activities, clocks;
};

}  // namespace lanescope
