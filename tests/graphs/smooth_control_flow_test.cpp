// SPDX-License-Identifier: Apache-2.0
// First and second derivatives through loops, branches, and lists and arrays of tensors, in double precision:
// beside TensorFlow's values (tests/golden/ops/smooth_control_flow.json.gz and old_loops.json.gz) and beside
// differences. In each graph "total" is a number, g0, ... are its gradients by the feeds, "squares" is the
// sum of their squares, and h0, ... are its gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/expand/functions.h"
#include "core/graph/graph_io.h"
#include "graphs/gradients.h"
#include "graphs/ops.h"
#include "tests/graphs/differences.h"
#include "tests/support/recorded_cases.h"

namespace lanescope::graphs {
namespace {

struct Case {
  std::string name;
  std::vector<std::string> xs = {"x", "w"};
  std::string file = "smooth_control_flow";
  bool twice = true;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// A graph with derivatives of its own, and what they are called.
struct Derived {
  Graph graph;
  std::string squares;
  std::vector<std::string> first, second;
};

class SmoothControlFlow : public testing::TestWithParam<Case> {
 protected:
  struct Step {
    Tensors feeds;
    InlineOptions options;
    Json fetches;
  };

  void SetUp() override {
    const Json cases = test::RecordedCases("ops/" + GetParam().file);
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

  static std::vector<Endpoint> Endpoints(const Graph& graph, const std::vector<std::string>& names) {
    std::vector<Endpoint> endpoints;
    for (const std::string& name : names) endpoints.push_back(graph.FindEndpoint(name));
    return endpoints;
  }

  static std::vector<Endpoint> GradientsOf(Scope* s, Endpoint y) {
    std::vector<Endpoint> dense;
    for (const Gradient& g : Gradients(*s, {y}, Endpoints(s->graph(), GetParam().xs), {.name = "ours"}))
      dense.push_back(g.ToDense(*s));
    return dense;
  }

  Endpoint SumOfSquares(Scope* s, const std::vector<Endpoint>& gradients) const {
    std::vector<Endpoint> sums;
    for (size_t i = 0; i < gradients.size(); ++i) {
      std::vector<int> axes;
      for (int k = 0; k < steps_[0].feeds.at(GetParam().xs[i]).shape().rank(); ++k) axes.push_back(k);
      sums.push_back(op::Sum(*s, op::Square(*s, gradients[i]), axes));
    }
    return op::AddN(*s, sums);
  }

  Derived Derive(Graph graph) const {
    Scope s(std::move(graph));
    Derived derived;
    const std::vector<Endpoint> first = GradientsOf(&s, s.graph().FindEndpoint("total"));
    for (const Endpoint g : first) derived.first.push_back(s.graph().TensorName(g));
    if (GetParam().twice) {
      const Endpoint squares = SumOfSquares(&s, first);
      derived.squares = s.graph().TensorName(squares);
      for (const Endpoint h : GradientsOf(&s, squares)) derived.second.push_back(s.graph().TensorName(h));
    }
    derived.graph = s.Take();
    return derived;
  }

  // The nodes that a step of this graph runs.
  static Graph Expanded(const Graph& graph, const Step& step, std::vector<std::string> needed) {
    InlineOptions options = step.options;
    options.needed = std::move(needed);
    return InlineFunctions(graph, options);
  }
  static std::vector<std::string> NeededBy(const Derived& derived) {
    std::vector<std::string> needed = {"total"};
    if (!derived.squares.empty()) needed.push_back(derived.squares);
    for (const auto* names : {&derived.first, &derived.second})
      needed.insert(needed.end(), names->begin(), names->end());
    return needed;
  }

  static void ExpectTensorFlows(const Graph& graph, const Step& step, const std::vector<std::string>& names,
                                const std::string& letter) {
    if (names.empty()) return;
    exec::test::ReferenceInterpreter session(graph);
    const std::vector<Tensor> values = session.Run(step.feeds, names);
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string theirs = letter + std::to_string(i) + ":0";
      ExpectNear(values[i], TensorOf(step.fetches.at(theirs)), 1e-9, 1e-9, theirs);
    }
  }

  Graph graph_;
  std::vector<Step> steps_;
};

TEST_P(SmoothControlFlow, DerivativesAreTensorFlows) {
  const Derived derived = Derive(std::move(graph_));
  for (const Step& step : steps_) {
    const Graph graph = Expanded(derived.graph, step, NeededBy(derived));
    ExpectTensorFlows(graph, step, derived.first, "g");
    ExpectTensorFlows(graph, step, derived.second, "h");
  }
}

TEST_P(SmoothControlFlow, DerivativesAreWhatDifferencesSay) {
  const Derived derived = Derive(std::move(graph_));
  for (const Step& step : steps_) {
    const Graph graph = Expanded(derived.graph, step, NeededBy(derived));
    for (size_t i = 0; i < GetParam().xs.size(); ++i) {
      const std::string& x = GetParam().xs[i];
      ExpectDerivative(graph, step.feeds, "total", x, derived.first[i]);
      if (!derived.squares.empty())
        ExpectDerivative(graph, step.feeds, derived.squares, x, derived.second[i]);
    }
  }
}

TEST_P(SmoothControlFlow, DerivativesOfWhatIsUnrolledAreTensorFlows) {
  for (const Step& step : steps_) {
    const Derived derived = Derive(Expanded(graph_, step, {"total"}));
    ExpectTensorFlows(derived.graph, step, derived.first, "g");
    ExpectTensorFlows(derived.graph, step, derived.second, "h");
  }
}

// Law: it makes no difference who wrote the first gradients.
TEST_P(SmoothControlFlow, DerivativesOfTensorFlowsGradientsAreTensorFlows) {
  if (!GetParam().twice) GTEST_SKIP() << "TensorFlow has no second derivative of these";
  Scope s(std::move(graph_));
  std::vector<std::string> names;
  for (const Endpoint h : GradientsOf(&s, s.graph().FindEndpoint("squares")))
    names.push_back(s.graph().TensorName(h));
  const Graph graph = s.Take();
  for (const Step& step : steps_) ExpectTensorFlows(Expanded(graph, step, names), step, names, "h");
}

INSTANTIATE_TEST_SUITE_P(Recorded, SmoothControlFlow,
                         testing::Values(Case{.name = "loop"}, Case{.name = "branches"},
                                         Case{.name = "branch in branch"}, Case{.name = "nested"},
                                         Case{.name = "until data say"}, Case{.name = "array"},
                                         Case{.name = "lists", .xs = {"x"}},
                                         Case{.name = "smooth array", .file = "old_loops", .twice = false}),
                         [](const auto& each) {
                           std::string name = each.param.name;
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace lanescope::graphs
