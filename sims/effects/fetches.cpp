// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/fetches.h"

#include <algorithm>

#include "sims/effects/cost_file.h"
#include "sims/effects/machine_figures.h"
#include "sims/engine/effect_constants.h"

namespace lanescope::sims {
namespace {

constexpr const char* kCacheTransfers = "cache_transfers";
constexpr const char* kNameBefore = "fetches";  // read for one version more

void ReadFetches(CostFileReader* file, EffectSet* effects) {
  const char* const key = file->file().Has(kCacheTransfers) ? kCacheTransfers : kNameBefore;
  if (!file->file().Has(key)) return;
  const nlohmann::json& list = ListOf(&file->file(), key);
  std::vector<FetchCurve::Point> points;
  for (size_t i = 0; i < list.size(); ++i) {
    JsonObject object(list[i], fmt::format("{}[{}]", key, i));
    FetchCurve::Point point;
    point.bytes = object.Integer("bytes", points.empty() ? 1 : points.back().bytes + 1, INT64_MAX);
    point.ns = Nanoseconds(&object, "ns");
    object.Finish();
    points.push_back(point);
  }
  Fetches fetches;
  fetches.curve = FetchCurve(std::move(points));
  effects->Put(fetches);
}

void WriteFetches(const EffectSet& effects, CostFileWriter* file) {
  const Fetches* const fetches = effects.Find<Fetches>();
  if (fetches == nullptr) return;
  for (const FetchCurve::Point& point : fetches->curve.points())
    file->file()[kCacheTransfers].push_back({{"bytes", point.bytes}, {"ns", point.ns}});
}

void TakeFetches(const MachineFigures& figures, EffectSet* effects) {
  Fetches fetches;
  fetches.curve = FetchCurve(figures.fetches);
  effects->Put(fetches);
}

}  // namespace

constinit const EffectKind Fetches::kKind = {.name = "cache transfers",
                                             .of = "host threads",
                                             .about = "bytes that another core wrote come from its cache",
                                             .source = "two threads that hand bytes over, measured",
                                             .in_durations = true,
                                             .read = ReadFetches,
                                             .write = WriteFetches,
                                             .take = TakeFetches};

void Fetches::Lengthen(const Schedule& schedule, const Machine& machine,
                       IdVector<CommandId, int64_t>* ns) const {
  if (curve.empty()) return;
  const auto fetched = FetchedBytes(schedule, machine);
  for (const CommandId c : fetched.ids()) {
    if (fetched[c] > 0) (*ns)[c] += curve.Ns(fetched[c]);
  }
}

int64_t Fetches::Without(const MeasuredLaunch& launch, const Machine&) const {
  if (launch.fetched_bytes <= 0) return launch.ns;
  return std::max(launch.ns / kEffectConstants.kept_part, launch.ns - curve.Ns(launch.fetched_bytes));
}

void Fetches::HandOn(EffectSet* effects) const { effects->Put(*this); }

}  // namespace lanescope::sims
