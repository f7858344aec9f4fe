// SPDX-License-Identifier: Apache-2.0
#include "study/predict/missing_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/graph/graph_builder.h"

namespace lanescope::study {
namespace {

// Rows of x are summed up by id, as gradients of looked-up rows are: how many sums there can be only the
// whole graph knows. Law: that op is left, the others are measured by themselves.
TEST(MissingCosts, AnOpThatDoesNotRunByItselfIsLeft) {
  GraphBuilder builder;
  const auto constant = [&](const std::string& name, int32_t value) {
    return builder.Const(name, Tensor::FromValues(Shape{1}, std::vector<int32_t>{value}));
  };
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{6, 4});
  const Endpoint ids = builder.Placeholder("ids", DataType::kInt64, Shape{6});
  const Endpoint unique = builder.Op("Unique", "unique").Input(ids).Attr("out_idx", DataType::kInt32).Build();
  const Endpoint shape = builder.Op("Shape", "shape").Input(unique).Build();
  const Endpoint count = builder.Op("StridedSlice", "count")
                             .Input(shape)
                             .Input(constant("begin", 0))
                             .Input(constant("end", 1))
                             .Input(constant("strides", 1))
                             .Attr("shrink_axis_mask", int64_t{1})
                             .Build();
  const Endpoint sums = builder.Op("UnsortedSegmentSum", "sums")
                            .Input(builder.Op("Tanh", "tanh").Input(x).Build())
                            .Input({unique.node, 1})
                            .Input(count)
                            .Build();
  builder.Op("Neg", "last").Input(sums).Build();
  RunSpec spec;
  spec.feeds["x"].shape = Shape{6, 4};
  spec.feeds["x"].generator = "uniform";
  spec.feeds["ids"].dtype = DataType::kInt64;
  spec.feeds["ids"].shape = Shape{6};
  spec.feeds["ids"].values = Tensor::FromValues(Shape{6}, std::vector<int64_t>{3, 1, 3, 3, 9, 1});
  spec.targets = {"last"};
  const Workload workload("sums", builder.Take(), std::move(spec));
  const Machine machine = VirtualMachine(1, 1);
  const std::vector<MissingCost> missing = FindMissingCosts(workload, machine, {});
  const MissingMeasurement measured = MeasureMissing(workload, machine, missing, nullptr);
  std::set<std::string> left, samples;
  for (const MissingCost& cost : measured.left) left.insert(cost.op);
  for (const sims::OpSample& sample : measured.samples) samples.insert(sample.op);
  EXPECT_EQ(left.count("UnsortedSegmentSum"), 1u);
  EXPECT_EQ(samples.count("UnsortedSegmentSum"), 0u);
  EXPECT_EQ(samples.count("Tanh"), 1u);
  EXPECT_EQ(left.count("Tanh"), 0u);
}

}  // namespace
}  // namespace lanescope::study
