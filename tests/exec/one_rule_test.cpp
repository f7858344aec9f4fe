// SPDX-License-Identifier: Apache-2.0
// Shape inference and the plans of kernels say the same of an op: recorded cases (tests/golden/ops) and their
// neighbours, with attributes, shapes and small numbers changed at random, are given to both. Inference knows
// every shape and value; the kernel gets memory for outputs of unknown shape.
// Laws, for all that the op's definition allows:
// * What both take has one shape, and one value where inference folds.
// * What inference refuses the kernel refuses: it meets the same where a shape is known only
//   when a step runs.
// * What the kernel of an op of one rule refuses inference refuses in the same words, but for what it has no
//   body for, and for numbers that only it reads (indices, divisors). Of other ops a kernel may refuse more,
//   as an error of whoever gave it that.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/split_mix.h"
#include "core/graph/graph_io.h"
#include "core/graph/infer_node.h"
#include "core/graph/validate.h"
#include "tests/exec/golden_cases.h"
#include "tests/exec/kernel_harness.h"
#include "tests/exec/tensor_values.h"
#include "tests/support/sanitized.h"

namespace lanescope::exec::test {
namespace {

// Elements that an output has room for; results that may need more are not computed.
constexpr int64_t kRoom = 4096;

// Ops that begin so have one rule for all their checks.
constexpr std::string_view kOneRule[] = {
    "AvgPool",   "BiasAdd",      "Conv2D",        "DepthwiseConv2d", "Fill",           "FusedBatchNorm",
    "LRN",       "LogSoftmax",   "MaxPool",       "Random",          "Reshape",        "ResourceScatter",
    "Scatter",   "Segment",      "Softmax",       "SparseSegment",   "SparseSoftmax",  "SparseToDense",
    "Stateless", "StridedSlice", "TensorScatter", "TruncatedNormal", "UnsortedSegment"};
// Kernels' messages on numbers that only they read.
constexpr std::string_view kOfNumbers[] = {
    "out of range",           "is not in [",           "does not index into",
    "Received a label value", "is repeated",           "is out of order",
    "is out of bounds: need", "Indices are not valid", "Integer division by zero",
    "Need minval < maxval"};

// A node and what it is given. Inputs that refer to variables hold what the variable does.
struct OpCase {
  Node node;
  std::vector<Tensor> inputs;
};

class Mutation {
 public:
  explicit Mutation(uint64_t seed) : stream_(seed) {}

  void Apply(OpCase* op) {
    const OpDef& def = *OpRegistry::Global().Find(op->node.op);
    std::vector<const AttrDef*> attrs;
    for (const AttrDef& attr : def.attrs) {
      if (CanChange(def, attr) && op->node.FindAttr(attr.name) != nullptr) attrs.push_back(&attr);
    }
    const size_t choice = Below(attrs.size() + 2 * op->inputs.size());
    if (choice < attrs.size()) return ChangeAttr(*attrs[choice], &op->node.attrs[attrs[choice]->name]);
    if (op->inputs.empty()) return;
    Tensor& input = op->inputs[Below(op->inputs.size())];
    const bool integers = input.dtype() == DataType::kInt32 || input.dtype() == DataType::kInt64;
    input = integers && input.NumElements() > 0 && Below(2) == 0 ? OtherValue(input)
                                                                 : Refilled(input, OtherShape(input.shape()));
  }

 private:
  size_t Below(size_t end) { return end == 0 ? 0 : static_cast<size_t>(stream_.Next() % end); }
  int64_t SmallNumber() {
    constexpr std::array<int64_t, 14> kNumbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, 12, 31};
    return kNumbers[Below(kNumbers.size())];
  }

