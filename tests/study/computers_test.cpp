// SPDX-License-Identifier: Apache-2.0
#include "study/job/computers.h"

#include <gtest/gtest.h>

#include "core/base/processors.h"

namespace lanescope::study {
namespace {

// Law: processes of one host share a computer, whose cores are those that any of them may use.
TEST(Computers, AreToldApartByTheirHosts) {
  const Computers computers = ComputersOf({"node1 0 1", "node2 0", "node1 1 2", "node3"});
  EXPECT_EQ(computers.of_task, (std::vector<int>{0, 1, 0, 2}));
  EXPECT_EQ(computers.num_cores, (std::vector<int>{3, 1, 1}));
  EXPECT_EQ(computers.OfTask(2), 0);
}

// Law: what processes say of this computer makes one computer with the cores of this one.
TEST(Computers, ThisOneHasItsCores) {
  const Computers computers = ComputersOf({ThisComputer(), ThisComputer()});
  EXPECT_EQ(computers.of_task, (std::vector<int>{0, 0}));
  EXPECT_EQ(computers.num_cores, (std::vector<int>{NumProcessors()}));
  EXPECT_EQ(OneComputer().num_cores, computers.num_cores);
  EXPECT_EQ(OneComputer().OfTask(7), 0);
}

}  // namespace
}  // namespace lanescope::study
