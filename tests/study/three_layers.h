// SPDX-License-Identifier: Apache-2.0
// A model of reference variables in numbered blocks, for tests of strategies that keep variables in parts.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "core/graph/graph_builder.h"
#include "study/workload/placing.h"

namespace lanescope::study {

inline Endpoint Weight(GraphBuilder* builder, const std::string& name, const Shape& shape) {
  return builder->Op("VariableV2", name).Attr("dtype", DataType::kFloat).Attr("shape", shape).Build();
}

// Three layers y = x w, loss = mean(y^2), w -= rate dloss/dw by hand. w of h/0 and h/1 have 16 elements,
// which divide among two GPUs; the last has 3, which do not. `decays`: h/1/w is made smaller by itself, too.
// `second`: another name for h/1/w.
inline Workload ThreeLayers(bool decays = false, const std::string& second = "h/1/w") {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 4});
  const Endpoint w0 = Weight(&builder, "h/0/w", Shape{4, 4}), w1 = Weight(&builder, second, Shape{4, 4}),
                 odd = Weight(&builder, "odd", Shape{3});
  const Endpoint y0 = builder.Op("MatMul", "y0").Input(x).Input(w0).Build();
  const Endpoint y1 = builder.Op("MatMul", "y1").Input(y0).Input(w1).Build();
  const Endpoint axes = builder.Const("axes", Tensor::FromValues(Shape{2}, std::vector<int32_t>{0, 1}));
  const Endpoint square = builder.Op("Square", "square").Input(y1).Build();
  builder.Op("Mean", "loss").Input(square).Input(axes).Build();
  const Endpoint d0 = builder.Op("MatMul", "d0").Input(y1).Input(w1).Attr("transpose_b", true).Build();
  const Endpoint g1 = builder.Op("MatMul", "g1").Input(y0).Input(y1).Attr("transpose_a", true).Build();
  const Endpoint g0 = builder.Op("MatMul", "g0").Input(x).Input(d0).Attr("transpose_a", true).Build();
  const Endpoint rate = builder.Scalar("rate", 0.01f);
  RunSpec spec;
  for (const auto& [name, variable, gradient] : {std::tuple{"0", w0, g0}, {"1", w1, g1}}) {
    const std::string update = fmt::format("train/update_{}/Apply", name);
    builder.Op("ApplyGradientDescent", update).Input(variable).Input(rate).Input(gradient).Build();
    spec.targets.push_back(update);
    const Endpoint ones = builder.Const(fmt::format("init/{}/ones", name),
                                        Tensor::FromValues(Shape{4, 4}, std::vector<float>(16, 0.1f)));
    const std::string init = fmt::format("init/{}/Assign", name);
    builder.Op("Assign", init).Input(variable).Input(ones).Build();
    spec.init.push_back(init);
  }
  if (decays) {
    const Endpoint smaller = builder.Op("Mul", "decayed").Input(w1).Input(builder.Scalar("c", 0.9f)).Build();
    builder.Op("Assign", "train/decay/Assign").Input(w1).Input(smaller).Build();
    spec.targets.push_back("train/decay/Assign");
  }
  builder.Op("Identity", "odd/read").Input(odd).Build();
  FeedSpec feed;
  feed.shape = Shape{6, 4};
  feed.generator = "uniform";
  spec.feeds["x"] = feed;
  spec.batch_axis["x"] = 0;
  spec.fetches = {"loss", "h/0/w"};
  spec.loss = "loss";
  return Workload("three-layers", builder.Take(), spec);
}

}  // namespace lanescope::study
