// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/onnx/control_flow.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.h"

namespace lanescope {
namespace {

// A loop of more nodes, all trips together, is not written out.
constexpr size_t kMostNodes = 20'000;
// Such a count stands for none.
constexpr int64_t kEndless = int64_t{1} << 31;

std::optional<bool> ConstantBool(const OnnxValue& value) {
  const Tensor* tensor = value.constant();
  if (tensor == nullptr || tensor->dtype() != DataType::kBool || tensor->NumElements() != 1)
    return std::nullopt;
  return *static_cast<const uint8_t*>(tensor->raw_data()) != 0;
}

// Lists, which no cost stands for, have to be.
bool AreExactlyAlike(const OnnxValue& a, const OnnxValue& b) {
  if (a.list() != nullptr || b.list() != nullptr) {
    if (a.list() == nullptr || b.list() == nullptr ||
        !std::ranges::equal(*a.list(), *b.list(), AreExactlyAlike))
      Throw(Code::kUnimplemented,
            "makes sequences of different lengths or shapes by a condition that depends on data");
    return true;
  }
  return a.dtype() == b.dtype() && a.known_rank() && a.shape().IsExact() && a.shape() == b.shape();
}

// One of both, which are alike; of lists element by element.
OnnxValue Taken(OnnxEmitter& to, const OnnxValue& condition, const OnnxValue& yes, const OnnxValue& no) {
  if (yes.list() == nullptr) return to.Node("SelectV2", {condition, yes, no});
  OnnxValues list;
  for (size_t i = 0; i < yes.list()->size(); ++i)
    list.push_back(Taken(to, condition, (*yes.list())[i], (*no.list())[i]));
  return OnnxValue::List(std::move(list));
}

// Work that was counted since `before`.
std::optional<double> Since(std::optional<double> before, std::optional<double> now) {
  return before && now ? std::optional(*now - *before) : std::nullopt;
}

// Which branch counts is known when the model is read, or both are computed and one is taken.
OnnxValues Branch(OnnxNodeReader& reader, const OnnxNode& node, const OnnxValues& inputs,
                  const std::string& name, std::optional<double>* flops) {
  OnnxEmitter& to = reader.to();
  if (const std::optional<bool> known = ConstantBool(inputs[0]))
    return reader.Body(node.GraphOf(*known ? "then_branch" : "else_branch"), {}, name);
  if (!inputs[0].exists()) Throw(Code::kInvalidArgument, "lacks its condition");
  const std::optional<double> before = to.flops();
  const OnnxValues yes = reader.Body(node.GraphOf("then_branch"), {}, name + "/then");
  const std::optional<double> between = to.flops();
  const OnnxValues no = reader.Body(node.GraphOf("else_branch"), {}, name + "/else");
  const std::optional<double> first = Since(before, between), second = Since(between, to.flops());
  if (yes.size() != no.size()) Throw(Code::kInvalidArgument, "has branches of different outputs");
  if (first && second) *flops = std::max(*first, *second);
  if (!std::ranges::equal(yes, no, AreExactlyAlike)) return {};
  to.Name(name);
  const OnnxValue condition = to.Reshaped(inputs[0], {});
  OnnxValues results;
  for (size_t i = 0; i < yes.size(); ++i) results.push_back(Taken(to, condition, yes[i], no[i]));
  return results;
}

// Results of a body's trips: values that go from trip to trip, and one of each trip for every list.
struct Trips {
  OnnxValues state;
  std::vector<OnnxValues> lists;

  // Takes a trip's outputs, from number `first` on.
  void Take(const OnnxValues& outputs, size_t first) {
    if (outputs.size() < first + state.size())
      Throw(Code::kInvalidArgument, "has a body of {} outputs, too few", outputs.size());
    lists.resize(outputs.size() - first - state.size());
    for (size_t i = 0; i < state.size(); ++i) state[i] = outputs[first + i];
    for (size_t i = 0; i < lists.size(); ++i) lists[i].push_back(outputs[first + state.size() + i]);
  }

