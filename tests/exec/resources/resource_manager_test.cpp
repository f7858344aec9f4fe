// SPDX-License-Identifier: Apache-2.0
// Resources by container, type and name (cases J31 to J39).
#include "exec/resources/resource_manager.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "exec/resources/resource_name.h"
#include "tests/core/base/expect_error.h"

namespace lanescope::exec {
namespace {

struct Counter : Resource {
  static constexpr char kTypeName[] = "Counter";
  explicit Counter(int first) : value(first) {}
  int value;
};
struct Table : Resource {
  static constexpr char kTypeName[] = "Table";
};

TEST(ResourceManagerTest, KeepsTypesOfOneNameApart) {
  ResourceManager resources;
  resources.Create("foo", "bar", std::make_shared<Counter>(7));
  resources.Create("foo", "bar", std::make_shared<Table>());
  EXPECT_EQ(resources.Lookup<Counter>("foo", "bar")->value, 7);
  EXPECT_NE(resources.Lookup<Table>("foo", "bar"), nullptr);
  EXPECT_EQ(ErrorOf([&] { resources.Create("foo", "bar", std::make_shared<Counter>(1)); }),
            "AlreadyExists: Resource foo/bar/Counter");
  EXPECT_EQ(resources.Lookup<Counter>("foo", "bar")->value, 7);
}

TEST(ResourceManagerTest, J31MissingContainersAndNamesAreNotFound) {
  ResourceManager resources;
  EXPECT_EQ(ErrorOf([&] { resources.Lookup<Counter>("bar", "x"); }),
            "NotFound: Container bar does not exist. (Could not find resource: bar/x)");
  resources.Create("foo", "bar", std::make_shared<Counter>(1));
  EXPECT_EQ(ErrorOf([&] { resources.Lookup<Counter>("foo", "xxx"); }),
            "NotFound: Resource foo/xxx/Counter does not exist.");
  EXPECT_EQ(ErrorOf([&] { resources.Lookup<Table>("foo", "bar"); }),
            "NotFound: Resource foo/bar/Table does not exist.");
}

TEST(ResourceManagerTest, J33WhatIsDeletedIsGoneForNewcomersOnly) {
  ResourceManager resources;
  resources.Create("foo", "bar", std::make_shared<Counter>(5));
  resources.Create("foo", "other", std::make_shared<Counter>(6));
  const auto held = resources.Lookup<Counter>("foo", "bar");
  resources.Delete<Counter>("foo", "bar");
  EXPECT_EQ(held->value, 5);
  EXPECT_EQ(ErrorOf([&] { resources.Delete<Counter>("foo", "bar"); }),
            "NotFound: Resource foo/bar/Counter does not exist.");
  resources.Cleanup("foo");
  resources.Cleanup("foo");
  EXPECT_EQ(ErrorOf([&] { resources.Delete<Counter>("foo", "other"); }),
            "NotFound: Container foo does not exist.");
}

TEST(ResourceManagerTest, J43CleanupLeavesOtherContainers) {
  ResourceManager resources;
  resources.Create("a", "x", std::make_shared<Counter>(1));
  resources.Create("b", "x", std::make_shared<Counter>(2));
  resources.Cleanup("a");
  EXPECT_EQ(resources.Lookup<Counter>("b", "x")->value, 2);
  EXPECT_NE(ErrorOf([&] { resources.Lookup<Counter>("a", "x"); }), "");
}

TEST(ResourceManagerTest, J35ManyAskersGetOneResource) {
  ResourceManager resources;
  std::atomic<int> made{0};
  std::vector<std::shared_ptr<Counter>> got(8);
  {
    std::vector<std::jthread> askers;
    for (auto& mine : got) {
      askers.emplace_back([&] {
        mine = resources.LookupOrCreate<Counter>("c", "n", [&] { return std::make_shared<Counter>(++made); });
      });
    }
  }
  EXPECT_EQ(made, 1);
  for (const auto& counter : got) EXPECT_EQ(counter, got[0]);
}

TEST(ResourceManagerTest, WhatCannotBeMadeIsNotThere) {
  ResourceManager resources;
  EXPECT_EQ(ErrorOf([&] {
              resources.LookupOrCreate<Counter>(
                  "c", "n", []() -> std::shared_ptr<Counter> { Throw(Code::kInvalidArgument, "no"); });
            }),
            "InvalidArgument: no");
  EXPECT_EQ(resources.LookupOrCreate<Counter>("c", "n", [] { return std::make_shared<Counter>(3); })->value,
            3);
}

TEST(ResourceNameTest, J37NamesComeFromTheNodeTheSharedNameOrNobodyElse) {
  const ResourceName by_node = NameResource({"cat", "", "node", true});
  EXPECT_EQ(by_node.container + " " + by_node.name, "cat node");
  EXPECT_FALSE(by_node.is_private);
  const ResourceName shared = NameResource({"", "stat", "node", true});
  EXPECT_EQ(shared.container + " " + shared.name, "localhost stat");
  EXPECT_FALSE(shared.is_private);
  const ResourceName first = NameResource({"", "", "node", false});
  const ResourceName second = NameResource({"", "", "node", false});
  EXPECT_TRUE(first.is_private);
  EXPECT_TRUE(first.name.starts_with("_") && first.name.ends_with("_node")) << first.name;
  EXPECT_NE(first.name, second.name);
}

TEST(ResourceNameTest, J39ContainersAndSharedNamesKeepTheirSyntax) {
  for (const char* container : {"12$%", "-cat", "/x", "_x", "a b", "a\n"}) {
    EXPECT_EQ(ErrorOf([&] {
                NameResource({container, "", "node", true});
              }),
              std::string("InvalidArgument: container contains invalid characters: ") + container);
  }
  for (const char* container : {"cat.0-dog", ".cat", "a/b_c"}) {
    EXPECT_EQ(NameResource({container, "", "node", true}).container, container);
  }
  EXPECT_EQ(ErrorOf([&] {
              NameResource({"", "_x", "node", true});
            }),
            "InvalidArgument: shared_name cannot start with '_': _x");
  EXPECT_EQ(ErrorOf([&] {
              NameResource({std::nullopt, "", "node", true});
            }),
            "NotFound: No attr named 'container' in node 'node'");
  EXPECT_EQ(ErrorOf([&] {
              NameResource({"", std::nullopt, "node", true});
            }),
            "NotFound: No attr named 'shared_name' in node 'node'");
}

}  // namespace
}  // namespace lanescope::exec