  // Types and the number of inputs stay.
  static bool CanChange(const OpDef& def, const AttrDef& attr) {
    if (attr.type != "int" && attr.type != "bool" && attr.type != "string" && attr.type != "list(int)")
      return false;
    return std::ranges::none_of(def.inputs,
                                [&](const ArgDef& arg) { return arg.number_attr == attr.name; }) &&
           std::ranges::none_of(def.outputs, [&](const ArgDef& arg) { return arg.number_attr == attr.name; });
  }
  void ChangeAttr(const AttrDef& attr, AttrValue* value) {
    if (attr.type == "int") {
      *value = SmallNumber();
    } else if (attr.type == "bool") {
      *value = !std::get<bool>(*value);
    } else if (attr.type == "string" && !attr.allowed_strings.empty()) {
      *value = attr.allowed_strings[Below(attr.allowed_strings.size())];
    } else if (attr.type == "list(int)") {
      auto& list = std::get<std::vector<int64_t>>(*value);
      const size_t change = Below(4);
      if (change == 0) list.push_back(SmallNumber());
      if (list.empty()) return;
      if (change == 1) list.pop_back();
      if (change > 1) list[Below(list.size())] = SmallNumber();
    }
  }
  Shape OtherShape(Shape shape) {
    constexpr std::array<int64_t, 6> kSizes = {0, 1, 2, 3, 5, 6};
    const int64_t size = kSizes[Below(kSizes.size())];
    const auto at = static_cast<int>(Below(static_cast<size_t>(shape.rank())));
    switch (shape.rank() == 0 ? 1 : Below(4)) {
      case 0:
        shape.Erase(at);
        break;
      case 1:
        if (shape.rank() < 5) shape.Insert(at, size == 0 ? 1 : size);
        break;
      default:
        shape.set_dim(at, size);
    }
    return shape;
  }
  static Tensor Refilled(const Tensor& from, const Shape& shape) {
    Tensor tensor(from.dtype(), shape);
    if (from.NumElements() == 0) return tensor;
    const auto count = static_cast<size_t>(from.NumElements());
    for (size_t i = 0; i < static_cast<size_t>(tensor.NumElements()); ++i) {
      if (from.dtype() == DataType::kString) {
        tensor.data<std::string>()[i] = from.data<std::string>()[i % count];
      } else {
        const size_t bytes = ElementSize(from.dtype());
        std::memcpy(static_cast<char*>(tensor.raw_data()) + i * bytes,
                    static_cast<const char*>(from.raw_data()) + i % count * bytes, bytes);
      }
    }
    return tensor;
  }
  Tensor OtherValue(const Tensor& from) {
    Tensor tensor = Refilled(from, from.shape());
    const size_t at = Below(static_cast<size_t>(tensor.NumElements()));
    if (tensor.dtype() == DataType::kInt32)
      tensor.data<int32_t>()[at] = static_cast<int32_t>(SmallNumber());
    else
      tensor.data<int64_t>()[at] = SmallNumber();
    return tensor;
  }

  SplitMixStream stream_;
};

// The answer: outputs, or an error.
struct Answer {
  std::vector<TensorInfo> outputs;
  std::optional<Error> error;
};

template <typename Work>
Answer Ask(Work work) {
  try {
    return {work(), std::nullopt};
  } catch (const Error& error) {
    return {{}, error};
  }
}

Answer AskInference(const OpCase& op) {
  return Ask([&] {
    const std::vector<DataType> types = InputTypes(op.node);
    std::vector<TensorInfo> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      TensorInfo info;
      info.dtype = op.inputs[i].dtype();
      info.shape = op.inputs[i].shape();
      if (types[i] == DataType::kResource) {
        TensorInfo handle;
        handle.dtype = DataType::kResource;
        handle.shape = Shape{};
        handle.handle = std::make_shared<const TensorInfo>(info);
        info = std::move(handle);
      } else if (!IsRefType(types[i])) {
        info.value = std::make_shared<const Tensor>(op.inputs[i]);
      }
      inputs.push_back(std::move(info));
    }
    return InferNode(op.node, inputs);
  });
}