  // All elements of each list, along its axis.
  OnnxValues Results(OnnxEmitter& to, const std::string& name, const std::vector<int64_t>& axes) const {
    OnnxValues results = state;
    for (size_t i = 0; i < lists.size(); ++i) {
      to.Name(name + "/list");
      const int64_t axis =
          i < axes.size() && lists[i][0].known_rank() ? Axis(axes[i], lists[i][0].rank() + 1) : 0;
      results.push_back(
          to.Node("Pack", lists[i], {{"N", static_cast<int64_t>(lists[i].size())}, {"axis", axis}}));
    }
    return results;
  }
};

// As often as its count and its condition say, which may be computed from constants.
OnnxValues Loop(OnnxNodeReader& reader, const OnnxNode& node, const OnnxValues& inputs,
                const std::string& name, std::optional<double>* flops) {
  OnnxEmitter& to = reader.to();
  const onnx::GraphProto& body = node.GraphOf("body");
  std::optional<int64_t> most;
  if (inputs[0].exists()) {
    const std::optional<std::vector<int64_t>> count = ConstantInts(inputs[0]);
    if (!count.has_value() || count->size() != 1) return {};
    if (count->front() < kEndless) most = count->front();
  }
  std::optional<bool> goes_on = inputs[1].exists() ? ConstantBool(inputs[1]) : std::optional(true);
  Trips trips;
  if (body.input_size() < 2) Throw(Code::kInvalidArgument, "has a body of {} inputs", body.input_size());
  for (int i = 2; i < body.input_size(); ++i)
    trips.state.push_back(static_cast<size_t>(i) < inputs.size() ? inputs[static_cast<size_t>(i)]
                                                                 : OnnxValue());
  const std::optional<double> before = to.flops();
  const size_t nodes = to.num_nodes();
  Tensor go(DataType::kBool, Shape{});
  *static_cast<uint8_t*>(go.raw_data()) = 1;
  int64_t trip = 0;
  for (; goes_on == true && (!most || trip < *most); ++trip) {
    if (trip > 0 && (to.num_nodes() - nodes) / static_cast<size_t>(trip) *
                            static_cast<size_t>(std::clamp<int64_t>(most.value_or(trip + 1), 0, 1 << 20)) >
                        kMostNodes) {
      const std::optional<double> all = Since(before, to.flops());
      if (most && all) *flops = *all / static_cast<double>(trip) * static_cast<double>(*most);
      return {};
    }
    OnnxValues given{to.Constant(Tensor::Scalar(trip)), to.Constant(go)};
    given.insert(given.end(), trips.state.begin(), trips.state.end());
    const OnnxValues made = reader.Body(body, given, fmt::format("{}/{}", name, trip));
    if (made.empty()) Throw(Code::kInvalidArgument, "has a body without outputs");
    trips.Take(made, 1);
    goes_on = ConstantBool(made[0]);
  }
  if (!goes_on.has_value()) return {};
  // A list without elements has a shape that nothing tells.
  if (trip == 0 && static_cast<size_t>(node.num_outputs()) > trips.state.size()) return {};
  return trips.Results(to, name, {});
}

// Over slices of the inputs that are scanned, forwards or backwards.
OnnxValues Scan(OnnxNodeReader& reader, const OnnxNode& node, const OnnxValues& inputs,
                const std::string& name, std::optional<double>* flops) {
  OnnxEmitter& to = reader.to();
  const onnx::GraphProto& body = node.GraphOf("body");
  const int64_t scanned = node.Int("num_scan_inputs", 0), all = body.input_size();
  if (node.opset() < 9 || scanned < 1 || scanned > all || inputs.size() < static_cast<size_t>(all)) return {};
  const auto first = static_cast<size_t>(all - scanned);
  const auto entry = [&](const char* list, size_t i) {
    const std::vector<int64_t> values = node.Ints(list, {});
    return i < values.size() ? values[i] : 0;
  };
  std::vector<int64_t> axes;
  int64_t length = -1;
  for (size_t i = first; i < static_cast<size_t>(all); ++i) {
    if (!inputs[i].known_rank()) return {};
    axes.push_back(Axis(entry("scan_input_axes", i - first), inputs[i].rank()));
    const int64_t size = inputs[i].shape().dim(static_cast<int>(axes.back()));
    if (!IsExact(size) || (length >= 0 && size != length)) return {};
    length = size;
  }
  if (length == 0) return {};
  Trips trips;
  trips.state.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(first));
  const std::optional<double> before = to.flops();
  const size_t nodes = to.num_nodes();
  for (int64_t trip = 0; trip < length; ++trip) {
    if (trip == 1 && (to.num_nodes() - nodes) * static_cast<size_t>(length) > kMostNodes) {
      if (const std::optional<double> one = Since(before, to.flops()))
        *flops = *one * static_cast<double>(length);
      return {};
    }
    OnnxValues given = trips.state;
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t at = entry("scan_input_directions", i) != 0 ? length - 1 - trip : trip;
      to.Name(fmt::format("{}/{}/slice", name, trip));
      given.push_back(to.Node("GatherV2", {inputs[first + i], to.Int(at), to.Int(axes[i])}));
    }
    trips.Take(reader.Body(body, given, fmt::format("{}/{}", name, trip)), 0);
  }
  for (size_t i = 0; i < trips.lists.size(); ++i)
    if (entry("scan_output_directions", i) != 0) std::ranges::reverse(trips.lists[i]);
  return trips.Results(to, name, node.Ints("scan_output_axes", {}));
}

