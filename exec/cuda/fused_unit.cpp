// SPDX-License-Identifier: Apache-2.0
// A body works on elements one by one, or on rows: then it goes over a row once for each reduction that needs
// the one before, and once more for results, and computes again what it needs each time. What goes to memory
// is written in the last pass alone, so that a result may lie where an operand has lain.
#include "exec/cuda/fused_unit.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/schedule/fusion.h"
#include "exec/cuda/fused_expression.h"
#include "exec/kernels/optimizer_plan.h"

namespace lanescope::exec::cuda {
namespace {

constexpr int kElementsOfThread = 4;

class UnitWriter {
 public:
  UnitWriter(const Graph& graph, const Schedule& schedule, const Command& command,
             std::span<const size_t> members, int threads)
      : graph_(graph),
        schedule_(schedule),
        command_(command),
        nodes_(schedule.FusedNodes(command)),
        members_(members),
        threads_(threads) {}

  UnitText Write() {
    FindRows();
    FindLevels();
    if (run_ == 1) {
      WriteElements();
    } else {
      WriteRows();
    }
    return std::move(unit_);
  }

 private:
  const Node& node(size_t i) const { return graph_.node(nodes_[i].node); }
  FusionRole RoleOf(size_t i) const { return FusionRoleOf(node(i)); }
  const Value& Input(int input) const {
    return schedule_.values[schedule_.Inputs(command_)[static_cast<size_t>(input)]];
  }
  const Shape& ShapeOfInput(int input) const {
    return input < 0 ? nodes_[static_cast<size_t>(-1 - input)].shape : Input(input).shape;
  }
  DataType TypeOfInput(int input) const {
    return input < 0 ? nodes_[static_cast<size_t>(-1 - input)].dtype : Input(input).dtype;
  }
  // An update counts the elements that it steps, any other node those of its result.
  int64_t ElementsOf(size_t i) const {
    return RoleOf(i) == FusionRole::kUpdate ? ShapeOfInput(GradientOf(i)).NumElements()
                                            : nodes_[i].shape.NumElements();
  }
  int GradientOf(size_t i) const { return nodes_[i].inputs[static_cast<size_t>(GradientInput(node(i).op))]; }
  bool OneARow(size_t i) const { return ElementsOf(i) < elements_; }

  void FindRows() {
    for (const size_t i : members_) {
      elements_ = std::max(elements_, ElementsOf(i));
      if (RoleOf(i) == FusionRole::kReduction)
        elements_ = std::max(elements_, ShapeOfInput(nodes_[i].inputs[0]).NumElements());
      if (RoleOf(i) == FusionRole::kRowWise) run_ = nodes_[i].shape[nodes_[i].shape.rank() - 1];
    }
    for (const size_t i : members_) {
      if (OneARow(i)) run_ = elements_ / ElementsOf(i);
    }
  }

  // How many passes over the row come before a node's result is known.
  void FindLevels() {
    for (const size_t i : members_) {
      int level = 0;
      const bool reduces = RoleOf(i) == FusionRole::kReduction;
      for (size_t k = 0; k < (reduces ? 1 : nodes_[i].inputs.size()); ++k) {
        if (nodes_[i].inputs[k] < 0)
          level = std::max(level, level_[static_cast<size_t>(-1 - nodes_[i].inputs[k])]);
      }
      read_at_[i] = level;
      if (reduces) ++level;
      if (RoleOf(i) == FusionRole::kRowWise) level += 2;
      level_[i] = level;
      passes_ = std::max(passes_, level);
    }
  }

  // Text of the address of an operand.
  std::string Address(FusedPointer::Of of, int operand) {
    const auto [found, added] = address_.try_emplace({of, operand}, unit_.pointers.size());
    if (added) unit_.pointers.push_back({0, of, operand});
    return fmt::format("at[{}]", 1 + found->second);
  }
  std::string Pointer(FusedPointer::Of of, int operand, DataType dtype) {
    const std::string_view constant = of == FusedPointer::Of::kInput ? "const " : "";
    return fmt::format("reinterpret_cast<{}{}*>({})", constant, CTypeOf(dtype), Address(of, operand));
  }