Answer AskKernel(const OpCase& op) {
  return Ask([&] {
    const std::unique_ptr<Kernel> kernel = KernelRegistry::Host().Create(op.node);
    const std::vector<DataType> types = InputTypes(op.node);
    std::vector<Tensor> inputs, memory = op.inputs;
    std::vector<Variable> variables(op.inputs.size());
    std::map<int, Variable*> by_input;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const bool refers = IsRefType(types[i]) || types[i] == DataType::kResource;
      inputs.push_back(refers ? Tensor() : op.inputs[i]);
      if (!refers) continue;
      variables[i] = {RefTo(memory[i]), true};
      by_input[static_cast<int>(i)] = &variables[i];
    }
    std::vector<OutputPlan> plans;
    const std::vector<DataType> outputs = OutputTypes(op.node);
    if (std::ranges::none_of(outputs, IsRefType)) {
      for (const DataType type : outputs) plans.push_back({type, Shape{BoundedDim(kRoom)}});
    }
    TestTeam team(1);
    TestContext context(inputs, plans, team, by_input);
    kernel->Compute(context);
    std::vector<TensorInfo> infos;
    for (int i = 0; i < context.num_outputs(); ++i) {
      TensorInfo& info = infos.emplace_back();
      const Tensor result = context.Result(i);
      info.dtype = result.dtype();
      info.shape = result.shape();
      info.value = std::make_shared<const Tensor>(result);
    }
    return infos;
  });
}

bool Equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.dtype() == DataType::kString) return ListOf<std::string>(a) == ListOf<std::string>(b);
  return a.ByteSize() == 0 || std::memcmp(a.raw_data(), b.raw_data(), static_cast<size_t>(a.ByteSize())) == 0;
}

bool Within(const Shape& inferred, const Shape& computed) {
  if (!inferred.known_rank()) return true;
  if (inferred.rank() != computed.rank()) return false;
  for (int d = 0; d < inferred.rank(); ++d) {
    if (IsExact(inferred[d]) ? inferred[d] != computed[d]
                             : HasBound(inferred[d]) && BoundOf(inferred[d]) < computed[d])
      return false;
  }
  return true;
}

bool IsAllowed(const Node& node) {
  try {
    CheckAttrValues(node, *OpRegistry::Global().Find(node.op));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool HasNoBody(const Error& error) {
  return error.code() == Code::kUnimplemented || error.code() == Code::kResourceExhausted;
}

// Without what inference says of the node.
std::string WordsOf(const std::string& op, const Error& error) {
  std::string words = error.message();
  if (words.starts_with("node ")) words = words.substr(words.find(": ") + 2);
  if (words.starts_with(op + ": ")) words = words.substr(op.size() + 2);
  return words;
}

bool BeginsWithAny(std::string_view text, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view one) { return text.starts_with(one); });
}
bool HoldsAny(std::string_view text, std::span<const std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view one) { return text.find(one) != text.npos; });
}

// Empty: they agree.
std::string Disagreement(const std::string& op, const Answer& inferred, const Answer& computed) {
  if (computed.error && computed.error->code() == Code::kInternal)
    return "the kernel breaks: " + computed.error->message();
  if (computed.error && (HasNoBody(*computed.error) || !BeginsWithAny(op, kOneRule))) return "";
  if (computed.error && inferred.error) {
    const std::string theirs = WordsOf(op, *inferred.error), own = WordsOf(op, *computed.error);
    return theirs == own ? "" : "inference says: " + theirs + "\n    the kernel: " + own;
  }
  if (computed.error) {
    const std::string own = WordsOf(op, *computed.error);
    return HoldsAny(own, kOfNumbers) ? "" : "the kernel alone refuses: " + own;
  }
  if (inferred.error) return "inference alone refuses: " + WordsOf(op, *inferred.error);
  for (size_t i = 0; i < computed.outputs.size(); ++i) {
    const TensorInfo& a = inferred.outputs[i];
    const TensorInfo& b = computed.outputs[i];
    if (!Within(a.shape, b.shape))
      return fmt::format("output {} is {} for inference, {} for the kernel", i, a.shape.ToString(),
                         b.shape.ToString());
    if (a.value != nullptr && !Equal(*a.value, *b.value))
      return fmt::format("output {} is folded to another value", i);
  }
  return "";
}

