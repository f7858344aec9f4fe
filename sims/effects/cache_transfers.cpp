// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/cache_transfers.h"

#include <algorithm>

#include "sims/effects/cost_file.h"
#include "sims/effects/machine_figures.h"
#include "sims/engine/effect_constants.h"

namespace lanescope::sims {
namespace {

constexpr const char* kCacheTransfers = "cache_transfers";
constexpr const char* kNameBefore = "fetches";  // read for one version more

void ReadCacheTransfers(CostFileReader* file, EffectSet* effects) {
  const char* const key = file->file().Has(kCacheTransfers) ? kCacheTransfers : kNameBefore;
  if (!file->file().Has(key)) return;
  const nlohmann::json& list = ListOf(&file->file(), key);
  std::vector<CacheTransferCurve::Point> points;
  for (size_t i = 0; i < list.size(); ++i) {
    JsonObject object(list[i], fmt::format("{}[{}]", key, i));
    CacheTransferCurve::Point point;
    point.bytes = object.Integer("bytes", points.empty() ? 1 : points.back().bytes + 1, INT64_MAX);
    point.ns = Nanoseconds(&object, "ns");
    object.Finish();
    points.push_back(point);
  }
  CacheTransfers transfers;
  transfers.curve = CacheTransferCurve(std::move(points));
  effects->Put(transfers);
}

void WriteCacheTransfers(const EffectSet& effects, CostFileWriter* file) {
  const CacheTransfers* const transfers = effects.Find<CacheTransfers>();
  if (transfers == nullptr) return;
  for (const CacheTransferCurve::Point& point : transfers->curve.points())
    file->file()[kCacheTransfers].push_back({{"bytes", point.bytes}, {"ns", point.ns}});
}

void TakeCacheTransfers(const MachineFigures& figures, EffectSet* effects) {
  CacheTransfers transfers;
  transfers.curve = CacheTransferCurve(figures.fetches);
  effects->Put(transfers);
}

}  // namespace

constinit const EffectKind CacheTransfers::kKind = {
    .name = "cache transfers",
    .of = "host threads",
    .about = "bytes that another core wrote come from its cache",
    .source = "two threads that hand bytes over, measured",
    .in_durations = true,
    .read = ReadCacheTransfers,
    .write = WriteCacheTransfers,
    .take = TakeCacheTransfers};

void CacheTransfers::Lengthen(const Schedule& schedule, const Machine& machine,
                              IdVector<CommandId, int64_t>* ns) const {
  if (curve.empty()) return;
  const auto fetched = FetchedBytes(schedule, machine);
  for (const CommandId c : fetched.ids()) {
    if (fetched[c] > 0) (*ns)[c] += curve.Ns(fetched[c]);
  }
}

int64_t CacheTransfers::Without(const MeasuredLaunch& launch, const Machine&) const {
  if (launch.fetched_bytes <= 0) return launch.ns;
  return std::max(launch.ns / kEffectConstants.kept_part, launch.ns - curve.Ns(launch.fetched_bytes));
}

void CacheTransfers::HandOn(EffectSet* effects) const { effects->Put(*this); }

}  // namespace lanescope::sims
