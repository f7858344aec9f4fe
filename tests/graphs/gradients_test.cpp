// SPDX-License-Identifier: Apache-2.0
// Gradients of small graphs beside what TensorFlow wrote and computed for them (tests/golden/gradients), and
// beside differences of the graphs' own values.
#include "graphs/gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "core/graph/graph_io.h"
#include "graphs/ops.h"
#include "tests/core/base/expect_error.h"
#include "tests/exec/reference_interpreter.h"
#include "tests/graphs/differences.h"
#include "tests/graphs/golden.h"
#include "tests/support/recorded_cases.h"

namespace lanescope::graphs {
namespace {

using exec::test::ReferenceInterpreter;

void SetNumber(Tensor* tensor, int64_t i, double value) {
  if (tensor->dtype() == DataType::kFloat) {
    tensor->data<float>()[i] = static_cast<float>(value);
  } else {
    tensor->data<double>()[i] = value;
  }
}

// One case: TensorFlow's graph, and ours made from the part of it that is not gradients.
class GradientCase {
 public:
  explicit GradientCase(const Json& test)
      : test_(test),
        below_(test.at("below").get<std::string>()),
        theirs_(ParseGraphText(test.at("graph").get<std::string>())) {
    for (const auto& [name, value] : test.at("feeds").items()) feeds_[name] = TensorOf(value);
    Graph forward;
    std::map<NodeId, NodeId> numbers;
    for (const NodeId id : theirs_.node_ids()) {
      Node node = theirs_.node(id);
      if (node.name.starts_with(below_)) continue;
      for (Endpoint& input : node.inputs) input.node = numbers.at(input.node);
      for (NodeId& control : node.control_inputs) control = numbers.at(control);
      numbers[id] = forward.AddNode(std::move(node));
    }
    scope_.emplace(std::move(forward));
    const auto endpoints = [&](const Json& names) {
      std::vector<Endpoint> list;
      for (const auto& name : names) list.push_back(scope_->graph().FindEndpoint(name.get<std::string>()));
      return list;
    };
    ys_ = endpoints(test.at("ys"));
    GradientOptions options{.colocate_with_ops = test.at("colocate").get<bool>()};
    for (size_t i = 0; i < ys_.size(); ++i) {
      options.grad_ys.push_back(scope_->graph().FindEndpoint("dy" + std::to_string(i)));
    }
    gradients_ = Gradients(*scope_, ys_, endpoints(test.at("xs")), options);
  }

  // TensorFlow leaves nodes behind that nothing needs (shapes that it looked at); those do not count.
  void ExpectSameNodes() {
    std::vector<std::string> roots;
    for (const Gradient& gradient : gradients_) {
      if (gradient.empty()) continue;
      const std::vector<Endpoint> parts =
          gradient.is_slices() ? std::vector<Endpoint>{gradient.slices().values, gradient.slices().indices}
                               : std::vector<Endpoint>{gradient.dense()};
      for (const Endpoint part : parts) roots.push_back(scope_->graph().node(part.node).name);
    }
    ExpectEqualNodes(scope_->graph(), theirs_, roots,
                     [this](const Node& node) { return node.name.starts_with(below_); });
  }

  void ExpectSameValues() {
    const Json& within = test_.at("tolerance");
    const double relative = within.at("rtol").get<double>(), absolute = within.at("atol").get<double>();
    for (size_t i = 0; i < gradients_.size(); ++i) {
      const std::string x = test_.at("xs")[i].get<std::string>();
      const Json& wanted = test_.at("gradients").at(x);
      const Gradient& gradient = gradients_[i];
      ASSERT_EQ(gradient.empty(), wanted.is_null()) << x;
      if (gradient.empty()) continue;
      ASSERT_EQ(gradient.is_slices(), wanted.contains("indices")) << x;
      if (gradient.is_slices()) {
        ExpectNear(Run(gradient.slices().values), TensorOf(wanted.at("values")), relative, absolute,
                   x + " values");
        ExpectNear(Run(gradient.slices().indices), TensorOf(wanted.at("indices")), 0, 0, x + " indices");
      } else {
        ExpectNear(Run(gradient.dense()), TensorOf(wanted), relative, absolute, x);
      }
    }
  }

  // Compares gradients of the weighted sum of all ys, by every element of every x.
  void ExpectDifferences() {
    for (size_t i = 0; i < gradients_.size(); ++i) {
      const std::string x = test_.at("xs")[i].get<std::string>();
      const Tensor& at = feeds_.at(x);
      const bool is_double =
          at.dtype() == DataType::kDouble && !test_.at("name").get<std::string>().starts_with("Cast");
      const double step = is_double ? 1e-5 : 1e-2, within = is_double ? 1e-7 : 2e-2;
      std::optional<Tensor> gradient;
      if (!gradients_[i].empty()) gradient = Run(gradients_[i].ToDense(*scope_));
      for (int64_t k = 0; k < at.NumElements(); ++k) {
        const double difference = (Loss(x, k, step) - Loss(x, k, -step)) / (2 * step);
        const double found = gradient ? NumberAt(*gradient, k) : 0;
        EXPECT_NEAR(found, difference, within * (1 + std::abs(difference))) << x << " element " << k;
      }
    }
  }

