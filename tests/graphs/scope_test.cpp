// SPDX-License-Identifier: Apache-2.0
// Family D of the cases: scopes of devices, and with them names, colocation and control dependencies.
#include "graphs/scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs/ops.h"
#include "tests/core/base/expect_error.h"

namespace lanescope::graphs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The device of an op that is added now.
std::string Dev(Scope& s) { return s.graph().node(op::NoOp(s).node).device; }
const Node& NodeAt(const Scope& s, Endpoint e) { return s.graph().node(e.node); }
std::vector<std::string> ControlsOf(const Scope& s, Endpoint e) {
  std::vector<std::string> names;
  for (const NodeId id : NodeAt(s, e).control_inputs) names.push_back(s.graph().node(id).name);
  return names;
}

TEST(DeviceScopes, D01ToD04OneScope) {
  Scope s;
  EXPECT_EQ(Dev(s), "");
  {
    const auto on = s.Device("/device:GPU:0");
    EXPECT_EQ(Dev(s), "/device:GPU:0");
  }
  {
    const auto on = s.Device(DeviceSpec{.job = "worker", .replica = 2, .task = 0, .type = "CPU", .index = 3});
    EXPECT_EQ(Dev(s), "/job:worker/replica:2/task:0/device:CPU:3");
  }
  {
    const auto on = s.Device("/gpu:1");
    EXPECT_EQ(Dev(s), "/device:GPU:1");
  }
  EXPECT_EQ(Dev(s), "");
}

TEST(DeviceScopes, D05ToD08TheInnerScopeWinsFieldByFieldAndTheOuterFills) {
  Scope s;
  {
    const auto outer = s.Device("/job:worker/replica:2/device:CPU:1");
    EXPECT_EQ(Dev(s), "/job:worker/replica:2/device:CPU:1");
    {
      const auto inner = s.Device("/job:worker/replica:2/device:GPU:2");
      EXPECT_EQ(Dev(s), "/job:worker/replica:2/device:GPU:2");
    }
    {
      const auto inner = s.Device("/replica:3/task:1");
      EXPECT_EQ(Dev(s), "/job:worker/replica:3/task:1/device:CPU:1");
    }
    EXPECT_EQ(Dev(s), "/job:worker/replica:2/device:CPU:1");
  }
  {
    const auto outer = s.Device("/device:GPU:7");
    const auto inner = s.Device("/device:GPU:*");
    EXPECT_EQ(Dev(s), "/device:GPU:7");
  }
  {
    const auto outer = s.Device("/device:CPU:*");
    const auto inner = s.Device("/device:CPU:5");
    EXPECT_EQ(Dev(s), "/device:CPU:5");
  }
  const auto outer = s.Device("/job:ps");
  const auto nothing = s.Device("");
  EXPECT_EQ(Dev(s), "/job:ps");
}

TEST(DeviceScopes, D09AndD17FunctionsOfTheOp) {
  Scope s;
  const auto by_op = s.Device([](const Node& node) -> std::string {
    return node.op == "MatMul" ? "/device:GPU:0" : "/device:CPU:0";
  });
  const Endpoint a = op::Const(s, Tensor(DataType::kFloat, {2, 2}));
  const Endpoint b = op::Const(s, Tensor(DataType::kFloat, {2, 2}));
  const Endpoint c = op::MatMul(s, a, b);
  EXPECT_EQ(NodeAt(s, a).device, "/device:CPU:0");
  EXPECT_EQ(NodeAt(s, b).device, "/device:CPU:0");
  EXPECT_EQ(NodeAt(s, c).device, "/device:GPU:0");

  Scope t;
  const auto variables_on_cpu = t.Device([](const Node& node) -> std::string {
    return node.op == "VariableV2" ? "/device:CPU:0" : "/device:GPU:0";
  });
  const Variable& v = t.NewVariable(3.0, {.name = "v"});
  EXPECT_EQ(NodeAt(t, v.ref).device, "/device:CPU:0");
  EXPECT_EQ(NodeAt(t, v.initializer).device, "/device:CPU:0");
  EXPECT_EQ(NodeAt(t, v.value).device, "/device:CPU:0");
  EXPECT_EQ(NodeAt(t, v.initial_value).device, "/device:GPU:0");
}

