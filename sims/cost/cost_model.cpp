// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/cost_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/statistics.h"
#include "core/collective/joint_launch.h"
#include "core/graph/signature.h"
#include "core/graph/work_pieces.h"
#include "core/time/ticks.h"
#include "sims/cost/host_kernels.h"
#include "sims/effects/cores.h"
#include "sims/engine/effect_constants.h"
#include "sims/engine/interference.h"

namespace lanescope::sims {
namespace {

constexpr int kMinFitPoints = 3;
constexpr double kRangeSlack = 4;
constexpr double kShortLaunches = 0.1;  // so many are the shortest: a little work, and marks that do none
constexpr double kWithinGpuSpread = 0.3;

std::string Key(const std::string& device, const std::string& what) { return device + '\n' + what; }

int64_t RoundNs(double ns) {
  return static_cast<int64_t>(std::clamp(ns, 0.0, static_cast<double>(kMaxSimulatedNs)) + 0.5);
}

// Workers of a device that is nothing but threads of the host; 0 of others.
int ThreadsOf(std::string_view device) {
  for (const DeviceKind kind : {DeviceKind::kHost, DeviceKind::kVirtual}) {
    const std::string_view name = DeviceKindName(kind);
    if (!device.starts_with(name) || device.size() <= name.size()) continue;
    const char* const begin = device.data() + name.size() + 1;
    int workers = 0;
    const auto [end, error] = std::from_chars(begin, device.data() + device.size(), workers);
    if (error == std::errc() && std::string_view(end).starts_with(" worker")) return workers;
  }
  return 0;
}

bool IsGpu(DeviceKind kind) {
  return kind == DeviceKind::kCuda || kind == DeviceKind::kModelled || kind == DeviceKind::kLogical;
}

// A GPU as CostDevice names it; none: it is none.
struct NamedGpu {
  DeviceKind kind = DeviceKind::kCuda;
  std::string_view model;
  double share = 1;  // of its multiprocessors
};
std::optional<NamedGpu> GpuNamed(std::string_view device) {
  for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kModelled, DeviceKind::kLogical}) {
    const std::string_view name = DeviceKindName(kind);
    if (!device.starts_with(name)) continue;
    device.remove_prefix(name.size());
    if (!device.empty() && device.front() != ' ') return std::nullopt;
    NamedGpu gpu{kind, device, 1};
    const size_t last = device.rfind(' ');
    double share = 0;
    if (kind == DeviceKind::kLogical && last != std::string_view::npos) {
      const auto [end, error] =
          std::from_chars(device.data() + last + 1, device.data() + device.size(), share);
      if (error == std::errc() && end == device.data() + device.size() && share > 0 && share < 1) {
        gpu.share = share;
        gpu.model = device.substr(0, last);
      }
    }
    if (!gpu.model.empty()) gpu.model.remove_prefix(1);
    return gpu;
  }
  return std::nullopt;
}

CostEstimate Blind(CostEstimate estimate) {
  const auto least = static_cast<int64_t>(kBlindSpread * static_cast<double>(estimate.ns));
  estimate.spread_ns = std::max(estimate.spread_ns, least);
  return estimate;
}

}  // namespace

CalibratedCost::CalibratedCost(CostTable table)
    : table_(std::move(table)), computers_(table_.effects.Get<Cores>().others) {
  std::map<std::string, std::vector<WorkPoint>> by_op, by_device;
  std::map<std::string, std::vector<const LaunchCost*>> launches;
  for (size_t i = 0; i < table_.launches.size(); ++i) {
    const LaunchCost& cost = table_.launches[i];
    entries_[Key(cost.device, cost.signature)] = i;
    const WorkPoint point{static_cast<double>(cost.work.flops), static_cast<double>(cost.work.bytes),
                          static_cast<double>(cost.ns)};
    by_op[Key(cost.device, cost.op)].push_back(point);
    by_device[cost.device].push_back(point);
    launches[cost.device].push_back(&cost);
    sizes_.Add(cost);
  }
  for (const auto& [key, points] : by_op) op_fits_[key] = FitRoofline(points);
  for (const auto& [key, points] : by_device) device_fits_[key] = FitRoofline(points);
  for (const auto& [device, of] : launches) {
    if (const auto line = LineOf(of)) lines_[device] = *line;
  }
}

