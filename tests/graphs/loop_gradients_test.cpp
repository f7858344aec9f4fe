// SPDX-License-Identifier: Apache-2.0
// Gradients through loops, branches and lists of tensors that TensorFlow wrote
// (tests/golden/ops/control_flow.json.gz), without the gradients that it wrote: as nodes with functions, and
// of what is unrolled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/expand/functions.h"
#include "core/graph/graph_io.h"
#include "graphs/gradients.h"
#include "graphs/ops.h"
#include "tests/core/base/expect_error.h"
#include "tests/exec/reference_interpreter.h"
#include "tests/graphs/golden.h"
#include "tests/support/recorded_cases.h"

namespace lanescope::graphs {
namespace {

struct LoopCase {
  const char* name;
  const char* y;
  std::vector<std::string> xs, gradients;
  const char* file = "control_flow";
};

void PrintTo(const LoopCase& c, std::ostream* out) { *out << c.name; }

class LoopGradients : public testing::TestWithParam<LoopCase> {
 protected:
  struct Step {
    std::map<std::string, Tensor> feeds;
    InlineOptions options;
    Json fetches;
  };

  void SetUp() override {
    const Json cases = test::RecordedCases("ops/" + std::string(GetParam().file));
    const auto found =
        std::ranges::find_if(cases, [](const Json& each) { return each.at("name") == GetParam().name; });
    ASSERT_NE(found, cases.end());
    graph_ = ParseGraphText(found->at("graph").get<std::string>());
    for (const Json& step : found->at("steps")) {
      Step& made = steps_.emplace_back();
      made.fetches = step.at("fetches");
      for (const auto& [name, value] : step.at("feeds").items()) {
        made.feeds[name] = TensorOf(value);
        made.options.feeds[name].dtype = made.feeds[name].dtype();
        made.options.feeds[name].shape = made.feeds[name].shape();
      }
    }
  }

  // The names of the gradients, as tensors.
  static std::vector<std::string> AddGradients(Scope* s, std::string_view below = "ours") {
    std::vector<Endpoint> xs;
    for (const std::string& x : GetParam().xs) xs.push_back(s->graph().FindEndpoint(x));
    const Endpoint y = s->graph().FindEndpoint(GetParam().y);
    std::vector<std::string> names;
    for (const Gradient& gradient : Gradients(*s, {y}, xs, {.name = below}))
      names.push_back(s->graph().TensorName(gradient.ToDense(*s)));
    return names;
  }

  static void ExpectTensorFlows(const Graph& graph, const Step& step, const std::vector<std::string>& names) {
    exec::test::ReferenceInterpreter session(graph);
    const std::vector<Tensor> values = session.Run(step.feeds, names);
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string& g = GetParam().gradients[i];
      ExpectNear(values[i], TensorOf(step.fetches.at(g + ":0")), 1e-5, 1e-5, g);
    }
  }

  Graph graph_;
  std::vector<Step> steps_;
};

TEST_P(LoopGradients, OfTheNodesAreTensorFlowsValues) {
  Scope s(std::move(graph_));
  const std::vector<std::string> names = AddGradients(&s);
  const Graph graph = s.Take();
  for (Step& step : steps_) {
    step.options.needed = names;
    ExpectTensorFlows(InlineFunctions(graph, step.options), step, names);
  }
}

// Law: a file is the graph, its new functions too; and gradients may be asked for again.
TEST_P(LoopGradients, AreReadFromAFileAndAskedForTwice) {
  Scope first(std::move(graph_));
  AddGradients(&first);
  Scope s(ParseGraphText(GraphToText(first.Take())));
  const std::vector<std::string> names = AddGradients(&s, "again");
  const Graph graph = s.Take();
  Step& step = steps_.front();
  step.options.needed = names;
  ExpectTensorFlows(InlineFunctions(graph, step.options), step, names);
}

TEST_P(LoopGradients, OfWhatIsUnrolledAreTensorFlowsValues) {
  for (const Step& step : steps_) {
    Scope s(InlineFunctions(graph_, step.options));
    const std::vector<std::string> names = AddGradients(&s);
    ExpectTensorFlows(s.graph(), step, names);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, LoopGradients,
    testing::Values(LoopCase{"gradient", "Sum", {"x", "w"}, {"g0", "g1"}},
                    LoopCase{"branches", "Sum", {"x"}, {"g"}},
                    LoopCase{"gradient until data say", "total", {"x", "w"}, {"g0", "g1"}},
                    LoopCase{"gradient of branches", "total", {"x", "w"}, {"g0", "g1"}},
                    LoopCase{"gradient of nested", "total", {"x", "w"}, {"g0", "g1"}},
                    LoopCase{"gradient of lookup", "total", {"x"}, {"g0"}},
                    LoopCase{"gradient of cases", "total", {"x", "w"}, {"g0", "g1"}, "cases"}),
    [](const auto& each) {
      std::string name = each.param.name;
      std::ranges::replace(name, ' ', '_');
      return name;
    });

// Law: the loop gets what the gradient wants of it, and stays the node that it was.
TEST(LoopGradient, IsALoopThatRunsBackwards) {
  const Json cases = test::RecordedCases("ops/control_flow");
  const auto found = std::ranges::find_if(cases, [](const Json& c) { return c.at("name") == "array"; });
  Scope s(ParseGraphText(found->at("graph").get<std::string>()));
  const auto loops = [&] {
    std::multiset<std::string> ops;
    for (const Node& node : s.graph().nodes()) {
      if (node.op.ends_with("While") || node.op == "EmptyTensorList") ops.insert(node.op);
    }
    return ops;
  };
  EXPECT_EQ(loops(), (std::multiset<std::string>{"StatelessWhile"}));
  const std::vector<Gradient> gradients =
      Gradients(s, {s.graph().FindEndpoint("y")}, {s.graph().FindEndpoint("x")});
  ASSERT_FALSE(gradients[0].empty());
  EXPECT_EQ(loops().count("StatelessWhile"), 2u);
}

}  // namespace
}  // namespace lanescope::graphs