// Its body for each tensor of its sequences, beside what it takes as it is; sequences of what that makes.
OnnxValues MapSequence(OnnxNodeReader& reader, const OnnxNode& node, const OnnxValues& inputs,
                       const std::string& name) {
  const onnx::GraphProto& body = node.GraphOf("body");
  if (inputs[0].list() == nullptr) Throw(Code::kInvalidArgument, "takes no sequence");
  const size_t nodes = reader.to().num_nodes(), length = inputs[0].list()->size();
  std::vector<OnnxValues> lists(static_cast<size_t>(node.num_outputs()));
  for (size_t i = 0; i < length; ++i) {
    OnnxValues given;
    for (const OnnxValue& input : inputs) {
      if (!input.exists()) continue;
      if (input.list() != nullptr && input.list()->size() != length)
        Throw(Code::kInvalidArgument, "takes sequences of {} and {} tensors", length, input.list()->size());
      given.push_back(input.list() != nullptr ? (*input.list())[i] : input);
    }
    const OnnxValues made = reader.Body(body, given, fmt::format("{}/{}", name, i));
    if (made.size() < lists.size())
      Throw(Code::kInvalidArgument, "has a body of {} outputs, too few", made.size());
    for (size_t k = 0; k < lists.size(); ++k) lists[k].push_back(made[k]);
    if (reader.to().num_nodes() - nodes > kMostNodes)
      Throw(Code::kResourceExhausted, "makes more than {} nodes of a sequence", kMostNodes);
  }
  OnnxValues results;
  for (OnnxValues& list : lists) results.push_back(OnnxValue::List(std::move(list)));
  return results;
}

}  // namespace

std::vector<std::string> ControlFlowOps() { return {"If", "Loop", "Scan", "SequenceMap"}; }

bool IsControlFlow(std::string_view op) {
  return op == "If" || op == "Loop" || op == "Scan" || op == "SequenceMap";
}

OnnxValues ControlFlow(OnnxNodeReader& reader, const OnnxNode& node, const OnnxValues& inputs,
                       const std::string& name, std::optional<double>* flops) {
  if (node.op() == "If") return Branch(reader, node, inputs, name, flops);
  if (node.op() == "SequenceMap") return MapSequence(reader, node, inputs, name);
  return node.op() == "Loop" ? Loop(reader, node, inputs, name, flops)
                             : Scan(reader, node, inputs, name, flops);
}

}  // namespace lanescope
