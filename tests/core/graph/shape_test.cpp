// SPDX-License-Identifier: Apache-2.0
#include "core/graph/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::HasSubstr;

constexpr int64_t kHuge = int64_t{1} << 62;

TEST(Dims, SumsAndProductsCarryExactnessAndBounds) {
  EXPECT_EQ(AddDims(2, 3), 5);
  EXPECT_EQ(AddDims(2, BoundedDim(3)), BoundedDim(5));
  EXPECT_EQ(AddDims(2, kUnknownDim), kUnknownDim);
  EXPECT_EQ(MulDims(2, 3), 6);
  EXPECT_EQ(MulDims(BoundedDim(2), BoundedDim(3)), BoundedDim(6));
  EXPECT_EQ(MulDims(2, kUnknownDim), kUnknownDim);
  EXPECT_EQ(MulDims(0, kUnknownDim), 0) << "nothing times anything is nothing";
  EXPECT_EQ(BoundOf(BoundedDim(0)), 0);
  EXPECT_EQ(BoundOf(kUnknownDim), -1);
  EXPECT_EQ(BoundOf(std::numeric_limits<Dim>::min()), std::numeric_limits<Dim>::max() - 1);
  EXPECT_EQ(BoundOf(BoundedDim(kHuge)), kHuge);
  EXPECT_EQ(BoundedDim(kHuge + 1), kUnknownDim) << "x[:2^63 - 1] says nothing of x's size";
  EXPECT_EQ(BoundedDim(std::numeric_limits<int64_t>::max()), kUnknownDim);
}

TEST(Dims, OverflowIsRefused) {
  EXPECT_THAT(ErrorOf([] { AddDims(kHuge, 1); }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf([] { MulDims(kHuge, 2); }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf([] { MulDims(BoundedDim(kHuge), kHuge); }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf([] { Shape{kHuge + 1}; }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf([] { Shape{std::numeric_limits<int64_t>::min()}; }), HasSubstr("InvalidArgument"));
}

TEST(Shape, ElementsAreCountedByTheBounds) {
  EXPECT_EQ(Shape{}.NumElements(), 1);
  EXPECT_EQ((Shape{3, 4}.NumElements()), 12);
  EXPECT_EQ((Shape{3, BoundedDim(5)}.NumElements()), 15);
  EXPECT_EQ((Shape{3, kUnknownDim}.NumElements()), -1);
  EXPECT_EQ(Shape::Unknown().NumElements(), -1);
  EXPECT_EQ((Shape{kHuge, kHuge, 0}.NumElements()), 0);
  EXPECT_THAT(ErrorOf([] { Shape({kHuge, 2}).NumElements(); }), HasSubstr("overflows 2^62"));
}

TEST(Shape, ExactAndBoundedAreToldApart) {
  const Shape bounded{2, BoundedDim(7)};
  EXPECT_FALSE(bounded.IsExact());
  EXPECT_TRUE(bounded.HasBound());
  EXPECT_EQ(bounded.Bound(), (Shape{2, 7}));
  EXPECT_FALSE((Shape{kUnknownDim}.HasBound()));
  EXPECT_FALSE(Shape::Unknown().IsExact());
  EXPECT_TRUE(Shape{}.IsExact());
}

TEST(Shape, DimensionsAreInsertedAndErased) {
  Shape shape{2, 3};
  shape.Append(4);
  shape.Insert(0, 1);
  shape.Erase(2);
  EXPECT_EQ(shape, (Shape{1, 2, 4}));
  EXPECT_THAT(ErrorOf([] { Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}); }), HasSubstr("Unimplemented"));
}

TEST(Shape, TextShowsBoundsAndUnknowns) {
  EXPECT_EQ((Shape{32, 800}.ToString()), "[32,800]");
  EXPECT_EQ((Shape{kUnknownDim, BoundedDim(51200)}.ToString()), "[?,<=51200]");
  EXPECT_EQ(Shape{}.ToString(), "[]");
  EXPECT_EQ(Shape::Unknown().ToString(), "<unknown>");
}

TEST(MergeShapes, KeepsTheMostSpecific) {
  EXPECT_EQ(MergeShapes(Shape::Unknown(), Shape{2}), Shape{2});
  EXPECT_EQ(MergeShapes({kUnknownDim, 3}, {2, kUnknownDim}), (Shape{2, 3}));
  EXPECT_EQ(MergeShapes({BoundedDim(5)}, {4}), Shape{4});
  EXPECT_EQ(MergeShapes({BoundedDim(5)}, {BoundedDim(3)}), Shape{BoundedDim(3)});
  EXPECT_EQ(MergeShapes({BoundedDim(5)}, {kUnknownDim}), Shape{BoundedDim(5)});
}

TEST(MergeShapes, RefusesContradictionsNamingBoth) {
  EXPECT_THAT(ErrorOf([] {
                MergeShapes({2, 3}, {2, 4});
              }),
              testing::AllOf(HasSubstr("InvalidArgument"), HasSubstr("[2,3]"), HasSubstr("[2,4]")));
  EXPECT_THAT(ErrorOf([] { MergeShapes({2}, {2, 4}); }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf([] { MergeShapes({BoundedDim(5)}, {6}); }), HasSubstr("InvalidArgument"));
}

TEST(BroadcastShapes, FollowsNumPy) {
  EXPECT_EQ(BroadcastShapes({4, 1, 3}, {5, 1}), (Shape{4, 5, 3}));
  EXPECT_EQ(BroadcastShapes({}, {2, 2}), (Shape{2, 2}));
  EXPECT_EQ(BroadcastShapes({0}, {1}), Shape{0});
  EXPECT_EQ(BroadcastShapes(Shape::Unknown(), {1}), Shape::Unknown());
  EXPECT_THAT(ErrorOf([] { BroadcastShapes({2}, {3}); }),
              testing::AllOf(HasSubstr("InvalidArgument"), HasSubstr("[2]"), HasSubstr("[3]")));
}

TEST(BroadcastShapes, CarriesBoundsAndUnknowns) {
  EXPECT_EQ(BroadcastShapes({kUnknownDim}, {7}), Shape{7});
  EXPECT_EQ(BroadcastShapes({kUnknownDim}, {1}), Shape{kUnknownDim});
  EXPECT_EQ(BroadcastShapes({BoundedDim(4)}, {1}), Shape{BoundedDim(4)});
  EXPECT_EQ(BroadcastShapes({BoundedDim(4)}, {7}), Shape{7}) << "the bounded side can only be 1";
  EXPECT_EQ(BroadcastShapes({BoundedDim(4)}, {BoundedDim(6)}), Shape{BoundedDim(6)});
  EXPECT_EQ(BroadcastShapes({BoundedDim(4)}, {kUnknownDim}), Shape{kUnknownDim});
}

}  // namespace
}  // namespace lanescope
