// SPDX-License-Identifier: Apache-2.0
// Work, time and memory of one launch: by the op's definition or by the node's `_lanescope_cost`, whole or of
// a part of the batch.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/graph/batch_share.h"
#include "core/graph/op.h"
#include "core/graph/ops/common.h"

namespace lanescope {
namespace {

constexpr int64_t kBytesOfString = 32;
constexpr std::string_view kCostAttr = "_lanescope_cost";
constexpr std::string_view kBatchAttr = "_lanescope_batch";
constexpr std::string_view kShapesAttr = "_output_shapes";

[[noreturn]] void ThrowCost(const Node& node, std::string_view problem) {
  Throw(Code::kInvalidArgument,
        "node '{}': attribute '{}' {}; it is JSON such as {{\"ns\": {{\"GPU\": 1000, \"CPU\": 9000}}}} or "
        "{{\"flops\": 100, \"bytes\": 64}}",
        node.name, kCostAttr, problem);
}

// Null where the node has none.
nlohmann::json CostOf(const Node& node) {
  const AttrValue* attr = node.FindAttr(kCostAttr);
  if (attr == nullptr) return nullptr;
  const auto* text = std::get_if<std::string>(attr);
  if (text == nullptr) ThrowCost(node, "is no string");
  nlohmann::json cost = nlohmann::json::parse(*text, nullptr, false);
  if (!cost.is_object()) ThrowCost(node, "is no JSON object");
  return cost;
}

// The number under `key`; empty where there is none.
std::optional<int64_t> Count(const Node& node, const nlohmann::json& object, std::string_view key) {
  const auto it = object.find(key);
  if (it == object.end()) return std::nullopt;
  if (!it->is_number()) ThrowCost(node, fmt::format("has a '{}' that is no number", key));
  const double number = it->get<double>();
  if (!(number >= 0 && number < 0x1p62)) {
    ThrowCost(node, fmt::format("has a '{}' outside 0 to 2^62", key));
  }
  return it->is_number_integer() ? it->get<int64_t>() : static_cast<int64_t>(number);
}

// Rules index the arguments without asking how many there are; a node that no step needs may lack some.
bool HasArguments(const OpDef& def, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  const auto single = [](const ArgDef& arg) { return arg.number_attr.empty() && arg.type_list_attr.empty(); };
  const auto least = [&](const std::vector<ArgDef>& args) {
    return static_cast<size_t>(std::count_if(args.begin(), args.end(), single));
  };
  return inputs.size() >= least(def.inputs) && outputs.size() >= least(def.outputs);
}

OpWork WorkByDefinition(const OpDef* def, const Node& node, std::span<const TensorInfo> inputs,
                        std::span<const TensorInfo> outputs) {
  if (def != nullptr && def->work != nullptr && HasArguments(*def, inputs, outputs))
    return def->work(node, inputs, outputs);
  OpWork work{0, ops::TotalBytes(inputs, outputs)};
  for (const TensorInfo& output : outputs) {
    work.flops = std::min(work.flops + ops::CountOf(output), ops::kMaxCount);
  }
  return work;
}

[[noreturn]] void ThrowBatch(const Node& node, std::string_view problem) {
  Throw(Code::kInvalidArgument, "node '{}': attribute '{}' {}; export the model again", node.name, kBatchAttr,
        problem);
}

void ShareWork(int parts, const nlohmann::json& batch, Node* node) {
  nlohmann::json cost = CostOf(*node);
  if (cost.is_null()) ThrowBatch(*node, "is of a node without a cost");
  for (const char* of : {"flops", "bytes"}) {
    const std::optional<int64_t> whole = Count(*node, cost, of), fixed = Count(*node, batch, of);
    if (!whole.has_value() || !fixed.has_value()) continue;
    if (*fixed > *whole) ThrowBatch(*node, "has more work than the node");
    cost[of] = *fixed + (*whole - *fixed) / parts;
  }
  node->attrs[std::string(kCostAttr)] = cost.dump();
}

void ShareShapes(int parts, const nlohmann::json& axes, Node* node) {
  const auto found = node->attrs.find(std::string(kShapesAttr));
  if (found == node->attrs.end()) return;
  auto* shapes = std::get_if<std::vector<ShapeAttr>>(&found->second);
  if (shapes == nullptr || shapes->size() != axes.size())
    ThrowBatch(*node, "has other outputs than the node");
  for (size_t k = 0; k < axes.size(); ++k) {
    Shape& shape = (*shapes)[k].shape;
    for (const nlohmann::json& axis : axes[k]) {
      if (!axis.is_number_unsigned() || !shape.IsExact() ||
          axis.get<uint64_t>() >= static_cast<uint64_t>(shape.rank()))
        ThrowBatch(*node, "has an axis that the output has not");
      const int d = axis.get<int>();
      if (shape.dim(d) % parts != 0)
        ThrowBatch(*node, fmt::format("has {}, which {} do not share", shape.dim(d), parts));
      shape.set_dim(d, shape.dim(d) / parts);
    }
  }
}

}  // namespace

void TakeBatchShare(int parts, Node* node) {
  const AttrValue* attr = node->FindAttr(kBatchAttr);
  if (attr == nullptr) return;
  const auto* text = std::get_if<std::string>(attr);
  const nlohmann::json batch =
      text == nullptr ? nlohmann::json() : nlohmann::json::parse(*text, nullptr, false);
  if (!batch.is_object() || !batch.contains("axes") || !batch["axes"].is_array())
    ThrowBatch(*node, "is no JSON object with axes");
  ShareWork(parts, batch, node);
  ShareShapes(parts, batch["axes"], node);
  node->attrs.erase(std::string(kBatchAttr));  // a part is not cut again
}

OpWork WorkOf(const Node& node, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  OpWork work = WorkByDefinition(OpRegistry::Global().Find(node.op), node, inputs, outputs);
  const nlohmann::json cost = CostOf(node);
  if (cost.is_null()) return work;
  work.flops = Count(node, cost, "flops").value_or(work.flops);
  work.bytes = Count(node, cost, "bytes").value_or(work.bytes);
  return work;
}

std::optional<int64_t> AttributedNs(const Node& node, std::string_view device_type) {
  const nlohmann::json cost = CostOf(node);
  if (cost.is_null() || !cost.contains("ns")) return std::nullopt;
  const nlohmann::json& ns = cost["ns"];
  if (!ns.is_object()) ThrowCost(node, "has an 'ns' that is no object of device types");
  return Count(node, ns, device_type);
}

std::optional<AttributedCollective> CollectiveOf(const Node& node) {
  const nlohmann::json cost = CostOf(node);
  if (cost.is_null() || !cost.contains("collective")) return std::nullopt;
  const nlohmann::json& given = cost["collective"];
  const auto text = [&](std::string_view key) {
    const auto it = given.find(key);
    return it == given.end() || !it->is_string() ? std::string() : it->get<std::string>();
  };
  if (!given.is_object()) ThrowCost(node, "has a 'collective' that is no object");
  AttributedCollective collective{text("kind"), text("algorithm"), 0, 0, {}};
  collective.bytes = Count(node, given, "bytes").value_or(0);
  collective.wait_ns = Count(node, given, "wait_ns").value_or(0);
  const auto gpus = given.find("gpus");
  if (gpus == given.end() || !gpus->is_array() || gpus->size() != collective.gpus.size())
    ThrowCost(node, "has a 'collective' without 'gpus', which is [first, count, stride]");
  for (size_t i = 0; i < collective.gpus.size(); ++i) {
    if (!(*gpus)[i].is_number_unsigned() || (*gpus)[i].get<uint64_t>() > INT32_MAX)
      ThrowCost(node, "has 'gpus' that are no whole numbers");
    collective.gpus[i] = (*gpus)[i].get<int>();
  }
  return collective;
}

int64_t BytesOf(const TensorInfo& info) {
  const int64_t elements = info.shape.NumElements();
  if (elements <= 0) return 0;
  const DataType type = RemoveRef(info.dtype);
  const int64_t size = type == DataType::kString ? kBytesOfString : static_cast<int64_t>(ElementSize(type));
  return ops::SaturatingMul(elements, size);
}

}  // namespace lanescope
