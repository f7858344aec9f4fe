// SPDX-License-Identifier: Apache-2.0
// Law: a step of any nodes gives with fusion what it gives without, bit by bit, or fails as that does.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/graph/graph_builder.h"
#include "core/graph/small_float_tensor.h"
#include "core/schedule/fusion.h"
#include "tests/exec/session_harness.h"
#include "tests/support/random_arithmetic.h"
#include "tests/support/sanitized.h"

namespace lanescope::exec::test {
namespace {

using lanescope::test::RandomArithmetic;

struct Outcome {
  std::vector<Tensor> results;  // fetches of all steps, then the variables
  std::optional<Error> error;
  int fused = 0;
};

Outcome OutcomeOf(const RandomArithmetic& random, const Placement& placement, const Machine& machine,
                  bool fuse) {
  Outcome outcome;
  SessionOptions options;
  options.fuse = fuse;
  Session session(random.graph(), placement, machine, options);
  for (const std::string& target : random.init()) session.Run({{}, {}, {target}});
  const RunRequest request{random.feeds(), random.fetches(), random.targets()};
  outcome.error = ErrorOf([&] {
    for (int step = 0; step < 2; ++step) {
      for (Tensor& fetched : session.Run(request).fetches) outcome.results.push_back(std::move(fetched));
    }
  });
  if (outcome.error) return outcome;
  outcome.fused = static_cast<int>(session.Prepare(request).schedule->fused.size());
  for (const std::string& init : random.init())
    outcome.results.push_back(session.ReadVariable(init.substr(0, init.size() - 5)));
  return outcome;
}

template <typename T>
bool SameNumbers(const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    const T x = a.data<T>()[i], y = b.data<T>()[i];
    if (std::memcmp(&x, &y, sizeof x) == 0) continue;
    if (!std::isnan(x) || !std::isnan(y)) return false;
  }
  return true;
}

// Bit by bit, but for the sign and payload of a NaN: IEEE 754 leaves them open where two NaNs meet.
bool AreSame(const Tensor& a, const Tensor& b) {
  if (BitwiseEqual(a, b)) return true;
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  switch (a.dtype()) {
    case DataType::kFloat:
      return SameNumbers<float>(a, b);
    case DataType::kDouble:
      return SameNumbers<double>(a, b);
    case DataType::kHalf:
    case DataType::kBfloat16:
      return SameNumbers<float>(WidenedTensor(a), WidenedTensor(b));
    default:
      return false;
  }
}

void ExpectSame(const Outcome& a, const Outcome& b, const std::string& what) {
  ASSERT_EQ(a.error.has_value(), b.error.has_value())
      << what << (a.error ? a.error->what() : "") << (b.error ? b.error->what() : "");
  if (a.error) {
    EXPECT_EQ(a.error->code(), b.error->code()) << what << a.error->what() << b.error->what();
    return;
  }
  ASSERT_EQ(a.results.size(), b.results.size()) << what;
  for (size_t i = 0; i < a.results.size(); ++i)
    ASSERT_TRUE(AreSame(a.results[i], b.results[i])) << what << ", result " << i;
}

// `LANESCOPE_SEEDS=from-to` takes others.
TEST(RandomArithmetic, IsTheSameWithFusion) {
  unsigned from = 0, to = 200;
  if (const char* seeds = std::getenv("LANESCOPE_SEEDS"); seeds != nullptr) {
    ASSERT_EQ(std::sscanf(seeds, "%u-%u", &from, &to), 2);
  }
  int cases = 0, fused = 0;
  for (unsigned seed = from; seed < to; seed += lanescope::test::kOneCaseOf) {
    ++cases;
    RandomArithmetic::Options options;
    options.ops = 10 + static_cast<int>(seed % 5) * 10;
    options.most_elements = seed % 6 == 0 ? 70000 : seed % 3 == 0 ? 3000 : 200;
    options.wild = seed % 4 == 0;
    options.checked = seed % 7 == 0;
    RandomArithmetic random(seed, options);
    const Machine machine = FastMachine(seed % 4 == 3 ? 2 : 1, seed % 4 == 1 ? 2 : 1);
    Placement placement = seed % 5 < 3 ? PlaceAll(random.graph(), Gpu(machine, 0)) : random.Place(machine);
    const Outcome without = OutcomeOf(random, placement, machine, false);
    const Outcome with = OutcomeOf(random, placement, machine, true);
    fused += with.fused;
    ExpectSame(without, with, "seed " + std::to_string(seed));
  }
  EXPECT_GT(fused, cases);
}

// A node that fails in a launch of several is named as it is without, and the step leaves nothing behind:
// with other numbers it runs.
TEST(FusedSteps, NameTheNodeThatFails) {
  GraphBuilder builder;
  const Shape shape{40000};
  const Endpoint a = builder.Placeholder("a", DataType::kInt32, shape);
  const Endpoint b = builder.Placeholder("b", DataType::kInt32, shape);
  const Endpoint sum = builder.Op("AddV2", "sum").Input(a).Input(b).Build();
  const Endpoint part = builder.Op("FloorDiv", "part").Input(sum).Input(b).Build();
  builder.Op("Neg", "result").Input(part).Build();
  const Graph graph = builder.Take();
  const Machine machine = FastMachine(1, 2);
  const Placement placement = PlaceAll(graph, Gpu(machine, 0));
  for (const bool fuse : {false, true}) {
    SessionOptions options;
    options.fuse = fuse;
    Session session(graph, placement, machine, options);
    Tensor ones(DataType::kInt32, shape);
    std::fill_n(ones.data<int32_t>(), ones.NumElements(), 1);
    const auto run = [&](const Tensor& by) {
      return session.Run({{{"a:0", ones}, {"b:0", by}}, {"result:0"}, {}}).fetches[0];
    };
    Tensor by = ones;
    EXPECT_EQ(run(by).data<int32_t>()[39999], -2);
    Tensor zero(DataType::kInt32, shape);
    std::copy_n(ones.data<int32_t>(), 39999, zero.data<int32_t>());
    ExpectError(Code::kInvalidArgument, {"ivision by zero", "[node 'part' (FloorDiv) on GPU:0"},
                [&] { run(zero); });
    EXPECT_EQ(run(by).data<int32_t>()[39999], -2);
  }
}

}  // namespace
}  // namespace lanescope::exec::test