// Launches that fill a GPU and compute something count: others may move nothing at all.
std::optional<CalibratedCost::LaunchLine> CalibratedCost::LineOf(
    const std::vector<const LaunchCost*>& launches) {
  const int pieces = static_cast<int>(kEffectConstants.gpu_pieces);
  std::vector<double> all, byte_ns;
  for (const LaunchCost* launch : launches) {
    if (launch->ns <= 0) continue;
    all.push_back(static_cast<double>(launch->ns));
    const bool streams = launch->work.flops > 0 && ClassOf(launch->work) == WorkClass::kMemory;
    if (streams && WorkersFor(launch->work, pieces) == pieces)
      byte_ns.push_back(all.back() / static_cast<double>(launch->work.bytes));
  }
  if (byte_ns.size() < kMinFitPoints) return std::nullopt;
  return LaunchLine{Quantile(all, kShortLaunches), Median(std::move(byte_ns))};
}

// Costs that were measured on a GPU hold for one of the same model in a machine that is not there, and, of a
// machine file whose GPU nobody has named, for that. A part of the multiprocessors does arithmetic in
// proportion to it.
void CalibratedCost::AddGpus(const DeviceSpec& device, std::vector<Source>* sources) const {
  const int pieces = static_cast<int>(kEffectConstants.gpu_pieces);
  const auto pieces_of = [&](double share) {
    return std::max(1, static_cast<int>(std::lround(share * pieces)));
  };
  const double wanted = device.kind == DeviceKind::kLogical && device.sm_share > 0 ? device.sm_share : 1;
  std::vector<std::pair<double, Source>> found;  // by how far the share is
  std::set<std::string_view> models;
  for (const auto& [known, fit] : device_fits_) {
    const auto gpu = GpuNamed(known);
    if (!gpu || known == sources->front().device) continue;
    if (device.model.empty() ? gpu->kind != device.kind : gpu->model != device.model) continue;
    models.insert(gpu->model);
    Source source{known};
    if (gpu->share != wanted) source = {known, pieces_of(gpu->share), pieces_of(wanted), true};
    found.emplace_back(std::abs(gpu->share - wanted), std::move(source));
  }
  if (models.size() > 1) return;  // nobody says which of them it is
  std::ranges::stable_sort(found, {}, [](const auto& one) { return one.first; });
  for (auto& [distance, source] : found) sources->push_back(std::move(source));
}

std::vector<CalibratedCost::Source> CalibratedCost::SourcesOf(const DeviceSpec& device) const {
  std::vector<Source> sources = {{CostDevice(device)}};
  if (IsGpu(device.kind)) AddGpus(device, &sources);
  const size_t own = sources.size();
  const int workers = ThreadsOf(sources.front().device);
  for (const auto& [known, fit] : device_fits_) {
    if (workers > 0 && known != sources.front().device && ThreadsOf(known) > 0)
      sources.push_back({known, ThreadsOf(known), workers});
  }
  std::stable_sort(sources.begin() + static_cast<ptrdiff_t>(own), sources.end(),
                   [&](const Source& a, const Source& b) {
                     return std::abs(a.workers - workers) < std::abs(b.workers - workers);
                   });
  const WorkerSpeed speed = computers_.SpeedOf(device);
  for (Source& source : sources) source.speed = speed;
  return sources;
}

double CalibratedCost::Source::Factor(const OpWork& work) const {
  const bool splits = workers != wanted && (!parts || ClassOf(work) == WorkClass::kCompute);
  const double split = splits ? static_cast<double>(WorkersFor(work, workers)) / WorkersFor(work, wanted) : 1;
  return split / speed.Of(work);
}

std::optional<CostEstimate> CalibratedCost::Measured(const std::vector<Source>& sources,
                                                     const std::string& signature) const {
  for (const Source& source : sources) {
    const auto entry = entries_.find(Key(source.device, signature));
    if (entry == entries_.end()) continue;
    const LaunchCost& cost = table_.launches[entry->second];
    const double factor = source.Factor(cost.work);
    return CostEstimate{RoundNs(factor * static_cast<double>(cost.ns)),
                        RoundNs(factor * static_cast<double>(cost.spread_ns)),
                        source.workers == 0 ? CostBasis::kMeasured : CostBasis::kFitted};
  }
  return std::nullopt;
}

std::optional<CostEstimate> CalibratedCost::Resized(const std::vector<Source>& sources,
                                                    const std::string& signature, const OpWork& work) const {
  for (const Source& source : sources) {
    const auto fit = device_fits_.find(source.device);
    const bool knows = fit != device_fits_.end() && fit->second.points >= kMinFitPoints;
    const auto estimate = sizes_.Find(source.device, signature, work, knows ? fit->second.fixed_ns : 0);
    if (!estimate) continue;
    const double ns = source.Factor(work) * estimate->ns;
    return CostEstimate{RoundNs(ns), RoundNs(ns * estimate->spread),
                        estimate->growth <= kRangeSlack ? CostBasis::kFitted : CostBasis::kExtrapolated};
  }
  return std::nullopt;
}

