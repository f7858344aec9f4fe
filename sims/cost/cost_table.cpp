#include "sims/cost/cost_table.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json_object.h"
#include "sims/cost/device_speed.h"
#include "sims/cost/input_costs_json.h"
#include "sims/time/ticks.h"

namespace lanescope::sims {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "lanescope-cost";
constexpr int64_t kVersion = 1;
constexpr double kMaxByteNs = 1e6;
constexpr int64_t kMaxCores = 1 << 20;
constexpr size_t kMaxTasks = 1024;               // no machine has more devices
constexpr int64_t kMaxCount = int64_t{1} << 53;  // integers that every JSON reader keeps
constexpr std::array<DeviceKind, kNumDeviceKinds> kKinds = {
    DeviceKind::kHost, DeviceKind::kVirtual, DeviceKind::kCuda, DeviceKind::kLogical, DeviceKind::kModelled};
constexpr std::array<const char*, kNumQueueClasses> kQueueClassNames = {"compute", "copy", "message"};
constexpr std::array<const char*, kNumWorkClasses> kClassNames = {"compute", "memory", "copy"};

DeviceKind ParseKind(JsonObject* object, const std::string& key) {
  const std::string name = object->String(key);
  for (const DeviceKind kind : kKinds) {
    if (DeviceKindName(kind) == name) return kind;
  }
  object->Fail(key, "must be host, virtual, cuda, logical or modelled");
}

int64_t Nanoseconds(JsonObject* object, const std::string& key) {
  return object->Integer(key, 0, kMaxSimulatedNs);
}

double NumberIn(JsonObject* object, const std::string& key, double minimum, double maximum) {
  const double number = object->Number(key);
  if (!(number >= minimum && number <= maximum)) {
    object->Fail(key, fmt::format("must lie between {} and {}", minimum, maximum));
  }
  return number;
}

const json& ListOf(JsonObject* object, const std::string& key) {
  const json& list = object->Require(key);
  if (!list.is_array()) object->Fail(key, "must be a list");
  return list;
}

LaunchCost ParseLaunch(const json& value, size_t index) {
  JsonObject object(value, fmt::format("launches[{}]", index));
  LaunchCost cost;
  cost.signature = object.String("signature");
  cost.op = object.String("op");
  cost.device = object.String("device");
  cost.ns = Nanoseconds(&object, "ns");
  cost.spread_ns = Nanoseconds(&object, "spread_ns");
  cost.count = object.Integer("count", 1, kMaxCount);
  cost.work.flops = object.Integer("flops", 0, INT64_MAX);
  cost.work.bytes = object.Integer("bytes", 0, INT64_MAX);
  // Of earlier files; nothing was predicted with it.
  if (object.Has("other_ns")) {
    Nanoseconds(&object, "other_ns");
    NumberIn(&object, "other_share", 0, 1);
  }
  object.Finish();
  return cost;
}

CopyFit ParseCopy(const json& value, size_t index) {
  JsonObject object(value, fmt::format("copies[{}]", index));
  CopyFit fit;
  fit.src = ParseKind(&object, "src");
  fit.dst = ParseKind(&object, "dst");
  fit.overhead_ns = NumberIn(&object, "overhead_ns", 0, 1e12);
  fit.factor = NumberIn(&object, "factor", 0, 1e6);
  fit.spread = NumberIn(&object, "spread", 0, 1e6);
  fit.count = object.Integer("count", 1, kMaxCount);
  fit.min_bytes = object.Integer("min_bytes", 0, INT64_MAX);
  fit.max_bytes = object.Integer("max_bytes", fit.min_bytes, INT64_MAX);
  object.Finish();
  return fit;
}

GapModel ParseGaps(const json& value) {
  JsonObject object(value, "gaps");
  GapModel gaps;
  gaps.step_start_ns = Nanoseconds(&object, "step_start_ns");
  gaps.step_finish_ns = Nanoseconds(&object, "step_finish_ns");
  const json& devices = ListOf(&object, "devices");
  for (size_t i = 0; i < devices.size(); ++i) {
    JsonObject device(devices[i], fmt::format("gaps.devices[{}]", i));
    const auto kind = static_cast<size_t>(ParseKind(&device, "kind"));
    gaps.gap_ns[kind][0] = Nanoseconds(&device, "compute_gap_ns");
    gaps.gap_ns[kind][1] = Nanoseconds(&device, "copy_gap_ns");
    gaps.issue_ns[kind] = Nanoseconds(&device, "issue_ns");
    if (device.Has("compute_wake_ns")) gaps.wake_ns[kind][0] = Nanoseconds(&device, "compute_wake_ns");
    if (device.Has("copy_wake_ns")) gaps.wake_ns[kind][1] = Nanoseconds(&device, "copy_wake_ns");
    // Of earlier files: times in the step of the run that was measured, not delays. They predict nothing.
    for (const char* key : {"compute_start_ns", "copy_start_ns"}) {
      if (device.Has(key)) Nanoseconds(&device, key);
    }
    device.Finish();
  }
  JsonObject handoff(object.Require("handoff_ns"), "gaps.handoff_ns");
  for (size_t from = 0; from < kNumQueueClasses; ++from) {
    for (size_t to = 0; to < kNumQueueClasses; ++to) {
      const std::string key = fmt::format("{}_to_{}", kQueueClassNames[from], kQueueClassNames[to]);
      // Earlier files did not tell messages from copies.
      const bool missing =
          std::max(from, to) == static_cast<size_t>(QueueClass::kMessage) && !handoff.Has(key);
      gaps.handoff_ns[from][to] = missing
                                      ? gaps.handoff_ns[std::min<size_t>(from, 1)][std::min<size_t>(to, 1)]
                                      : Nanoseconds(&handoff, key);
    }
  }
  if (handoff.Has("signal")) gaps.signal_ns = Nanoseconds(&handoff, "signal");
  handoff.Finish();
  if (object.Has("message_overhead_ns"))
    gaps.message_overhead_ns = Nanoseconds(&object, "message_overhead_ns");
  if (object.Has("message_byte_ns"))
    gaps.message_byte_ns = NumberIn(&object, "message_byte_ns", 0, kMaxByteNs);
  object.Finish();
  return gaps;
}

FetchCurve ParseFetches(const json& list) {
  std::vector<FetchCurve::Point> points;
  for (size_t i = 0; i < list.size(); ++i) {
    JsonObject object(list[i], fmt::format("fetches[{}]", i));
    FetchCurve::Point point;
    point.bytes = object.Integer("bytes", points.empty() ? 1 : points.back().bytes + 1, INT64_MAX);
    point.ns = Nanoseconds(&object, "ns");
    object.Finish();
    points.push_back(point);
  }
  return FetchCurve(std::move(points));
}

InterferenceMatrix ParseMatrix(const json& value, const std::string& where) {
  JsonObject object(value, where);
  InterferenceMatrix matrix;
  matrix.cores = static_cast<int>(object.Integer("cores", 0, kMaxCores));
  matrix.copy_cores = NumberIn(&object, "copy_cores", 0, kMaxCores);
  if (object.Has("slice_ns")) matrix.slice_ns = Nanoseconds(&object, "slice_ns");
  // Of earlier files; nothing is predicted with it.
  if (object.Has("bytes_per_second")) NumberIn(&object, "bytes_per_second", 0, 1e18);
  JsonObject slowdown(object.Require("slowdown"), where + ".slowdown");
  for (size_t victim = 0; victim < kNumWorkClasses; ++victim) {
    JsonObject row(slowdown.Require(kClassNames[victim]), where + ".slowdown." + kClassNames[victim]);
    for (size_t beside = 0; beside < kNumWorkClasses; ++beside) {
      matrix.slowdown[victim][beside] = NumberIn(&row, kClassNames[beside], 1, 1000);
    }
    row.Finish();
  }
  slowdown.Finish();
  object.Finish();
  return matrix;
}

OtherComputer ParseOtherComputer(const json& value, const std::string& where) {
  JsonObject object(value, where);
  OtherComputer computer;
  computer.tasks = object.Strings("tasks");
  if (computer.tasks.empty()) object.Fail("tasks", "must name a task");
  computer.cores = static_cast<int>(object.Integer("cores", 1, kMaxCores));
  computer.speed.compute = NumberIn(&object, "compute_speed", kMinSpeed, kMaxSpeed);
  computer.speed.memory = NumberIn(&object, "memory_speed", kMinSpeed, kMaxSpeed);
  object.Finish();
  return computer;
}

// Of `both`; none where it does not say.
std::vector<OtherComputer> ParseOtherComputers(JsonObject* both) {
  constexpr const char* kKey = "other_computers";
  std::vector<OtherComputer> computers;
  if (!both->Has(kKey)) return computers;
  const json& list = ListOf(both, kKey);
  std::set<std::string> known;
  for (size_t i = 0; i < list.size(); ++i) {
    computers.push_back(ParseOtherComputer(list[i], fmt::format("interference.{}[{}]", kKey, i)));
    for (const std::string& task : computers.back().tasks) {
      if (!known.insert(task).second) both->Fail(kKey, fmt::format("names task '{}' twice", task));
    }
    if (known.size() > kMaxTasks) both->Fail(kKey, fmt::format("names more than {} tasks", kMaxTasks));
  }
  return computers;
}

Interference ParseInterference(const json& value) {
  JsonObject both(value, "interference");
  Interference interference;
  interference.host = ParseMatrix(both.Require("host"), "interference.host");
  // Files of before say what commands do to each other on the host too: no prediction got better by it.
  interference.host.slowdown = InterferenceMatrix().slowdown;
  interference.gpu = ParseMatrix(both.Require("gpu"), "interference.gpu");
  interference.other_computers = ParseOtherComputers(&both);
  both.Finish();
  return interference;
}

json OtherComputerJson(const OtherComputer& computer) {
  return {{"tasks", computer.tasks},
          {"cores", computer.cores},
          {"compute_speed", computer.speed.compute},
          {"memory_speed", computer.speed.memory}};
}

json MatrixJson(const InterferenceMatrix& matrix) {
  json slowdown = json::object();
  for (size_t victim = 0; victim < kNumWorkClasses; ++victim) {
    for (size_t beside = 0; beside < kNumWorkClasses; ++beside) {
      slowdown[kClassNames[victim]][kClassNames[beside]] = matrix.slowdown[victim][beside];
    }
  }
  return {{"cores", matrix.cores},
          {"copy_cores", matrix.copy_cores},
          {"slice_ns", matrix.slice_ns},
          {"slowdown", slowdown}};
}

json InterferenceJson(const Interference& interference) {
  json both = {{"host", MatrixJson(interference.host)}, {"gpu", MatrixJson(interference.gpu)}};
  for (const OtherComputer& computer : interference.other_computers)
    both["other_computers"].push_back(OtherComputerJson(computer));
  return both;
}

json LaunchJson(const LaunchCost& cost) {
  return {{"signature", cost.signature}, {"op", cost.op},
          {"device", cost.device},       {"ns", cost.ns},
          {"count", cost.count},         {"spread_ns", cost.spread_ns},
          {"flops", cost.work.flops},    {"bytes", cost.work.bytes}};
}

json GapsJson(const GapModel& gaps) {
  json devices = json::array();
  for (const DeviceKind kind : kKinds) {
    devices.push_back({{"kind", DeviceKindName(kind)},
                       {"compute_gap_ns", gaps.gap(kind, QueueClass::kCompute)},
                       {"copy_gap_ns", gaps.gap(kind, QueueClass::kCopy)},
                       {"issue_ns", gaps.issue(kind)},
                       {"compute_wake_ns", gaps.wake(kind, QueueClass::kCompute)},
                       {"copy_wake_ns", gaps.wake(kind, QueueClass::kCopy)}});
  }
  json handoff = json::object();
  for (size_t from = 0; from < kNumQueueClasses; ++from) {
    for (size_t to = 0; to < kNumQueueClasses; ++to) {
      handoff[fmt::format("{}_to_{}", kQueueClassNames[from], kQueueClassNames[to])] =
          gaps.handoff_ns[from][to];
    }
  }
  handoff["signal"] = gaps.signal_ns;
  return {{"step_start_ns", gaps.step_start_ns},
          {"step_finish_ns", gaps.step_finish_ns},
          {"devices", devices},
          {"handoff_ns", handoff},
          {"message_overhead_ns", gaps.message_overhead_ns},
          {"message_byte_ns", gaps.message_byte_ns}};
}

void CheckHeader(JsonObject* object) {
  if (object->String("format") != kFormat) object->Fail("format", "must be \"lanescope-cost\"");
  const int64_t version = object->Integer("version", 0, INT32_MAX);
  if (version != kVersion) {
    object->Fail("version", fmt::format("is {}, this program reads {}; calibrate again", version, kVersion));
  }
}

}  // namespace

