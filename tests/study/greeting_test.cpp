// SPDX-License-Identifier: Apache-2.0
#include "study/job/greeting.h"

#include <gtest/gtest.h>

namespace lanescope::study {
namespace {

// Law: a greeting is read by programs of every protocol, so its text never changes.
TEST(Greeting, SaysProtocolAndHost) {
  EXPECT_EQ(Greeting("node1", 7), "lanescope protocol 7 on node1");
  EXPECT_EQ(HostsOfGreetings({Greeting("node1"), Greeting("a on b")}),
            (std::vector<std::string>{"node1", "a on b"}));
}

// Law: programs of one number work together, and no others.
TEST(Greeting, AnotherProtocolIsNamed) {
  EXPECT_EQ(ProblemOfGreetings({Greeting("a"), Greeting("b"), Greeting("a")}), "");
  EXPECT_EQ(ProblemOfGreetings({Greeting("a", 3), Greeting("b", 3), Greeting("c", 31)}),
            "the program of rank 2 has protocol 31, and that of rank 0 has 3: start the same version");
  EXPECT_EQ(ProblemOfGreetings({"node1", Greeting("node1", 3)}),
            "the program of rank 1 has protocol 3, and that of rank 0 has none: start the same version");
  EXPECT_NE(ProblemOfGreetings({"node1", "node1"}), "") << "programs that do not greet";
}

}  // namespace
}  // namespace lanescope::study
