// SPDX-License-Identifier: Apache-2.0
// A body works on elements one by one, or on rows: then it goes over a row once for each reduction that needs
// the one before, and once more for results, and computes again what it needs each time. What goes to memory
// is written in the last pass alone, so that a result may lie where an operand has lain.
#include "exec/cuda/fused_unit.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "exec/cuda/fused_expression.h"
#include "exec/cuda/fused_members.h"
#include "exec/kernels/optimizer_plan.h"

namespace lanescope::exec::cuda {
namespace {

constexpr int kElementsOfThread = 4;
constexpr int kPassesOfSoftmax = 2;  // the largest element of a row, then the sum

class UnitWriter : private MemberText {
 public:
  UnitWriter(const Graph& graph, const Schedule& schedule, const Command& command,
             std::span<const size_t> members, int threads)
      : MemberText(graph, schedule, command, members, kPassesOfSoftmax), threads_(threads) {}

  UnitText Write() {
    FindRows();
    FindLevels();
    if (run_ == 1) {
      WriteElements();
    } else {
      WriteRows();
    }
    unit_.body = std::move(body_);
    unit_.pointers = std::move(pointers_);
    return std::move(unit_);
  }

 private:
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

  void Update(size_t i, Names* known) {
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
    for (const size_t i : members_) {
      if (RoleOf(i) == FusionRole::kUpdate) BeginUpdate(i);
    }
    Line("const long long count = static_cast<long long>(at[0]);");
    Line(fmt::format("const long long first = block * {};", block));
    Line(fmt::format("const long long end = first + {} < count ? first + {} : count;", block, block));
    Open("for (long long i = first + threadIdx.x; i < end; i += kThreads) {");
    Names known;
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
    Line(fmt::format("const int lane = static_cast<int>(threadIdx.x) % {};", lanes_));
    Line(fmt::format("const long long row = block * {} + static_cast<int>(threadIdx.x) / {};", rows, lanes_));
    Line("const bool active = row < static_cast<long long>(at[0]);");
    // Threads beyond the last row take part in joining, with values of row 0 that nobody looks at.
    Line("const long long r = active ? row : 0;");
    Names known;
    ComputeOnesARow(0, &known);
    for (int pass = 0; pass < passes_; ++pass) {
      WritePass(pass);
      ComputeOnesARow(pass + 1, &known);
    }
    WriteResults();
  }

  // Layouts known after so many passes.
  void ComputeOnesARow(int level, Names* known) {
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
      if (!IsFolded(i, pass)) continue;
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
    Names known;
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
      Names known;
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

  const int threads_;
  UnitText unit_;
  int64_t run_ = 1;
  int64_t lanes_ = 1;  // threads of a row
};

}  // namespace

UnitText WriteUnitText(const Graph& graph, const Schedule& schedule, const Command& command,
                       std::span<const size_t> members, int threads) {
  return UnitWriter(graph, schedule, command, members, threads).Write();
}

}  // namespace lanescope::exec::cuda
