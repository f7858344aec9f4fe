// SPDX-License-Identifier: Apache-2.0
#include "traces/report/activity_totals.h"

#include <algorithm>

#include "core/runs/run_view.h"
#include "traces/store/saturating.h"

namespace lanescope::traces {

void TimeTotals::Merge(const TimeTotals& more) {
  total_ns = AddSaturating(total_ns, more.total_ns);
  calls += more.calls;
  min_ns = std::min(min_ns, more.min_ns);
  max_ns = std::max(max_ns, more.max_ns);
}

void TimeTotals::Add(int64_t ns) {
  total_ns = AddSaturating(total_ns, ns);
  ++calls;
  min_ns = std::min(min_ns, ns);
  max_ns = std::max(max_ns, ns);
}

std::map<int64_t, TimeTotals> TotalsById::Used() const {
  std::map<int64_t, TimeTotals> used(sparse_.begin(), sparse_.end());
  for (size_t id = 0; id < dense_.size(); ++id) {
    if (dense_[id].calls > 0) used.emplace(static_cast<int64_t>(id), dense_[id]);
  }
  return used;
}

void RouteTotals::Merge(const RouteTotals& more) {
  count += more.count;
  bytes = AddSaturating(bytes, more.bytes);
  ns = AddSaturating(ns, more.ns);
}

void DeviceActivity::Merge(DeviceActivity* more) {
  compute.Merge(&more->compute);
  communication.Merge(&more->communication);
  memsets.Merge(&more->memsets);
  for (size_t i = 0; i < copies.size(); ++i) {
    copies[i].busy.Merge(&more->copies[i].busy);
    copies[i].totals.Merge(more->copies[i].totals);
  }
}

void ActivityTotals::Merge(ActivityTotals* more) {
  for (auto& [id, device] : more->devices) {
    Device& into = devices[id];
    into.DeviceActivity::Merge(&device);
    for (const auto& [name, time] : device.launches.Used()) into.launches[name].Merge(time);
  }
  for (const auto& [kind, time] : more->copies) copies[kind].Merge(time);
  for (const auto& [name, time] : more->api_calls.Used()) api_calls[name].Merge(time);
  for (const auto& [ends, copied] : more->routes) routes[ends].Merge(copied);
  memsets.Merge(more->memsets);
  first_ns = std::min(first_ns, more->first_ns);
  last_ns = std::max(last_ns, more->last_ns);
  invalid_rows += more->invalid_rows;
}

void ActivityTotals::Widen(int64_t start, int64_t end) {
  first_ns = std::min(first_ns, start);
  last_ns = std::max(last_ns, end);
}

ActivityTotals::Device& ActivityTotals::DeviceOf(int64_t id) {
  if (last_device_.second == nullptr || last_device_.first != id) last_device_ = {id, &devices[id]};
  return *last_device_.second;
}

LaunchUse UseOf(std::string_view name) {
  if (IsWaiting(name)) return LaunchUse::kWaiting;
  return IsCommunication(name) ? LaunchUse::kCommunication : LaunchUse::kCompute;
}

void ActivityTotals::AddLaunch(int64_t device, int64_t name, LaunchUse use, int64_t start, int64_t end) {
  Widen(start, end);
  Device& on = DeviceOf(device);
  on.launches[name].Add(end - start);
  if (use == LaunchUse::kCompute) on.compute.Add(start, end);
  if (use == LaunchUse::kCommunication) on.communication.Add(start, end);
}

void ActivityTotals::AddCopy(const CopyRoute& route, int64_t kind, int device, int64_t bytes, int64_t start,
                             int64_t end) {
  Widen(start, end);
  const auto add = [&](RouteTotals& totals) { totals.Merge({1, bytes, end - start}); };
  add(routes[{route.src, route.dst}]);
  copies[kind].Add(end - start);
  const auto add_to = [&](int end_device) {
    DeviceActivity::Copies& on = DeviceOf(end_device).copies[static_cast<size_t>(route.copy_class)];
    on.busy.Add(start, end);
    add(on.totals);
  };
  switch (route.copy_class) {
    case CopyClass::kHostToDevice:
      return add_to(route.dst);
    case CopyClass::kDeviceToHost:
      return add_to(route.src);
    case CopyClass::kDeviceToDevice:
      add_to(route.src);
      if (route.dst != kUnknownDevice) add_to(route.dst);
      return;
    default:
      return add_to(device);
  }
}

void ActivityTotals::AddMemset(int64_t device, int64_t start, int64_t end) {
  Widen(start, end);
  memsets.Add(end - start);
  DeviceOf(device).memsets.Add(start, end);
}

namespace {

// Gives every activity of the run to the totals that `totals_of` names for its step; null: to none.
template <typename TotalsOf>
void AddActivities(const TraceRun& run, bool full_names, TotalsOf totals_of) {
  std::vector<LaunchUse> uses;
  for (const std::string& text : run.texts) uses.push_back(UseOf(text));
  for (const TraceLaunch& launch : run.launches) {
    ActivityTotals* totals = totals_of(launch.step);
    if (totals == nullptr) continue;
    const int name = full_names ? launch.name : launch.op;
    const LaunchUse use = name >= 0 ? uses[static_cast<size_t>(name)] : LaunchUse::kCompute;
    totals->AddLaunch(launch.device, name, use, launch.start_ns, launch.end_ns);
  }
  for (const TraceCopy& copy : run.copies) {
    if (ActivityTotals* totals = totals_of(copy.step)) {
      totals->AddCopy({copy.src, copy.dst, copy.copy_class}, copy.kind, copy.device, copy.bytes,
                      copy.start_ns, copy.end_ns);
    }
  }
  for (const TraceMemset& memset : run.memsets) {
    if (ActivityTotals* totals = totals_of(memset.step)) {
      totals->AddMemset(memset.device, memset.start_ns, memset.end_ns);
    }
  }
  for (const TraceApiCall& call : run.api_calls) {
    if (ActivityTotals* totals = totals_of(call.step)) {
      totals->api_calls[call.name].Add(call.end_ns - call.start_ns);
    }
  }
}

}  // namespace

ActivityTotals ComputeTotals(const TraceRun& run, bool full_names, int step) {
  ActivityTotals totals;
  totals.invalid_rows = run.invalid_rows;
  AddActivities(run, full_names, [&](int of) { return step < 0 || of == step ? &totals : nullptr; });
  return totals;
}

}  // namespace lanescope::traces