  void Line(const std::string& text) {
    unit_.body += std::string(static_cast<size_t>(indent_), ' ') + text + "\n";
  }
  void Open(const std::string& text) {
    Line(text);
    indent_ += 2;
  }
  void Close() {
    indent_ -= 2;
    Line("}");
  }

  // The name of an operand of a node, at the index of the elements that are being computed.
  std::string Operand(size_t reader, size_t k, const std::string& index, std::set<std::string>* known) {
    const int input = nodes_[reader].inputs[k];
    if (input < 0) return fmt::format("v{}", -1 - input);
    const Shape& own = RoleOf(reader) == FusionRole::kReduction ? ShapeOfInput(input) : ShapeOfResult(reader);
    const std::string at = BroadcastIndex(ShapeOfInput(input), own, index);
    const std::string load =
        fmt::format("{}[{}]", Pointer(FusedPointer::Of::kInput, input, Input(input).dtype), at);
    const size_t number = loads_.try_emplace(load, loads_.size()).first->second;
    const std::string name = fmt::format("a{}", number);
    if (known->insert(name).second)
      Line(fmt::format("const {} {} = {};", CTypeOf(Input(input).dtype), name, load));
    return name;
  }
  const Shape& ShapeOfResult(size_t i) const {
    return RoleOf(i) == FusionRole::kUpdate ? ShapeOfInput(GradientOf(i)) : nodes_[i].shape;
  }

  // Computes the result of an element-wise node, or what a softmax makes of its row's sum.
  void Compute(size_t i, const std::string& index, std::set<std::string>* known) {
    std::vector<std::string> operands;
    const size_t count = RoleOf(i) == FusionRole::kRowWise ? 1 : nodes_[i].inputs.size();
    for (size_t k = 0; k < count; ++k) operands.push_back(Operand(i, k, index, known));
    std::string value;
    if (RoleOf(i) == FusionRole::kRowWise) {
      value = node(i).op == "Softmax" ? fmt::format("f::Exp()({} - most{}) / sum{}", operands[0], i, i)
                                      : fmt::format("{} - most{} - f::Log()(sum{})", operands[0], i, i);
    } else {
      value = ElementExpression(node(i), nodes_[i].dtype, operands);
    }
    Line(fmt::format("const {} v{} = {};", CTypeOf(nodes_[i].dtype), i, value));
  }

  void Store(size_t i, const std::string& index) {
    if (nodes_[i].output < 0) return;
    Line(fmt::format("{}[{}] = v{};", Pointer(FusedPointer::Of::kOutput, nodes_[i].output, nodes_[i].dtype),
                     index, i));
  }

  // Members whose results of every element are needed for these, all of which are known before the pass.
  std::set<size_t> NeededFor(std::set<size_t> needed) const {
    for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
      if (!needed.contains(*member)) continue;
      for (const int input : nodes_[*member].inputs) {
        if (input >= 0) continue;
        const auto maker = static_cast<size_t>(-1 - input);
        if (!OneARow(maker)) needed.insert(maker);
      }
    }
    return needed;
  }

  // --- elements one by one -------------------------------------------------------------------------------

  // The update that follows what this node writes into its variable.
  bool IsDecay(size_t i) const {
    return std::ranges::any_of(members_, [&](size_t update) { return DecayOf(update) == i; });
  }
  std::optional<size_t> DecayOf(size_t update) const {
    if (RoleOf(update) != FusionRole::kUpdate) return std::nullopt;
    for (size_t k = 0; k < update; ++k) {
      if (RoleOf(k) != FusionRole::kAssign || nodes_[k].inputs[0] != nodes_[update].inputs[0]) continue;
      const int written = nodes_[k].inputs[1];
      if (written < 0 && std::ranges::find(members_, static_cast<size_t>(-1 - written)) != members_.end())
        return static_cast<size_t>(-1 - written);
    }
    return std::nullopt;
  }

  static const OptimizerRule& RuleOf(const Node& node) {
    const std::string_view name = std::string_view(node.op).substr(node.op.find("Apply") + 5);
    const auto rules = OptimizerRules();
    const auto found =
        std::ranges::find_if(rules, [&](const OptimizerRule& rule) { return rule.name == name; });
    LANESCOPE_CHECK(found != rules.end());
    return *found;
  }