TEST(DeviceScopes, D10D12AndD13AnOuterFunctionSeesWhatInnerScopesSaidAndReplacesIt) {
  Scope s;
  std::vector<std::string> seen;
  const auto overwrite = s.Device([&seen](const Node& node) -> std::string {
    seen.push_back(node.device);
    return "/job:overwrite";
  });
  EXPECT_EQ(Dev(s), "/job:overwrite");
  const auto inner = s.Device("/job:ps");
  EXPECT_EQ(Dev(s), "/job:overwrite");
  const auto barrier = s.NoDevice();
  EXPECT_EQ(Dev(s), "");
  const auto beyond = s.Device("/task:1");
  EXPECT_EQ(Dev(s), "/task:1");
  EXPECT_THAT(seen, ElementsAre("", "/job:ps"));
}

TEST(DeviceScopes, D11NoDeviceKeepsOuterScopesOut) {
  Scope s;
  const auto outer = s.Device("/job:worker/device:GPU:1");
  {
    const auto none = s.NoDevice();
    EXPECT_EQ(Dev(s), "");
    const auto inner = s.Device("/device:CPU:0");
    EXPECT_EQ(Dev(s), "/device:CPU:0");
  }
  EXPECT_EQ(Dev(s), "/job:worker/device:GPU:1");
}

TEST(DeviceScopes, D14ScopesCloseInOrder) {
  Scope s;
  auto outer = s.Device("/device:GPU:0");
  auto inner = s.Device("/device:GPU:1");
  EXPECT_THAT(ErrorOf([&] { outer.Exit(); }),
              "FailedPrecondition: Exiting device scope without proper scope nesting.");
  EXPECT_EQ(Dev(s), "/device:GPU:1");
  inner.Exit();
  outer.Exit();
  EXPECT_EQ(Dev(s), "");
  // A guard that goes too early cannot throw; the next op does.
  Scope t;
  auto first = std::make_unique<ScopeGuard>(t.Device("/device:GPU:0"));
  const auto second = t.Device("/device:GPU:1");
  first.reset();
  EXPECT_THAT(ErrorOf([&] { op::NoOp(t); }), HasSubstr("without proper scope nesting"));
}

TEST(ColocationScopes, D15AndD16TheDeviceIsTheOthers) {
  Scope s;
  Endpoint v;
  {
    const auto cpu = s.Device("/device:CPU:0");
    v = op::Const(s, 1.0, {.name = "v"});
  }
  const auto gpu = s.Device("/device:GPU:0");
  {
    const auto with = s.ColocateWith(v);
    const Node& node = NodeAt(s, op::NoOp(s));
    EXPECT_EQ(node.device, "/device:CPU:0");
    EXPECT_THAT(node.StringListAttr("_class"), ElementsAre("loc:@v"));
  }
  const Endpoint w = op::Const(s, 1.0, {.name = "a"});
  const auto with_v = s.ColocateWith(v);
  const auto with_w = s.ColocateWith(w);
  const Endpoint both = op::NoOp(s);
  EXPECT_THAT(NodeAt(s, both).StringListAttr("_class"), ElementsAre("loc:@a", "loc:@v"));
  EXPECT_EQ(NodeAt(s, both).device, "/device:GPU:0");
  {
    const auto only_v = s.ColocateWith(v, /*ignore_existing=*/true);
    EXPECT_THAT(NodeAt(s, op::NoOp(s)).StringListAttr("_class"), ElementsAre("loc:@v"));
  }
  // Groups are those of the other op.
  const auto only_both = s.ColocateWith(both, true);
  EXPECT_THAT(NodeAt(s, op::NoOp(s)).StringListAttr("_class"), ElementsAre("loc:@a", "loc:@v"));
  const auto none = s.NoColocation();
  EXPECT_EQ(NodeAt(s, op::NoOp(s)).FindAttr("_class"), nullptr);
}

TEST(ColocationScopes, UpdatesLiveWithTheirVariable) {
  Scope s;
  const auto cpu = s.Device("/cpu:0");
  const Variable& v = s.NewVariable(1.0, {.name = "v"});
  const auto gpu = s.Device("/gpu:0");
  const Endpoint delta = op::Const(s, 2.0);
  const Endpoint update = op::AssignAdd(s, v.ref, delta);
  EXPECT_EQ(NodeAt(s, delta).device, "/device:GPU:0");
  EXPECT_EQ(NodeAt(s, update).device, "/device:CPU:0");
  EXPECT_THAT(NodeAt(s, update).StringListAttr("_class"), ElementsAre("loc:@v"));
}

