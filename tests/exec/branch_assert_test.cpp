// SPDX-License-Identifier: Apache-2.0
// An effect on one side of a branch that data decide comes where that side is taken: an assertion speaks, a
// variable changes.
#include <gtest/gtest.h>

#include <cmath>

#include "core/expand/functions.h"
#include "core/graph/graph_io.h"
#include "tests/exec/session_harness.h"

namespace lanescope::exec::test {
namespace {

// pred ? x, which is less than 10 : -x
constexpr char kBranch[] = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape {} } } }
node { name: "pred" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } attr { key: "shape" value { shape {} } } }
node { name: "sides" op: "Switch" input: "x" input: "pred" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "ten" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 10 } } } }
node { name: "less" op: "Less" input: "sides:1" input: "ten" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "check" op: "Assert" input: "less" input: "sides:1" attr { key: "T" value { list { type: DT_FLOAT } } } }
node { name: "checked" op: "Identity" input: "sides:1" input: "^check" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "negated" op: "Neg" input: "sides" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "result" op: "Merge" input: "negated" input: "checked" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "N" value { i: 2 } } }
)";

TEST(BranchAssert, FailsWhereItsSideIsTaken) {
  const Machine machine = VirtualMachine(1, 1);
  const Graph graph = InlineFunctions(ParseGraphText(kBranch));
  const Placement placement = PlaceAll(graph, machine.host());
  Session session(graph, placement, machine);
  const auto run = [&](float x, bool pred) {
    const std::map<std::string, Tensor> feeds{{"x", Tensor::Scalar(x)}, {"pred", Tensor::Scalar(pred)}};
    return session.Run({feeds, {"result"}, {}}).fetches[0].data<float>()[0];
  };
  EXPECT_EQ(run(5, true), 5);
  EXPECT_EQ(run(20, false), -20);
  ExpectError(Code::kInvalidArgument, {"assertion failed: [20.000000]", "check"}, [&] { run(20, true); });
}

// pred ? v += x : v of a variable, and pred ? h : h -= x of one with a handle, as TensorFlow 1's cond writes
// them.
constexpr char kUpdates[] = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape {} } } }
node { name: "pred" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } attr { key: "shape" value { shape {} } } }
node { name: "sides" op: "Switch" input: "x" input: "pred" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape {} } } }
node { name: "set_v" op: "Assign" input: "v" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "v_sides" op: "RefSwitch" input: "v" input: "pred" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "add" op: "AssignAdd" input: "v_sides:1" input: "sides:1" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "v_after" op: "RefMerge" input: "v_sides" input: "add" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "N" value { i: 2 } } }
node { name: "v_now" op: "Identity" input: "v" input: "^v_after" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "h" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape {} } } }
node { name: "set_h" op: "AssignVariableOp" input: "h" input: "x" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "h_sides" op: "Switch" input: "h" input: "pred" attr { key: "T" value { type: DT_RESOURCE } } }
node { name: "set" op: "AssignSubVariableOp" input: "h_sides" input: "sides" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "no" op: "Identity" input: "sides" input: "^set" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "done" op: "Merge" input: "no" input: "sides:1" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "N" value { i: 2 } } }
node { name: "h_now" op: "ReadVariableOp" input: "h" input: "^done" attr { key: "dtype" value { type: DT_FLOAT } } }
)";

TEST(BranchUpdate, ChangesTheVariableWhereItsSideIsTaken) {
  const Machine machine = VirtualMachine(1, 1);
  const Graph graph = InlineFunctions(ParseGraphText(kUpdates));
  const Placement placement = PlaceAll(graph, machine.host());
  Session session(graph, placement, machine);
  session.Run({{{"x", Tensor::Scalar(-0.0f)}}, {}, {"set_v", "set_h"}});
  const auto run = [&](float x, bool pred) {
    const std::map<std::string, Tensor> feeds{{"x", Tensor::Scalar(x)}, {"pred", Tensor::Scalar(pred)}};
    std::vector<float> values;
    for (const Tensor& fetch : session.Run({feeds, {"v_after", "v_now", "h_now"}, {}}).fetches)
      values.push_back(fetch.data<float>()[0]);
    return values;
  };
  using Values = std::vector<float>;
  const Values untouched = run(5, false);
  EXPECT_EQ(untouched, (Values{0, 0, -5}));
  EXPECT_TRUE(std::signbit(untouched[1]));  // -0 stays what it is
  EXPECT_EQ(run(2, true), (Values{2, 2, -5}));
  EXPECT_EQ(run(3, true), (Values{5, 5, -5}));
  EXPECT_EQ(run(7, false), (Values{5, 5, -12}));
}

}  // namespace
}  // namespace lanescope::exec::test