std::optional<CostEstimate> CalibratedCost::Fitted(const DeviceSpec& device,
                                                   const std::vector<Source>& sources,
                                                   const SignedWork& launch) const {
  if (const auto resized = Resized(sources, launch.signature, launch.work)) return resized;
  const OpWork& work = launch.work;
  const auto usable = [](const auto& fits, const std::string& key) {
    const auto found = fits.find(key);
    return found == fits.end() || found->second.points < kMinFitPoints ? nullptr : &found->second;
  };
  const auto flops = static_cast<double>(work.flops), bytes = static_cast<double>(work.bytes);
  const bool by_kernel = HasOnlyKernels(device) && (work.flops > 0 || work.bytes > 0);
  for (const bool same_op : {true, false}) {
    if (!same_op && by_kernel && IsKnownKernel(launch.op))
      return HostKernelCost(launch.op, work, device.workers);
    for (const Source& source : sources) {
      const RooflineFit* const fit =
          same_op ? usable(op_fits_, Key(source.device, launch.op)) : usable(device_fits_, source.device);
      if (fit == nullptr) continue;
      const double ns = source.Factor(work) * fit->Predict(flops, bytes);
      const bool near = flops <= kRangeSlack * fit->max_flops && bytes <= kRangeSlack * fit->max_bytes;
      return CostEstimate{RoundNs(ns), RoundNs(ns * fit->spread),
                          same_op && near ? CostBasis::kFitted : CostBasis::kExtrapolated};
    }
  }
  if (by_kernel) return HostKernelCost(launch.op, work, device.workers);
  return std::nullopt;
}

CostEstimate CalibratedCost::Launch(const Machine& machine, DeviceId device_number, const Node& node,
                                    std::span<const TensorInfo> inputs,
                                    std::span<const TensorInfo> outputs) const {
  const DeviceSpec& device = machine.device(device_number);
  const std::vector<Source> sources = SourcesOf(device);
  const std::string signature = OpSignature(node, inputs, outputs);
  if (const auto measured = Measured(sources, signature)) return *measured;
  if (!AttributedNs(node, device.parsed.type) && !CollectiveOf(node) && JointLaunchOf(node).empty() &&
      AreSizesKnown(inputs) && AreSizesKnown(outputs)) {
    if (const auto fitted = Fitted(device, sources, {signature, node.op, WorkOf(node, inputs, outputs)}))
      return *fitted;
  }
  return Blind(RooflineCost().Launch(machine, device_number, node, inputs, outputs));
}

CostEstimate CalibratedCost::Launch(const DeviceSpec& device, const SignedWork& work) const {
  const std::vector<Source> sources = SourcesOf(device);
  if (const auto measured = Measured(sources, work.signature)) return *measured;
  if (!work.op.empty()) {
    if (const auto fitted = Fitted(device, sources, work)) return *fitted;
  }
  if (work.work.flops > 0 || work.work.bytes > 0) return Blind(RooflineCost().Launch(device, work.work));
  return {kUnknownNs, static_cast<int64_t>(kUnknownSpread * kUnknownNs), CostBasis::kNothing};
}

CostEstimate CalibratedCost::Copy(const Machine& machine, DeviceId src, DeviceId dst, int64_t bytes) const {
  const DeviceSpec &from = machine.device(src), &to = machine.device(dst);
  if (from.kind == DeviceKind::kLogical && to.kind == DeviceKind::kLogical && from.physical == to.physical &&
      from.parsed.task == to.parsed.task) {
    if (const auto line = lines_.find(CostDevice(to)); line != lines_.end()) {
      const double moved = 2 * static_cast<double>(bytes);  // read and written
      const double ns = line->second.fixed_ns + line->second.byte_ns * moved;
      return {RoundNs(ns), RoundNs(ns * kWithinGpuSpread), CostBasis::kFitted};
    }
  }
  const CostEstimate plain = RooflineCost().Copy(machine, src, dst, bytes);
  for (const CopyFit& fit : table_.copies) {
    if (fit.src != machine.device(src).kind || fit.dst != machine.device(dst).kind) continue;
    const double ns = fit.overhead_ns + fit.factor * static_cast<double>(plain.ns);
    const auto size = static_cast<double>(bytes);
    const bool in_range = size >= static_cast<double>(fit.min_bytes) / kRangeSlack &&
                          size <= static_cast<double>(fit.max_bytes) * kRangeSlack;
    return {RoundNs(ns), RoundNs(ns * fit.spread),
            in_range ? CostBasis::kMeasured : CostBasis::kExtrapolated};
  }
  return Blind(plain);
}

}  // namespace lanescope::sims
