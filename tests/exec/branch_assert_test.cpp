// An assertion on one side of a branch that data decide says what it has to say where that side is taken.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lanescope::exec::test