TEST(NameScopes, NamesAreUniqueAndNest) {
  Scope s;
  const auto name = [&s](Endpoint e) { return NodeAt(s, e).name; };
  EXPECT_EQ(name(op::NoOp(s)), "NoOp");
  EXPECT_EQ(name(op::NoOp(s)), "NoOp_1");
  EXPECT_EQ(name(op::NoOp(s, {.name = "noop"})), "noop_2");  // case does not tell names apart
  {
    const auto tower = s.Name("tower");
    EXPECT_EQ(name(op::NoOp(s)), "tower/NoOp");
    const auto inner = s.Name("inner");
    EXPECT_EQ(name(op::NoOp(s)), "tower/inner/NoOp");
    const auto root = s.Name("");
    EXPECT_EQ(name(op::NoOp(s, {.name = "x"})), "x");
    const auto again = s.Name("tower/");
    EXPECT_EQ(name(op::NoOp(s)), "tower/NoOp_1");
  }
  const auto second = s.Name("tower");
  EXPECT_EQ(name(op::NoOp(s)), "tower_1/NoOp");
  EXPECT_THAT(ErrorOf([&] { (void)s.Name("a b"); }), HasSubstr("'a b' is not a valid scope name"));
  Scope root;
  EXPECT_THAT(ErrorOf([&] { (void)root.Name("-a"); }), HasSubstr("InvalidArgument"));
}

// x and y may run in any order, whatever the scope; z was there before it.
TEST(ControlScopes, G07OnlyOpsMadeInsideWait) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x"});
  const Endpoint y = op::Placeholder(s, DataType::kFloat, {.name = "y"});
  const Endpoint z = op::Placeholder(s, DataType::kFloat, {.name = "z"});
  const Endpoint before = op::Neg(s, z, {.name = "before"});
  Endpoint sum;
  {
    const auto after = s.ControlDependencies({x, y});
    sum = op::AddV2(s, before, z, {.name = "sum"});
  }
  EXPECT_THAT(ControlsOf(s, sum), ElementsAre("x", "y"));
  for (const Endpoint op : {x, y, z, before, op::Neg(s, sum)}) EXPECT_THAT(ControlsOf(s, op), IsEmpty());
}

TEST(ControlScopes, OpsInsideWaitOnce) {
  Scope s;
  const Endpoint a = op::NoOp(s, {.name = "a"});
  const Endpoint b = op::NoOp(s, {.name = "b"});
  const Endpoint x = op::Const(s, 1.0, {.name = "x"});
  const auto after_a = s.ControlDependencies({a});
  const Endpoint c = op::Identity(s, x, {.name = "c"});
  EXPECT_THAT(ControlsOf(s, c), ElementsAre("a"));
  // A node that waits by its input does not wait again.
  EXPECT_THAT(ControlsOf(s, op::Identity(s, c)), IsEmpty());
  {
    const auto after_b = s.ControlDependencies({b, x});
    EXPECT_THAT(ControlsOf(s, op::NoOp(s)), ElementsAre("a", "b", "x"));
    EXPECT_THAT(ControlsOf(s, op::Identity(s, x)), ElementsAre("a", "b"));
    const auto none = s.NoControlDependencies();
    EXPECT_THAT(ControlsOf(s, op::NoOp(s)), IsEmpty());
    const auto inner = s.ControlDependencies({b});
    EXPECT_THAT(ControlsOf(s, op::NoOp(s)), ElementsAre("b"));
  }
  EXPECT_THAT(ControlsOf(s, op::NoOp(s)), ElementsAre("a"));
}

// An inner scope does not name again what an outer one names, so that an op whose input was added in the
// outer one waits for neither, as in TensorFlow 2.15.
TEST(ControlScopes, OuterScopesNameFirst) {
  Scope s;
  const Endpoint a = op::NoOp(s, {.name = "a"});
  const Endpoint b = op::NoOp(s, {.name = "b"});
  const auto outer = s.ControlDependencies({a});
  const Endpoint c = op::Const(s, 1.0, {.name = "c"});
  EXPECT_THAT(ControlsOf(s, c), ElementsAre("a"));
  const auto inner = s.ControlDependencies({a, b, b});
  EXPECT_THAT(ControlsOf(s, op::NoOp(s)), ElementsAre("a", "b"));
  EXPECT_THAT(ControlsOf(s, op::Identity(s, c)), ElementsAre("b"));
}

}  // namespace
}  // namespace lanescope::graphs
