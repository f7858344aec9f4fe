// SPDX-License-Identifier: Apache-2.0
#include "core/base/id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

#include "core/base/rows.h"

namespace lanescope {
namespace {

struct Apple;
struct Pear;
using AppleId = Id<Apple>;
using PearId = Id<Pear>;
using testing::ElementsAre;

// Law: an id is made of a number on purpose alone, and is no id of another kind.
TEST(Id, ComesFromNothingButItsNumber) {
  static_assert(!std::is_convertible_v<int, AppleId>);
  static_assert(!std::is_convertible_v<AppleId, int>);
  static_assert(!std::is_constructible_v<AppleId, PearId>);
  static_assert(!std::is_invocable_v<std::equal_to<>, AppleId, PearId>);
  static_assert(sizeof(AppleId) == sizeof(int) && std::is_trivially_copyable_v<AppleId>);
  EXPECT_EQ(AppleId(size_t{7}).number(), 7);
}

TEST(Id, NoneExistsNotAndComesFirst) {
  EXPECT_FALSE(AppleId().exists());
  EXPECT_EQ(AppleId().number(), -1);
  EXPECT_TRUE(AppleId(0).exists());
  EXPECT_LT(AppleId(), AppleId(0));
  EXPECT_LT(AppleId(3), AppleId(12));
  EXPECT_EQ((std::unordered_set<AppleId>{AppleId(1), AppleId(2), AppleId(1)}.size()), 2u);
}

TEST(IdVector, IsIndexedByItsIdsAlone) {
  IdVector<AppleId, char> apples;
  const AppleId first = apples.Add('a'), second = apples.Add('b');
  apples[first] = 'x';
  EXPECT_EQ(apples[second], 'b');
  EXPECT_THAT(std::vector<char>(apples.begin(), apples.end()), ElementsAre('x', 'b'));
  EXPECT_EQ(apples.next_id(), AppleId(2));
  EXPECT_TRUE(apples.Contains(second));
  EXPECT_FALSE(apples.Contains(apples.next_id()) || apples.Contains(AppleId()));
  std::vector<int> numbers;
  for (const AppleId id : apples.ids()) numbers.push_back(id.number());
  EXPECT_THAT(numbers, ElementsAre(0, 1));
}

// Law: turned twice, rows are what they were, whatever numbers them.
TEST(Rows, RowsAndItemsMayHaveIds) {
  const auto rows = MakeRows<PearId, AppleId>(3, [](const auto& add) {
    add(AppleId(2), PearId(0));
    add(AppleId(0), PearId(1));
    add(AppleId(2), PearId(1));
  });
  EXPECT_THAT(rows[AppleId(2)], ElementsAre(PearId(0), PearId(1)));
  EXPECT_TRUE(rows[AppleId(1)].empty());
  const Rows<AppleId, PearId> turned = Transpose(rows, 2);
  EXPECT_THAT(turned[PearId(1)], ElementsAre(AppleId(0), AppleId(2)));
  EXPECT_EQ(Transpose(turned, 3), rows);
}

}  // namespace
}  // namespace lanescope
