// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/cost_table.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json_object.h"
#include "core/time/ticks.h"
#include "sims/cost/input_costs_json.h"
#include "sims/effects/cores.h"
#include "sims/effects/cost_file.h"

namespace lanescope::sims {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "lanescope-cost";
constexpr int64_t kVersion = 1;
constexpr int64_t kMaxCount = int64_t{1} << 53;  // integers that every JSON reader keeps
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

json LaunchJson(const LaunchCost& cost) {
  return {{"signature", cost.signature}, {"op", cost.op},
          {"device", cost.device},       {"ns", cost.ns},
          {"count", cost.count},         {"spread_ns", cost.spread_ns},
          {"flops", cost.work.flops},    {"bytes", cost.work.bytes}};
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
  if (IsOfHostThreads(device.kind)) {
    text += fmt::format(" {} worker{}", device.workers, device.workers == 1 ? "" : "s");
  }
  if (device.kind == DeviceKind::kLogical && device.sm_share > 0) text += fmt::format(" {}", device.sm_share);
  return text;
}

bool CostTable::has_microbenchmarks() const { return effects.Find<Cores>() != nullptr; }

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
  CostFileReader reader(&object);
  for (const EffectKind* kind : AllEffects()) kind->read(&reader, &table.effects);
  reader.Finish();
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
               {"copies", copies}};
  CostFileWriter writer(&root);
  for (const EffectKind* kind : AllEffects()) kind->write(table.effects, &writer);
  if (!table.input.empty()) root["input"] = InputCostsJson(table.input);
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace lanescope::sims
