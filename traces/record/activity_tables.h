// SPDX-License-Identifier: Apache-2.0
// The tables that captures fill. Internal to traces.
#pragma once

#include "traces/store/lanescope_tables.h"
#include "traces/store/row_inserter.h"

namespace lanescope::traces {

// The inserters that all captures of a writer share.
struct ActivityTables {
  explicit ActivityTables(Database& database)
      : kernels(database, tables::kKernel),
        copies(database, tables::kMemcpy),
        memsets(database, tables::kMemset),
        calls(database, tables::kApiCall),
        syncs(database, tables::kSynchronization),
        events(database, tables::kCudaEvent),
        overheads(database, tables::kOverhead),
        graphs(database, tables::kGraphTrace),
        ranges(database, tables::kNvtxEvent),
        activities(database, tables::kActivity),
        clocks(database, tables::kClock) {}
  void Flush() {
    for (PendingRows* rows :
         std::initializer_list<PendingRows*>{&kernels, &copies, &memsets, &calls, &syncs, &events, &overheads,
                                             &graphs, &ranges, &activities, &clocks}) {
      rows->Flush();
    }
  }

  RowInserter<tables::Kernel> kernels;
  RowInserter<tables::Memcpy> copies;
  RowInserter<tables::Memset> memsets;
  RowInserter<tables::ApiCall> calls;
  RowInserter<tables::Synchronization> syncs;
  RowInserter<tables::CudaEvent> events;
  RowInserter<tables::Overhead> overheads;
  RowInserter<tables::GraphTrace> graphs;
  RowInserter<tables::NvtxEvent> ranges;
  RowInserter<tables::Activity> activities;
  RowInserter<tables::Clock> clocks;
};

}  // namespace lanescope::traces
