// SPDX-License-Identifier: Apache-2.0
// Elements of queues: of any size, padded, and of queues of TensorFlow 1.
#include <gmock/gmock.h>

#include "tests/exec/pipeline_harness.h"

namespace lanescope::exec::test {
namespace {

// Law: where no shape is declared, what is taken has the size that was put.
TEST(QueueOps, ElementsOfAnySize) {
  GraphBuilder builder;
  const Endpoint queue = builder.Op("FIFOQueueV2", "q")
                             .Attr("component_types", Types({DataType::kFloat, DataType::kString}))
                             .Build();
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim});
  const Endpoint text = builder.Placeholder("text", DataType::kString, Shape{kUnknownDim});
  builder.Op("QueueEnqueueV2", "put").Input(queue).Input(x).Input(text).Build();
  const Endpoint taken = builder.Op("QueueDequeueV2", "take")
                             .Input(queue)
                             .Attr("component_types", Types({DataType::kFloat, DataType::kString}))
                             .Build();
  const Endpoint kept = builder.Op("Identity", "kept").Input(taken).Build();
  builder.Op("Neg", "negated").Input(kept).Build();
  Pipeline pipeline(builder.Take());
  for (const int64_t size : {3, 100000, 1, 0}) {
    Tensor texts(DataType::kString, Shape{size});
    for (int64_t i = 0; i < size; ++i) texts.data<std::string>()[i] = std::to_string(i);
    pipeline.session.Run({{{"x", Floats(Shape{size}, 2)}, {"text", texts}}, {}, {"put"}});
    const auto fetched = pipeline.Get({"negated", "take:1", "kept"});
    EXPECT_TRUE(BitwiseEqual(fetched[0], Floats(Shape{size}, -2)));
    EXPECT_TRUE(BitwiseEqual(fetched[2], Floats(Shape{size}, 2)));
    ASSERT_EQ(fetched[1].NumElements(), size);
    if (size > 0) {
      EXPECT_EQ(fetched[1].data<std::string>()[size - 1], std::to_string(size - 1));
    }
  }
}

TEST(QueueOps, PaddedBatches) {
  GraphBuilder builder;
  const Endpoint queue = builder.Op("PaddingFIFOQueueV2", "q")
                             .Attr("component_types", Types({DataType::kFloat}))
                             .Attr("shapes", Shapes({Shape{kUnknownDim}}))
                             .Build();
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim});
  builder.Op("QueueEnqueueV2", "put").Input(queue).Input(x).Build();
  DequeueMany(&builder, "QueueDequeueManyV2", "take", queue, 2);
  Pipeline pipeline(builder.Take());
  pipeline.session.Run({{{"x", Floats(Shape{2}, 1)}}, {}, {"put"}});
  pipeline.session.Run({{{"x", Floats(Shape{3}, 2)}}, {}, {"put"}});
  const Tensor batch = pipeline.Get({"take"})[0];
  EXPECT_EQ(batch.shape(), (Shape{2, 3}));
  EXPECT_EQ(std::vector<float>(batch.data<float>(), batch.data<float>() + 6),
            (std::vector<float>{1, 1, 0, 2, 2, 2}));
}

// Queues of TensorFlow 1, by reference.
TEST(QueueOps, ByReference) {
  GraphBuilder builder;
  const Endpoint queue = builder.Op("FIFOQueue", "q")
                             .Attr("component_types", Types({DataType::kInt32}))
                             .Attr("capacity", 3)
                             .Build();
  builder.Op("QueueEnqueue", "put").Input(queue).Input(builder.Scalar<int32_t>("seven", 7)).Build();
  builder.Op("QueueDequeue", "take").Input(queue).Attr("component_types", Types({DataType::kInt32})).Build();
  builder.Op("QueueSize", "size").Input(queue).Build();
  Pipeline pipeline(builder.Take());
  pipeline.Do("put");
  EXPECT_EQ(pipeline.Size("size"), 1);
  EXPECT_EQ(pipeline.Size("take"), 7);
}

}  // namespace
}  // namespace lanescope::exec::test
