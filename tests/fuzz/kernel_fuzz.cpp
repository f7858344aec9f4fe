// SPDX-License-Identifier: Apache-2.0
// Every op with a kernel on random attributes, dtypes, shapes and values: what passes the checks that a graph
// goes through before it runs (validation, inference, compilation) is computed or refused, within the memory
// that inference planned. The input is read as decisions (byte_source.h).
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/graph/op.h"
#include "core/graph/validate.h"
#include "core/schedule/schedule.h"
#include "tests/exec/kernel_harness.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/hostile.h"

namespace lanescope::exec::test {
namespace {

constexpr int64_t kMaxInputElements = 4096;
// Results that need more are not computed: a device's memory limit refuses them.
constexpr int64_t kMaxPlannedBytes = 1 << 20;

constexpr std::array kTypes = {DataType::kFloat,  DataType::kInt32, DataType::kInt64,    DataType::kDouble,
                               DataType::kBool,   DataType::kUint8, DataType::kString,   DataType::kHalf,
                               DataType::kInt16,  DataType::kInt8,  DataType::kBfloat16, DataType::kComplex64,
                               DataType::kUint16, DataType::kUint32};

const std::vector<std::string_view>& Ops() {
  static const std::vector<std::string_view> ops = [] {
    std::vector<std::string_view> names;
    for (const std::string_view name : OpRegistry::Global().Names()) {
      if (KernelRegistry::Host().Has(name)) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }();
  return ops;
}

// The op that the input names in its first line, as kept inputs do, or else its first two bytes; takes them.
const OpDef& TakeOp(ByteSource* bytes) {
  const std::string_view text = bytes->Peek();
  const size_t line = text.find('\n');
  if (line != std::string_view::npos && std::ranges::binary_search(Ops(), text.substr(0, line))) {
    const OpDef* def = OpRegistry::Global().Find(text.substr(0, line));
    bytes->Skip(line + 1);
    return *def;
  }
  return *OpRegistry::Global().Find(Ops()[bytes->Below(Ops().size())]);
}

// One op with the nodes that feed it, and what they hold.
class KernelCase {
 public:
  explicit KernelCase(ByteSource* bytes) : bytes_(*bytes), def_(TakeOp(bytes)) {}

  void Run() {
    Node node;
    node.name = "op";
    node.op = def_.name;
    for (const AttrDef& attr : def_.attrs) {
      if (!attr.fallback || bytes_.Bool())
        node.attrs[attr.name] = Attribute(attr);
      else
        node.attrs[attr.name] = *attr.fallback;
    }
    Try([&] {
      for (const DataType type : InputTypes(node)) node.inputs.push_back(AddSource(type));
      number_ = graph_.AddNode(std::move(node));
      ValidateGraph(graph_);
      const GraphInfo info = InferGraph(graph_, feeds_);
      CompileStep(info);
      Compute(info);
    });
  }

 private:
  // ---- attributes ----

  DataType Type(const AttrDef& attr) {
    if (attr.allowed_types.empty()) return kTypes[bytes_.Below(kTypes.size())];
    // The first types of a set are the common ones, with kernels for nearly every op.
    return attr.allowed_types[bytes_.Below(attr.allowed_types.size())];
  }
  std::string Word(const AttrDef& attr) {
    if (!attr.allowed_strings.empty()) return attr.allowed_strings[bytes_.Below(attr.allowed_strings.size())];
    constexpr std::array kWords = {
        "",  "NHWC", "NCHW", "SAME", "VALID",  "REFLECT", "SYMMETRIC", "bijk,bikl->bijl",
        "%", "%d",   ",",    "a",    "loc:@x0"};
    const size_t which = bytes_.Below(kWords.size() + 1);
    return which < kWords.size() ? kWords[which] : bytes_.Text(12);
  }

  template <typename T, typename Make>
  std::vector<T> List(Make make) {
    std::vector<T> list(bytes_.Below(7));
    for (size_t i = 0; i < list.size(); ++i) list[i] = make();
    return list;
  }

  AttrValue Attribute(const AttrDef& attr) {
    if (attr.type == "int") {
      // A count of inputs makes as many nodes.
      const int64_t value = bytes_.Integer();
      const bool is_count =
          std::ranges::any_of(def_.inputs, [&](const ArgDef& arg) { return arg.number_attr == attr.name; });
      return is_count ? std::clamp<int64_t>(value, 0, 6) : value;
    }
    if (attr.type == "float") return static_cast<float>(bytes_.Real());
    if (attr.type == "bool") return bytes_.Bool();
    if (attr.type == "string") return Word(attr);
    if (attr.type == "type") return Type(attr);
    if (attr.type == "shape") return ShapeAttr{AnyShape(), ""};
    if (attr.type == "tensor")
      return std::make_shared<const TensorAttr>(TensorAttr{Values(kTypes[bytes_.Below(6)]), ""});
    if (attr.type == "list(int)") return List<int64_t>([&] { return bytes_.Integer(); });
    if (attr.type == "list(float)") return List<float>([&] { return static_cast<float>(bytes_.Real()); });
    if (attr.type == "list(bool)") return List<bool>([&] { return bytes_.Bool(); });
    if (attr.type == "list(string)") return List<std::string>([&] { return Word(attr); });
    if (attr.type == "list(type)") return List<DataType>([&] { return Type(attr); });
    if (attr.type == "list(shape)") return List<ShapeAttr>([&] { return ShapeAttr{AnyShape(), ""}; });
    return RawAttr{};
  }

  // Some dimensions unknown, or the rank.
  Shape AnyShape() {
    if (bytes_.OneIn(8)) return Shape::Unknown();
    Shape shape = ExactShape();
    for (int i = 0; i < shape.rank(); ++i) {
      if (bytes_.OneIn(8)) shape.set_dim(i, bytes_.Bool() ? kUnknownDim : bytes_.Integer());
    }
    return shape;
  }

  // ---- inputs ----

  // Often one that another input has, so that operands fit each other.
  Shape ExactShape() {
    constexpr std::array<int64_t, 16> kSizes = {1, 2, 3, 0, 4, 5, 7, 8, 1, 2, 3, 4, 16, 17, 33, 300};
    if (!shapes_.empty() && bytes_.Bool()) return shapes_[bytes_.Below(shapes_.size())];
    Shape shape;
    int64_t elements = 1;
    for (size_t rank = bytes_.Below(6); rank > 0; --rank) {
      int64_t size = kSizes[bytes_.Below(kSizes.size())];
      if (elements * size > kMaxInputElements) size = 1;
      elements *= size;
      shape.Append(size);
    }
    shapes_.push_back(shape);
    return shape;
  }

  template <typename T, typename Make>
  static void Fill(Tensor* tensor, Make make) {
    T* values = static_cast<T*>(tensor->raw_data());
    for (int64_t i = 0; i < tensor->NumElements(); ++i) values[i] = static_cast<T>(make());
  }

  Tensor Values(DataType type) {
    Tensor tensor(type, ExactShape());
    // Few decisions for many elements: a list of values, repeated.
    std::vector<int64_t> integers;
    std::vector<double> reals;
    const size_t different = 1 + bytes_.Below(8);
    const bool real = type == DataType::kFloat || type == DataType::kDouble;
    for (size_t i = 0; i < different; ++i) {
      if (real)
        reals.push_back(bytes_.Real());
      else
        integers.push_back(bytes_.Integer());
    }
    size_t next = 0;
    const auto integer = [&] { return integers[next++ % different]; };
    const auto number = [&] { return reals[next++ % different]; };
    switch (type) {
      case DataType::kFloat:
        Fill<float>(&tensor, number);
        break;
      case DataType::kDouble:
        Fill<double>(&tensor, number);
        break;
      case DataType::kInt32:
        Fill<int32_t>(&tensor, integer);
        break;
      case DataType::kInt64:
        Fill<int64_t>(&tensor, integer);
        break;
      case DataType::kBool:
        Fill<bool>(&tensor, [&] { return (integer() & 1) != 0; });
        break;
      case DataType::kString: {
        std::vector<std::string> texts;
        for (size_t i = 0; i < different; ++i) texts.push_back(bytes_.Text(40));
        for (int64_t i = 0; i < tensor.NumElements(); ++i)
          tensor.data<std::string>()[i] = texts[next++ % different];
        break;
      }
      default: {
        auto* raw = static_cast<uint8_t*>(tensor.raw_data());
        for (int64_t i = 0; i < tensor.ByteSize(); ++i) raw[i] = static_cast<uint8_t>(integer());
      }
    }
    return tensor;
  }

  std::string NextName() const { return "x" + std::to_string(graph_.num_nodes()); }

  Endpoint AddSource(DataType type) {
    if (IsRefType(type)) return AddVariable("VariableV2", RemoveRef(type));
    if (type == DataType::kResource) {
      if (def_.name.find("Table") == std::string::npos)
        return AddVariable("VarHandleOp", kTypes[bytes_.Below(6)]);
      return AddTable();
    }
    Node node;
    node.name = NextName();
    node.attrs["dtype"] = type;
    if (type == DataType::kVariant) Throw(Code::kUnimplemented, "no values of variants");
    Tensor values = Values(type);
    const bool constant = bytes_.Bool();
    node.op = constant ? "Const" : "Placeholder";
    if (constant) {
      node.attrs["value"] = std::make_shared<const TensorAttr>(TensorAttr{values, ""});
    } else {
      node.attrs["shape"] = ShapeAttr{bytes_.OneIn(4) ? Shape::Unknown() : values.shape(), ""};
      TensorInfo info;
      info.dtype = type;
      info.shape = values.shape();
      feeds_.push_back({{NodeId(graph_.num_nodes()), 0}, info});
    }
    inputs_.push_back(std::move(values));
    variables_.push_back(nullptr);
    return {graph_.AddNode(std::move(node)), 0};
  }

  Endpoint AddVariable(const char* op, DataType type) {
    if (ElementSize(type) == 0) Throw(Code::kUnimplemented, "no variables of {}", DataTypeName(type));
    Node node;
    node.name = NextName();
    node.op = op;
    node.attrs["dtype"] = type;
    Tensor memory = Values(type);
    node.attrs["shape"] = ShapeAttr{memory.shape(), ""};
    for (const char* text : {"container", "shared_name"}) node.attrs[text] = std::string();
    auto variable = std::make_unique<Variable>();
    variable->tensor = RefTo(memory);
    variable->initialized = true;
    inputs_.push_back(Tensor());
    variable_memory_.push_back(std::move(memory));
    variables_.push_back(std::move(variable));
    return {graph_.AddNode(std::move(node)), 0};
  }

  Endpoint AddTable() {
    Node node;
    node.name = NextName();
    node.op = "HashTableV2";
    node.attrs["key_dtype"] = kTypes[bytes_.Below(kTypes.size())];
    node.attrs["value_dtype"] = kTypes[bytes_.Below(kTypes.size())];
    inputs_.push_back(Tensor());
    variables_.push_back(nullptr);
    return {graph_.AddNode(std::move(node)), 0};
  }

  // ---- the step ----

  // The whole way from the graph to a schedule, which must obey its laws.
  void CompileStep(const GraphInfo& info) {
    static const Machine machine = VirtualMachine(1, 1);
    CompileRequest request;
    request.feeds = feeds_;
    for (size_t i = 0; i < info.outputs(number_).size(); ++i)
      request.fetches.push_back({number_, static_cast<int>(i)});
    request.fetches.push_back({number_, -1});
    Placement placement;
    placement.device.assign(graph_.num_nodes(), machine.host());
    Try([&] { VerifySchedule(graph_, Compile(graph_, info, request, placement, machine)); });
  }

  // Gives the outputs that inference planned; empty where the op does not run.
  bool PlanOutputs(const GraphInfo& info, std::vector<OutputPlan>* plans) const {
    if (def_.alias != AliasRule::kNone) return false;
    int64_t bytes = 0;
    for (const TensorInfo& output : info.outputs(number_)) {
      if (output.dtype == DataType::kResource) continue;
      // Compilation asks for bounds.
      if (!output.shape.HasBound()) return false;
      bytes += std::max(BytesOf(output), output.shape.NumElements());
      if (bytes > kMaxPlannedBytes) return false;
      plans->push_back({output.dtype, output.shape});
    }
    const std::vector<DataType> types = OutputTypes(graph_.node(number_));
    // A reference to the variable that the op updates has no memory of its own.
    if (std::ranges::any_of(types, IsRefType)) plans->clear();
    return true;
  }

  void Compute(const GraphInfo& info) {
    std::vector<OutputPlan> plans;
    if (!PlanOutputs(info, &plans)) return;
    const std::unique_ptr<Kernel> kernel = KernelRegistry::Host().Create(graph_.node(number_));
    std::map<int, Variable*> variables;
    for (size_t i = 0; i < variables_.size(); ++i) {
      if (variables_[i]) variables[static_cast<int>(i)] = variables_[i].get();
    }
    const bool in_place = def_.in_place && plans.size() == 1 && !inputs_.empty() && inputs_[0].valid() &&
                          inputs_[0].dtype() == plans[0].dtype && inputs_[0].shape() == plans[0].shape &&
                          bytes_.Bool();
    TestTeam team(1);
    TestContext context(inputs_, plans, team, variables, in_place);
    kernel->Compute(context);
    for (int i = 0; i < context.num_outputs(); ++i) CheckResult(context.Result(i));
  }

  // Every output has a shape, and reading all of it is sound.
  static void CheckResult(const Tensor& result) {
    if (!result.shape().IsExact()) std::abort();
    if (result.dtype() != DataType::kBool) return;
    const auto* raw = static_cast<const uint8_t*>(result.raw_data());
    if (std::any_of(raw, raw + result.NumElements(), [](uint8_t byte) { return byte > 1; })) std::abort();
  }

  ByteSource& bytes_;
  const OpDef& def_;
  Graph graph_;
  NodeId number_ = NodeId();
  std::vector<Shape> shapes_;  // so far
  std::vector<std::pair<Endpoint, TensorInfo>> feeds_;
  std::vector<Tensor> inputs_;
  std::vector<std::unique_ptr<Variable>> variables_;  // by input; null: no variable
  std::vector<Tensor> variable_memory_;
};

}  // namespace
}  // namespace lanescope::exec::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::ByteSource bytes(data, size);
  lanescope::exec::test::KernelCase(&bytes).Run();
  return 0;
}
