// SPDX-License-Identifier: Apache-2.0
#include "traces/read/ranks.h"

#include <algorithm>

#include "traces/store/export_tables.h"
#include "traces/store/import_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

int64_t FileOf(int64_t vm) { return static_cast<int64_t>(static_cast<uint64_t>(vm) >> 48); }

}  // namespace

std::vector<TraceRank> ReadRanks(Database& database) {
  using tables::kRank, tables::kSystemEnv;
  std::vector<TraceRank> ranks;
  ReadRows(
      database, kRank, {kRank.vm, kRank.rank, kRank.host, kRank.world, kRank.clock_ahead},
      [&](const auto& row) {
        ranks.push_back({FileOf(row[kRank.vm].value_or(0)), row[kRank.rank].value_or(-1),
                         std::string(row[kRank.host]), row[kRank.world], row[kRank.clock_ahead].value_or(0)});
      });
  ReadRows(database, kSystemEnv, {kSystemEnv.vm, kSystemEnv.name, kSystemEnv.value}, [&](const auto& row) {
    const int64_t file = FileOf(row[kSystemEnv.vm].value_or(0));
    if (row[kSystemEnv.name] != "Hostname" || row[kSystemEnv.value].empty() ||
        std::ranges::find(ranks, file, &TraceRank::file) != ranks.end())
      return;
    ranks.push_back({file, -1, std::string(row[kSystemEnv.value])});
  });
  std::ranges::stable_sort(ranks, {}, &TraceRank::file);
  return ranks;
}

std::map<int64_t, int> ReadMpiRanks(Database& database) {
  using tables::kMpiRank;
  std::map<int64_t, int> ranks;
  ReadRows(database, kMpiRank, {kMpiRank.global_tid, kMpiRank.rank}, [&](const auto& row) {
    if (row[kMpiRank.rank] >= 0)
      ranks.emplace(GlobalPidOf(row[kMpiRank.global_tid].value_or(0)), row[kMpiRank.rank]);
  });
  return ranks;
}

}  // namespace lanescope::traces