std::string CostDevice(const DeviceSpec& device) {
  std::string text(DeviceKindName(device.kind));
  if (!device.model.empty()) text += " " + device.model;
  if (device.kind == DeviceKind::kHost || device.kind == DeviceKind::kVirtual) {
    text += fmt::format(" {} worker{}", device.workers, device.workers == 1 ? "" : "s");
  }
  if (device.kind == DeviceKind::kLogical && device.sm_share > 0) text += fmt::format(" {}", device.sm_share);
  return text;
}

CostTable ParseCostTable(std::string_view text) {
  const json root = ParseJson(text);
  JsonObject object(root, "cost file");
  CheckHeader(&object);
  CostTable table;
  table.calibrated_on = object.String("calibrated_on");
  table.common_spread = NumberIn(&object, "common_spread", 0, 1);
  const json& launches = ListOf(&object, "launches");
  for (size_t i = 0; i < launches.size(); ++i) table.launches.push_back(ParseLaunch(launches[i], i));
  const json& copies = ListOf(&object, "copies");
  for (size_t i = 0; i < copies.size(); ++i) table.copies.push_back(ParseCopy(copies[i], i));
  table.gaps = ParseGaps(object.Require("gaps"));
  if (const json* interference = object.Find("interference")) {
    table.has_interference = true;
    table.interference = ParseInterference(*interference);
  }
  if (object.Has("fetches")) table.fetches = ParseFetches(ListOf(&object, "fetches"));
  if (const json* input = object.Find("input")) table.input = ParseInputCosts(*input);
  object.Finish();
  return table;
}