  // The numbers of a step are read by every thread.
  void BeginUpdate(size_t i) {
    const OptimizerRule& rule = RuleOf(node(i));
    const std::string_view type = CTypeOf(TypeOfInput(GradientOf(i)));
    std::string numbers;
    for (const OptimizerRule::Number& number : rule.numbers) {
      if (number.input == 0) break;
      const int input = nodes_[i].inputs[static_cast<size_t>(number.input)];
      numbers += fmt::format("{}*{}", numbers.empty() ? "" : ", ",
                             Pointer(FusedPointer::Of::kInput, input, Input(input).dtype));
    }
    const bool flag =
        *rule.flag == '\0' ? rule.flag_fallback : node(i).BoolAttr(rule.flag, rule.flag_fallback);
    Line(fmt::format("const auto step{} = f::{}Step<{}>::From({{{{{}}}, {}, false}});", i, rule.name, type,
                     numbers, flag));
  }

  void Update(size_t i, std::set<std::string>* known) {
    const OptimizerRule& rule = RuleOf(node(i));
    const DataType dtype = TypeOfInput(GradientOf(i));
    const std::string gradient = Operand(i, static_cast<size_t>(rule.gradient), "i", known);
    const auto decay = DecayOf(i);
    std::vector<std::string> states;
    std::string arguments = gradient;
    for (size_t k = 0; k <= rule.slots.size() && (k == 0 || !rule.slots[k - 1].empty()); ++k) {
      const std::string state =
          fmt::format("{}[i]", Pointer(FusedPointer::Of::kVariable, nodes_[i].inputs[k], dtype));
      const std::string name = fmt::format("s{}_{}", i, k);
      Line(fmt::format("{} {} = {};", CTypeOf(dtype), name,
                       k == 0 && decay ? fmt::format("v{}", *decay) : state));
      arguments += ", " + name;
      states.push_back(state);
    }
    Line(fmt::format("step{}({});", i, arguments));
    for (size_t k = 0; k < states.size(); ++k) Line(fmt::format("{} = s{}_{};", states[k], i, k));
  }

  void WriteElements() {
    unit_.count = elements_;
    const int64_t block = int64_t{kElementsOfThread} * threads_;
    unit_.blocks = (elements_ + block - 1) / block;
    indent_ = 2;
    for (const size_t i : members_) {
      if (RoleOf(i) == FusionRole::kUpdate) BeginUpdate(i);
    }
    Line("const long long count = static_cast<long long>(at[0]);");
    Line(fmt::format("const long long first = block * {};", block));
    Line(fmt::format("const long long end = first + {} < count ? first + {} : count;", block, block));
    Open("for (long long i = first + threadIdx.x; i < end; i += kThreads) {");
    std::set<std::string> known;
    for (const size_t i : members_) {
      if (RoleOf(i) == FusionRole::kUpdate) {
        Update(i, &known);
        continue;
      }
      Compute(i, "i", &known);
      if (!IsDecay(i)) Store(i, "i");
    }
    Close();
  }

  // --- rows ----------------------------------------------------------------------------------------------

  void WriteRows() {
    unit_.count = elements_ / run_;
    lanes_ = 2;
    while (lanes_ < run_ && lanes_ < threads_) lanes_ *= 2;
    const int64_t rows = threads_ / lanes_;  // of a block
    unit_.blocks = (unit_.count + rows - 1) / rows;
    indent_ = 2;
    Line(fmt::format("const int lane = static_cast<int>(threadIdx.x) % {};", lanes_));
    Line(fmt::format("const long long row = block * {} + static_cast<int>(threadIdx.x) / {};", rows, lanes_));
    Line("const bool active = row < static_cast<long long>(at[0]);");
    // Threads beyond the last row take part in joining, with values of row 0 that nobody looks at.
    Line("const long long r = active ? row : 0;");
    std::set<std::string> known;
    ComputeOnesARow(0, &known);
    for (int pass = 0; pass < passes_; ++pass) {
      WritePass(pass);
      ComputeOnesARow(pass + 1, &known);
    }
    WriteResults();
  }

  // A result for a row may be known after so many passes.
  void ComputeOnesARow(int level, std::set<std::string>* known) {
    for (const size_t i : members_) {
      if (OneARow(i) && level_[i] == level && RoleOf(i) == FusionRole::kElementWise) Compute(i, "r", known);
    }
  }

