// SPDX-License-Identifier: Apache-2.0
// Small graphs beside what TensorFlow computed for them (tests/golden/ops), run by the reference interpreter,
// and by a session: compiled, with planned memory, where the placer puts them.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/expand/functions.h"
#include "core/graph/graph_io.h"
#include "core/place/placer.h"
#include "exec/run/session.h"
#include "tests/exec/golden_cases.h"
#include "tests/exec/reference_interpreter.h"
#include "tests/exec/session_harness.h"

namespace lanescope::exec::test {
namespace {

using Json = nlohmann::json;

struct Tolerance {
  double relative = 0;
  double absolute = 0;
  bool Allows(double actual, double expected) const {
    if (std::isnan(expected)) return std::isnan(actual);
    if (std::isinf(expected) || std::isinf(actual)) return actual == expected;
    return std::abs(actual - expected) <= absolute + relative * std::abs(expected);
  }
};

// Fails at the first element that differs. A large tensor is given by some of its elements and their sum.
void ExpectEqual(const std::string& name, Tensor actual, const Json& expected, const Tolerance& tolerance) {
  ASSERT_EQ(NumpyName(actual.dtype()), expected.at("dtype").get<std::string>()) << name;
  ASSERT_EQ(actual.shape(), GoldenShape(expected.at("shape"))) << name << " " << actual.shape().ToString();
  const Json& values = expected.at("values");
  if (actual.dtype() == DataType::kString) {
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(actual.data<std::string>()[i], values[i].get<std::string>()) << name << " element " << i;
    }
    return;
  }
  VisitNumbers(actual, [&](auto* elements) {
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t at = expected.contains("indices") ? expected.at("indices")[i].get<size_t>() : i;
      if (values[i].is_number_integer() && std::is_integral_v<std::remove_pointer_t<decltype(elements)>>) {
        ASSERT_EQ(static_cast<int64_t>(elements[at]), values[i].get<int64_t>()) << name << " element " << at;
      } else {
        // The text of a float says as many digits as tell it from its neighbours, not its value in double.
        const auto wanted = static_cast<std::remove_pointer_t<decltype(elements)>>(GoldenNumber(values[i]));
        ASSERT_TRUE(tolerance.Allows(static_cast<double>(elements[at]), static_cast<double>(wanted)))
            << name << " element " << at << ": " << +elements[at] << " instead of " << values[i];
      }
    }
    if (!expected.contains("sum")) return;
    double sum = 0;
    double magnitude = 0;
    for (int64_t i = 0; i < actual.NumElements(); ++i) {
      sum += static_cast<double>(elements[i]);
      magnitude += std::abs(static_cast<double>(elements[i]));
    }
    const double slack = std::max(tolerance.relative, 1e-12) * magnitude +
                         tolerance.absolute * static_cast<double>(actual.NumElements());
    ASSERT_NEAR(sum, GoldenNumber(expected.at("sum")), slack) << name << " sum";
  });
}

std::vector<std::string> NamesOf(const Json& json) { return json.get<std::vector<std::string>>(); }

// A session with the interface of the interpreter.
class SessionRunner {
 public:
  explicit SessionRunner(const Graph& graph)
      : placement_(PlaceGraph(graph, machine_, {})), session_(graph, placement_, machine_) {}

  std::vector<Tensor> Run(const std::map<std::string, Tensor>& feeds, const std::vector<std::string>& fetches,
                          const std::vector<std::string>& targets = {}) {
    return session_.Run({feeds, fetches, targets}).fetches;
  }

 private:
  const Machine machine_ = FastMachine(1);
  const Placement placement_;
  Session session_;
};

template <typename Runner>
void RunCase(const Json& test) {
  const Graph graph = InlineFunctions(ParseGraphText(test.at("graph").get<std::string>()));
  Runner session(graph);
  const Json& within = test.at("tolerance");
  const Tolerance tolerance{within.at("rtol").get<double>(), within.at("atol").get<double>()};
  for (const std::string& target : NamesOf(test.at("init"))) session.Run({}, {}, {target});
  for (const Json& step : test.at("steps")) {
    std::vector<std::string> fetches;
    for (const auto& [name, value] : step.at("fetches").items()) fetches.push_back(name);
    const std::vector<Tensor> results =
        session.Run(GoldenTensors(step.at("feeds")), fetches, NamesOf(step.at("targets")));
    for (size_t i = 0; i < fetches.size(); ++i) {
      ExpectEqual(fetches[i], results[i], step.at("fetches").at(fetches[i]), tolerance);
    }
  }
}

// Whether shape inference refuses the graph before anything runs; it does so in words of its own.
bool RefusedByInference(const Graph& graph, const std::map<std::string, Tensor>& feeds,
                        const std::string& code) {
  std::vector<std::pair<Endpoint, TensorInfo>> known;
  for (const auto& [name, tensor] : feeds) {
    TensorInfo info;
    info.dtype = tensor.dtype();
    info.shape = tensor.shape();
    info.value = std::make_shared<const Tensor>(tensor);
    known.emplace_back(graph.FindEndpoint(name), info);
  }
  try {
    InferGraph(graph, known);
  } catch (const Error& error) {
    EXPECT_EQ(CodeName(error.code()), code) << error.what();
    return true;
  }
  return false;
}

void RunErrorCase(const Json& test) {
  const Graph graph = ParseGraphText(test.at("graph").get<std::string>());
  const std::map<std::string, Tensor> feeds = GoldenTensors(test.at("feeds"));
  const std::string code = test.at("error_code").get<std::string>();
  if (RefusedByInference(graph, feeds, code)) return;
  try {
    ReferenceInterpreter(graph).Run(feeds, NamesOf(test.at("fetches")));
  } catch (const Error& error) {
    EXPECT_EQ(CodeName(error.code()), code) << error.what();
    EXPECT_NE(error.message().find(test.at("error_contains").get<std::string>()), std::string::npos)
        << error.what() << "\nlacks: " << test.at("error_contains");
    return;
  }
  ADD_FAILURE() << "no error";
}

class GoldenOps : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenOps, MatchTensorFlow) {
  ForEachGoldenCase(GetParam(), [](const Json& test) {
    if (test.contains("error_code")) {
      RunErrorCase(test);
    } else {
      RunCase<ReferenceInterpreter>(test);
    }
  });
}

// A session may refuse, by op: it has no device (TensorFlow rewrites it before it places it), or its
// variable would change its size.
bool MayBeRefused(const std::string& op, const Error& error) {
  if (op == "AccumulateNV2") return error.message().starts_with("No OpKernel was registered");
  return op == "Assign" && error.code() == Code::kResourceExhausted;
}

TEST_P(GoldenOps, MatchTensorFlowInASession) {
  ForEachGoldenCase(GetParam(), [](const Json& test) {
    if (test.contains("error_code")) return;
    const std::string name = test.at("name").get<std::string>();
    try {
      RunCase<SessionRunner>(test);
    } catch (const Error& error) {
      if (!MayBeRefused(name.substr(0, name.find('/')), error)) throw;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenOps, ::testing::ValuesIn(GoldenFiles()),
                         [](const auto& file) { return file.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenOps);

}  // namespace
}  // namespace lanescope::exec::test