 private:
  Tensor Run(Endpoint e) const {
    ReferenceInterpreter session(scope_->graph());
    return session.Run(feeds_, {scope_->graph().TensorName(e)})[0];
  }

  double Loss(const std::string& x, int64_t k, double step) const {
    Tensors feeds = feeds_;
    feeds[x] = CopyOf(feeds.at(x));
    SetNumber(&feeds[x], k, NumberAt(feeds[x], k) + step);
    std::vector<std::string> names;
    for (const Endpoint& y : ys_) names.push_back(scope_->graph().TensorName(y));
    ReferenceInterpreter session(scope_->graph());
    const std::vector<Tensor> values = session.Run(feeds, names);
    double loss = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const Tensor& weights = feeds.at("dy" + std::to_string(i));
      for (int64_t j = 0; j < values[i].NumElements(); ++j)
        loss += NumberAt(values[i], j) * NumberAt(weights, j);
    }
    return loss;
  }

  const Json& test_;
  const std::string below_;
  const Graph theirs_;
  Tensors feeds_;
  std::optional<Scope> scope_;
  std::vector<Endpoint> ys_;
  std::vector<Gradient> gradients_;
};

class GoldenGradients : public testing::TestWithParam<std::string> {
 protected:
  template <typename Check>
  void ForEachCase(Check check) {
    const Json cases = test::RecordedCases("gradients/" + GetParam());
    ASSERT_FALSE(cases.empty());
    for (const Json& test : cases) {
      const std::string name = test.at("name").get<std::string>();
      SCOPED_TRACE(name);
      try {
        GradientCase gradient(test);
        check(gradient, name);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
};

TEST_P(GoldenGradients, AreTensorFlowsNodeForNode) {
  ForEachCase([](GradientCase& gradient, const std::string& name) {
    // TensorFlow adds the rows up once for every use of their sum, and writes the second derivative of batch
    // normalisation by a tape, under names of its own.
    if (name != "GatherV2/of_product" && !name.starts_with("FusedBatchNormGrad")) gradient.ExpectSameNodes();
  });
}

TEST_P(GoldenGradients, HaveTensorFlowsValues) {
  ForEachCase([](GradientCase& gradient, const std::string&) { gradient.ExpectSameValues(); });
}

TEST_P(GoldenGradients, AreWhatDifferencesSay) {
  // Not what they are said to be: the gradient stops on purpose, or a step is differentiated through.
  const auto is_exception = [](const std::string& name) {
    return name == "StopGradient" || name.starts_with("Cast/int") || name.starts_with("FloorMod") ||
           name.starts_with("Round") || name.starts_with("Floor") ||
           // Mean and variance are arguments, but taken for those of x.
           (name.starts_with("FusedBatchNormGrad") && name.ends_with("True"));
  };
  ForEachCase([&](GradientCase& gradient, const std::string& name) {
    if (!is_exception(name)) gradient.ExpectDifferences();
  });
}

std::vector<std::string> Families() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Golden("gradients")))
    names.push_back(entry.path().stem().stem());
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Recorded, GoldenGradients, testing::ValuesIn(Families()),
                         [](const auto& file) { return file.param; });

TEST(Gradients, EveryOpThatHasOneInTensorFlowHasOneHere) {
  std::ifstream file(Golden("gradients.txt"));
  std::string op;
  int count = 0;
  while (file >> op) {
    ++count;
    EXPECT_TRUE(IsDifferentiable(op)) << op;
  }
  EXPECT_GT(count, 200);
}

TEST(Gradients, OpsWithoutOneAreNamed) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {3}});
  const Endpoint y = op::Snapshot(s, x, {.name = "odd"});
  EXPECT_THAT(
      ErrorOf([&] { Gradients(s, {y}, {x}); }),
      testing::HasSubstr("Unimplemented: No gradient defined for operation 'odd' (op type: Snapshot)"));
  const Endpoint prevented = op::PreventGradient(s, x, {.message = "not now"});
  EXPECT_THAT(ErrorOf([&] { Gradients(s, {prevented}, {x}); }),
              testing::HasSubstr("Gradient explicitly disabled at 'PreventGradient'. Reason: not now"));
  const Endpoint text = op::AsString(s, x);
  EXPECT_THAT(ErrorOf([&] { Gradients(s, {text}, {x}); }), testing::HasSubstr("must be numeric"));
  EXPECT_THAT(ErrorOf([&] {
                Gradients(s, {x}, {x}, {.grad_ys = {x, x}});
              }),
              testing::HasSubstr("Length mismatch"));
}

}  // namespace
}  // namespace lanescope::graphs