  struct Fold {
    std::string name, type;
    RowFold fold;
    size_t member;
    std::string value;  // of one element
  };

  void WritePass(int pass) {
    std::vector<size_t> folding;
    std::set<size_t> needed;
    for (const size_t i : members_) {
      const int behind = pass - read_at_[i];
      const bool reduces = RoleOf(i) == FusionRole::kReduction && behind == 0;
      const bool softmax = RoleOf(i) == FusionRole::kRowWise && (behind == 0 || behind == 1);
      if (!reduces && !softmax) continue;
      folding.push_back(i);
      const int input = nodes_[i].inputs[0];
      if (input < 0) needed.insert(static_cast<size_t>(-1 - input));
    }
    std::erase_if(needed, [&](size_t i) { return OneARow(i); });
    needed = NeededFor(needed);
    std::vector<Fold> folds;
    for (const size_t i : folding) {
      const bool softmax = RoleOf(i) == FusionRole::kRowWise;
      const bool most = softmax && read_at_[i] == pass;
      const std::string_view op = most ? "Max" : softmax ? "Sum" : std::string_view(node(i).op);
      const DataType dtype = nodes_[i].dtype;
      folds.push_back({fmt::format("{}{}",
                                   most      ? "most"
                                   : softmax ? "sum"
                                             : "v",
                                   i),
                       std::string(CTypeOf(dtype)), FoldOf(op, dtype), i, ""});
      Line(fmt::format("{} part_{} = {};", folds.back().type, folds.back().name, folds.back().fold.start));
    }
    OpenRow();
    std::set<std::string> known;
    for (const size_t i : members_) {
      if (needed.contains(i)) Compute(i, "e", &known);
    }
    for (Fold& fold : folds) {
      fold.value = Operand(fold.member, 0, "e", &known);
      if (fold.name.starts_with("sum"))
        fold.value = fmt::format("f::Exp()({} - most{})", fold.value, fold.member);
      Line(fmt::format("part_{} = {}()(part_{}, {});", fold.name, fold.fold.functor, fold.name, fold.value));
    }
    Close();
    for (const Fold& fold : folds) {
      const std::string mean = node(fold.member).op == "Mean" ? fmt::format(" / {}", run_) : "";
      Line(fmt::format("const {} {} = Joined<{}, {}>(part_{}){};", fold.type, fold.name, lanes_,
                       fold.fold.functor, fold.name, mean));
    }
  }

  void OpenRow() {
    Open(fmt::format("for (long long j = lane; j < {}; j += {}) {{", run_, lanes_));
    Line(fmt::format("const long long e = r * {} + j;", run_));
  }

  void WriteResults() {
    std::set<size_t> needed;
    for (const size_t i : members_) {
      if (nodes_[i].output >= 0 && !OneARow(i)) needed.insert(i);
    }
    needed = NeededFor(needed);
    Line("if (!active) return;");
    if (!needed.empty()) {
      OpenRow();
      std::set<std::string> known;
      for (const size_t i : members_) {
        if (!needed.contains(i)) continue;
        Compute(i, "e", &known);
        Store(i, "e");
      }
      Close();
    }
    Open("if (lane == 0) {");
    for (const size_t i : members_) {
      if (OneARow(i)) Store(i, "r");
    }
    Close();
  }

  const Graph& graph_;
  const Schedule& schedule_;
  const Command& command_;
  const std::span<const FusedNode> nodes_;
  const std::span<const size_t> members_;
  const int threads_;
  UnitText unit_;
  int64_t elements_ = 0, run_ = 1;
  int64_t lanes_ = 1;  // threads of a row
  std::map<size_t, int> level_,
      read_at_;  // by node: passes before its result is known, before it is computed
  int passes_ = 0;
  std::map<std::pair<FusedPointer::Of, int>, size_t> address_;
  std::map<std::string, size_t> loads_;  // by text: its number
  int indent_ = 0;
};

}  // namespace

UnitText WriteUnitText(const Graph& graph, const Schedule& schedule, const Command& command,
                       std::span<const size_t> members, int threads) {
  return UnitWriter(graph, schedule, command, members, threads).Write();
}

}  // namespace lanescope::exec::cuda
