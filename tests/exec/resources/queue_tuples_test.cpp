// SPDX-License-Identifier: Apache-2.0
// Elements of queues as they are taken and given: declarations, checks, batches, padding, sharing (cases K25
// to K33, K51, K53).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/base/expect_error.h"
#include "tests/exec/resources/queue_outcomes.h"

namespace lanescope::exec {
namespace {

QueueSpec SpecOf(TensorQueueKind kind, std::vector<DataType> types, std::vector<Shape> shapes) {
  QueueSpec spec;
  spec.kind = kind;
  spec.capacity = 10;
  spec.types = std::move(types);
  spec.shapes = std::move(shapes);
  return spec;
}

Tensor Zeros(const Shape& shape, DataType type = DataType::kFloat) { return Tensor(type, shape); }

TEST(QueueTuplesTest, ElementsFitTheirDeclaration) {
  TensorQueue queue(
      "q", SpecOf(TensorQueueKind::kFifo, {DataType::kFloat, DataType::kFloat}, {Shape{}, Shape{2, 3, 3}}));
  const auto enqueue = [&](QueueTuple tuple) {
    return ErrorOf([&] { queue.Enqueue(std::move(tuple), [](const Error*) { FAIL(); }); });
  };
  EXPECT_EQ(enqueue({Zeros({})}), "InvalidArgument: Wrong number of components in tuple. Expected 2, got 1");
  EXPECT_EQ(enqueue({Zeros({}, DataType::kInt32), Zeros({2, 3, 3})}),
            "InvalidArgument: Type mismatch in tuple component 0. Expected float, got int32");
  EXPECT_EQ(enqueue({Zeros({}), Zeros({2, 3, 4})}),
            "InvalidArgument: Shape mismatch in tuple component 1. Expected [2,3,3], got [2,3,4]");
  const auto enqueue_many = [&](QueueTuple tuple) {
    return ErrorOf([&] { queue.EnqueueMany(std::move(tuple), [](const Error*) { FAIL(); }); });
  };
  EXPECT_EQ(enqueue_many({Zeros({5}), Zeros({5, 2, 3, 4})}),
            "InvalidArgument: Shape mismatch in tuple component 1. Expected [5,2,3,3], got [5,2,3,4]");
  EXPECT_EQ(enqueue_many({Zeros({}), Zeros({5, 2, 3, 3})}),
            "InvalidArgument: Shape mismatch in tuple component 0. Expected [?], got []");
  EXPECT_EQ(queue.size(), 0);
}

TEST(QueueTuplesTest, K33BatchesWithoutShapesHaveOneSize) {
  TensorQueue queue("q", SpecOf(TensorQueueKind::kFifo, {DataType::kFloat, DataType::kFloat}, {}));
  const auto enqueue_many = [&](QueueTuple tuple) {
    return ErrorOf([&] { queue.EnqueueMany(std::move(tuple), [](const Error*) { FAIL(); }); });
  };
  EXPECT_EQ(enqueue_many({Zeros({2}), Zeros({3})}),
            "InvalidArgument: All input tensors must have the same size in the 0th dimension. "
            "Component 1 has 3, and should have 2");
  EXPECT_THAT(enqueue_many({Zeros({}), Zeros({3})}), testing::HasSubstr("Expected a batch of elements"));
}

TEST(QueueTuplesTest, BatchesWantDeclaredShapes) {
  NotedQueue queue(SpecOf(TensorQueueKind::kFifo, {DataType::kFloat}, {}));
  const std::string expected =
      "InvalidArgument: FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified "
      "shapes.";
  EXPECT_EQ(ErrorOf([&] { queue.DequeueMany(1); }), expected);
  EXPECT_EQ(ErrorOf([&] { queue.DequeueUpTo(1); }), expected);
  NotedQueue scalars(TensorQueueKind::kFifo, 3);
  EXPECT_EQ(ErrorOf([&] { scalars.DequeueMany(-1); }),
            "InvalidArgument: DequeueManyOp requested -1 < 0 elements");
  EXPECT_EQ(ErrorOf([&] { scalars.DequeueUpTo(-2); }),
            "InvalidArgument: DequeueUpToOp requested -2 < 0 elements");
}

TEST(QueueTuplesTest, ComponentsMoveTogether) {
  TensorQueue queue(
      "q", SpecOf(TensorQueueKind::kFifo, {DataType::kInt32, DataType::kString}, {Shape{2}, Shape{}}));
  const Tensor numbers = Tensor::FromValues<int32_t>(Shape{3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor names = Tensor::FromValues<std::string>(Shape{3}, {"a", "b", "c"});
  queue.EnqueueMany({numbers, names}, [](const Error* error) { EXPECT_EQ(error, nullptr); });
  int delivered = 0;
  queue.Dequeue([&](const Error* error, QueueTuple tuple) {
    ++delivered;
    ASSERT_EQ(error, nullptr);
    EXPECT_EQ(tuple[0].shape(), (Shape{2}));
    EXPECT_EQ(tuple[0].data<int32_t>()[1], 2);
    EXPECT_EQ(tuple[1].data<std::string>()[0], "a");
  });
  queue.DequeueMany(2, [&](const Error* error, QueueTuple tuple) {
    ++delivered;
    ASSERT_EQ(error, nullptr);
    EXPECT_EQ(tuple[0].shape(), (Shape{2, 2}));
    EXPECT_EQ(tuple[0].data<int32_t>()[0], 3);
    EXPECT_EQ(tuple[0].data<int32_t>()[3], 6);
    EXPECT_EQ(tuple[1].data<std::string>()[1], "c");
  });
  EXPECT_EQ(delivered, 2);
}

TEST(QueueTuplesTest, PaddingFillsUnknownDimensionsWithZeros) {
  TensorQueue queue("q", SpecOf(TensorQueueKind::kPaddingFifo, {DataType::kInt32, DataType::kString},
                                {Shape{kUnknownDim, kUnknownDim}, Shape{kUnknownDim}}));
  const auto put = [&](const Shape& shape, const std::vector<int32_t>& numbers,
                       const std::vector<std::string>& words) {
    queue.Enqueue({Tensor::FromValues(shape, numbers),
                   Tensor::FromValues(Shape{static_cast<int64_t>(words.size())}, words)},
                  [](const Error* error) { EXPECT_EQ(error, nullptr); });
  };
  put({1, 3}, {1, 2, 3}, {"a"});
  put({2, 2}, {4, 5, 6, 7}, {"b", "c"});
  put({0, 0}, {}, {});
  bool is_delivered = false;
  queue.DequeueMany(3, [&](const Error* error, QueueTuple tuple) {
    is_delivered = true;
    ASSERT_EQ(error, nullptr);
    ASSERT_EQ(tuple[0].shape(), (Shape{3, 2, 3}));
    const int32_t* numbers = tuple[0].data<int32_t>();
    EXPECT_EQ(std::vector<int32_t>(numbers, numbers + 18),
              (std::vector<int32_t>{1, 2, 3, 0, 0, 0, 4, 5, 0, 6, 7, 0, 0, 0, 0, 0, 0, 0}));
    ASSERT_EQ(tuple[1].shape(), (Shape{3, 2}));
    const std::string* words = tuple[1].data<std::string>();
    EXPECT_EQ(std::vector<std::string>(words, words + 6),
              (std::vector<std::string>{"a", "", "b", "c", "", ""}));
  });
  EXPECT_TRUE(is_delivered);
}

TEST(QueueTuplesTest, PaddingKeepsWhatIsDeclared) {
  TensorQueue queue("q", SpecOf(TensorQueueKind::kPaddingFifo, {DataType::kFloat}, {Shape{kUnknownDim, 2}}));
  const auto done = [](const Error*) { FAIL(); };
  EXPECT_EQ(ErrorOf([&] {
              queue.Enqueue({Zeros({1, 3})}, done);
            }),
            "InvalidArgument: Shape mismatch in tuple component 0. Expected [?,2], got [1,3]");
  EXPECT_EQ(ErrorOf([&] { queue.Enqueue({Zeros({2})}, done); }),
            "InvalidArgument: Shape mismatch in tuple component 0. Expected [?,2], got [2]");
  EXPECT_EQ(ErrorOf([&] {
              queue.EnqueueMany({Zeros({1, 3})}, done);
            }),
            "InvalidArgument: Shape mismatch in tuple component 0. Expected [1,?,2], got [1,3]");
  queue.DequeueMany(0, [](const Error* error, QueueTuple tuple) {
    EXPECT_EQ(error, nullptr);
    EXPECT_EQ(tuple[0].shape(), (Shape{0, 0, 2}));
  });
}

TEST(QueueTuplesTest, APaddedBatchTooLargeForATensorIsRefused) {
  TensorQueue queue(
      "q", SpecOf(TensorQueueKind::kPaddingFifo, {DataType::kFloat}, {Shape{kUnknownDim, kUnknownDim}}));
  const auto done = [](const Error* error) { EXPECT_EQ(error, nullptr); };
  queue.Enqueue({Zeros({int64_t{1} << 40, 0})}, done);
  queue.Enqueue({Zeros({0, int64_t{1} << 40})}, done);
  std::string outcome;
  queue.DequeueMany(2, [&](const Error* error, QueueTuple) { outcome = error ? error->what() : "taken"; });
  EXPECT_TRUE(outcome.starts_with("InvalidArgument: ")) << outcome;
}

TEST(QueueSpecTest, K51AQueueThatPadsNeedsShapes) {
  EXPECT_EQ(
      ErrorOf([] { CheckQueueSpec(SpecOf(TensorQueueKind::kPaddingFifo, {DataType::kFloat}, {})); }),
      "InvalidArgument: Shapes must be provided for all components, but received 1 dtypes and 0 shapes. "
      "When providing partial shapes, a list of shapes must be provided.");
}

TEST(QueueSpecTest, K53DeclarationsAreChecked) {
  const auto refusal = [](const QueueSpec& spec) { return ErrorOf([&] { CheckQueueSpec(spec); }); };
  EXPECT_EQ(
      refusal(SpecOf(TensorQueueKind::kPaddingFifo, {DataType::kFloat, DataType::kFloat}, {Shape{}})),
      "InvalidArgument: Shapes must be provided for all components, but received 2 dtypes and 1 shapes.");
  EXPECT_EQ(refusal(SpecOf(TensorQueueKind::kPaddingFifo, {DataType::kFloat}, {Shape::Unknown()})),
            "InvalidArgument: shape <unknown> must have known rank.");
  EXPECT_NE(refusal(SpecOf(TensorQueueKind::kFifo, {DataType::kFloat}, {Shape{kUnknownDim}})), "");
  EXPECT_NE(refusal(SpecOf(TensorQueueKind::kFifo, {DataType::kFloat}, {Shape{1, 1, 1, 1, 1, 1, 1, 1}})), "");
  EXPECT_NE(refusal(SpecOf(TensorQueueKind::kFifo, {}, {})), "");
  EXPECT_EQ(refusal(FloatQueue(TensorQueueKind::kRandomShuffle, 4, 4)),
            "InvalidArgument: min_after_dequeue 4 must be < capacity 4");
  EXPECT_EQ(refusal(FloatQueue(TensorQueueKind::kRandomShuffle, 4, -1)),
            "InvalidArgument: min_after_dequeue -1 must be >= 0");
  EXPECT_EQ(refusal(FloatQueue(TensorQueueKind::kRandomShuffle, -1, 100)), "");
}

TEST(SharedQueueTest, K25OneNameIsOneQueue) {
  ResourceManager resources;
  const QueueSpec spec = FloatQueue(TensorQueueKind::kFifo, 1);
  const auto a = FindOrMakeQueue(&resources, "c", "q", spec, "a");
  const auto b = FindOrMakeQueue(&resources, "c", "q", spec, "b");
  a->Enqueue({Tensor::Scalar(1.f)}, [](const Error*) {});
  EXPECT_EQ(b->size(), 1);
  const Outcome outcome = Waiting();
  b->Dequeue(NoteTaken(outcome));
  EXPECT_EQ(*outcome, "[1]");
  EXPECT_EQ(a->size(), 0);
  EXPECT_EQ(FindOrMakeQueue(&resources, "other", "q", spec, "a")->size(), 0);
}

TEST(SharedQueueTest, K27K29OneNameHasOneDeclaration) {
  ResourceManager resources;
  QueueSpec shuffle = FloatQueue(TensorQueueKind::kRandomShuffle, 10, 5);
  shuffle.seed = 12;
  shuffle.seed2 = 34;
  const auto refusal = [&](const std::string& name, const QueueSpec& spec) {
    return ErrorOf([&] { FindOrMakeQueue(&resources, "c", name, spec, "n"); });
  };
  EXPECT_EQ(refusal("q_a", FloatQueue(TensorQueueKind::kFifo, 10)), "");
  EXPECT_EQ(refusal("q_b", shuffle), "");
  EXPECT_EQ(refusal("q_a", FloatQueue(TensorQueueKind::kFifo, 15)),
            "InvalidArgument: Shared queue 'q_a' has capacity 10 but requested capacity was 15");
  QueueSpec other = FloatQueue(TensorQueueKind::kFifo, 10);
  other.types = {DataType::kInt32};
  EXPECT_EQ(
      refusal("q_a", other),
      "InvalidArgument: Shared queue 'q_a' has component types float but requested component types were "
      "int32");
  other.types = {DataType::kFloat, DataType::kFloat};
  other.shapes = {Shape{}, Shape{}};
  EXPECT_EQ(
      refusal("q_a", other),
      "InvalidArgument: Shared queue 'q_a' has component types float but requested component types were "
      "float, float");
  other = FloatQueue(TensorQueueKind::kFifo, 10);
  other.shapes = {Shape{3}};
  EXPECT_EQ(
      refusal("q_a", other),
      "InvalidArgument: Shared queue 'q_a' has component shapes [[]] but requested component shapes were "
      "[[3]]");
  EXPECT_EQ(refusal("q_a", shuffle),
            "InvalidArgument: Shared queue 'q_a' has type FIFOQueue that does not match type of Node 'n': "
            "RandomShuffleQueue");
  other = shuffle;
  other.min_after_dequeue = 3;
  EXPECT_EQ(
      refusal("q_b", other),
      "InvalidArgument: Shared queue 'q_b' has min_after_dequeue 5 but requested min_after_dequeue was 3.");
  other = shuffle;
  other.seed = 9;
  EXPECT_EQ(refusal("q_b", other),
            "InvalidArgument: Shared queue 'q_b' has random seeds (12, 34) but requested seeds are (9, 34).");
  other.seed = other.seed2 = 0;
  EXPECT_EQ(refusal("q_b", other), "");
}

}  // namespace
}  // namespace lanescope::exec