CostTable ReadCostTable(const std::string& path) {
  const std::string text = ReadFile(path);
  try {
    return ParseCostTable(text);
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument) throw;
    Throw(Code::kInvalidArgument, "{}: {}", path, error.message());
  }
}

std::string CostTableToJson(const CostTable& table) {
  json launches = json::array(), copies = json::array();
  for (const LaunchCost& cost : table.launches) launches.push_back(LaunchJson(cost));
  for (const CopyFit& fit : table.copies) {
    copies.push_back({{"src", DeviceKindName(fit.src)},
                      {"dst", DeviceKindName(fit.dst)},
                      {"overhead_ns", fit.overhead_ns},
                      {"factor", fit.factor},
                      {"spread", fit.spread},
                      {"count", fit.count},
                      {"min_bytes", fit.min_bytes},
                      {"max_bytes", fit.max_bytes}});
  }
  json root = {{"format", kFormat},
               {"version", kVersion},
               {"calibrated_on", table.calibrated_on},
               {"common_spread", table.common_spread},
               {"launches", launches},
               {"copies", copies},
               {"gaps", GapsJson(table.gaps)}};
  if (table.has_interference) root["interference"] = InterferenceJson(table.interference);
  if (!table.fetches.empty()) {
    json fetches = json::array();
    for (const FetchCurve::Point& point : table.fetches.points())
      fetches.push_back({{"bytes", point.bytes}, {"ns", point.ns}});
    root["fetches"] = fetches;
  }
  if (!table.input.empty()) root["input"] = InputCostsJson(table.input);
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace lanescope::sims