std::string Describe(const OpCase& op) {
  std::string text = op.node.op;
  for (const auto& [name, value] : op.node.attrs) {
    if (const auto* number = std::get_if<int64_t>(&value)) text += fmt::format(" {}={}", name, *number);
    if (const auto* flag = std::get_if<bool>(&value)) text += fmt::format(" {}={}", name, *flag);
    if (const auto* word = std::get_if<std::string>(&value)) text += fmt::format(" {}={}", name, *word);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
      text += fmt::format(" {}=[{}]", name, fmt::join(*list, ","));
    if (const auto* type = std::get_if<DataType>(&value))
      text += fmt::format(" {}={}", name, DataTypeName(*type));
  }
  for (const Tensor& input : op.inputs) {
    text += " " + input.shape().ToString();
    if (input.dtype() != DataType::kInt32 && input.dtype() != DataType::kInt64) continue;
    text += "=";
    for (int64_t i = 0; i < std::min<int64_t>(input.NumElements(), 8); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ",", input.IntAt(i));
  }
  return text;
}

// Every node of the recorded cases whose inputs are constants, feeds or variables, but for ends of
// transfers, which need a session.
std::vector<OpCase> RecordedOps() {
  std::vector<OpCase> ops;
  const auto add = [&](const nlohmann::json& test) {
    const Graph graph = ParseGraphText(test.at("graph").get<std::string>());
    std::map<std::pair<NodeId, int>, Tensor> known;
    const nlohmann::json& feeds =
        test.contains("feeds") ? test.at("feeds") : test.at("steps").at(0).at("feeds");
    for (const auto& [name, tensor] : GoldenTensors(feeds)) {
      const Endpoint endpoint = graph.FindEndpoint(name);
      known[{endpoint.node, endpoint.output}] = tensor;
    }
    for (const NodeId id : graph.node_ids()) {
      const Node& node = graph.node(id);
      if (node.op == "Const") known[{id, 0}] = node.GetTensorAttr("value");
      if (node.op != "VariableV2" && node.op != "VarHandleOp") continue;
      if (node.GetShapeAttr("shape").IsExact())
        known[{id, 0}] = Tensor(node.TypeAttr("dtype"), node.GetShapeAttr("shape"));
    }
    for (const Node& node : graph.nodes()) {
      OpCase op{node, {}};
      for (const Endpoint& input : node.inputs) {
        const auto found = known.find({input.node, input.output});
        if (found != known.end()) op.inputs.push_back(found->second);
      }
      if (op.inputs.size() == node.inputs.size() && !node.inputs.empty() && !node.op.starts_with('_') &&
          KernelRegistry::Host().Has(node.op) && OpRegistry::Global().Find(node.op) != nullptr)
        ops.push_back(std::move(op));
    }
  };
  for (const std::string& file : GoldenFiles()) ForEachGoldenCase(file, add);
  return ops;
}

TEST(OneRule, InferenceAndKernelsAgree) {
  std::map<std::string, std::pair<int, std::string>> found;  // by kind: how many, the first of them
  constexpr int kVariants = 200 / lanescope::test::kOneCaseOf;
  int both = 0;
  uint64_t seed = 1;
  for (const OpCase& recorded : RecordedOps()) {
    for (int variant = 0; variant < kVariants; ++variant) {
      OpCase op = recorded;
      for (int change = 0; change < (variant + 2) / 3 % 4; ++change) Mutation(++seed).Apply(&op);
      if (!IsAllowed(op.node)) continue;
      const Answer inferred = AskInference(op);
      const Answer computed = AskKernel(op);
      both += !inferred.error && !computed.error;
      const std::string problem = Disagreement(op.node.op, inferred, computed);
      if (problem.empty()) continue;
      std::string key = op.node.op + ": " + problem;
      std::erase_if(key, [](char c) { return c >= '0' && c <= '9'; });
      auto& [count, example] = found[key];
      if (count++ == 0) example = Describe(op) + "\n    " + problem;
    }
  }
  EXPECT_GT(both, 400'000 / lanescope::test::kOneCaseOf);
  for (const auto& [key, value] : found) ADD_FAILURE() << value.first << " x " << value.second;
}

}  // namespace
}  // namespace lanescope::exec::test
