// SPDX-License-Identifier: Apache-2.0
#include "core/base/markup.h"

#include <gtest/gtest.h>

namespace lanescope {
namespace {

TEST(MarkupText, EscapesWhatMeansSomething) {
  EXPECT_EQ(MarkupText("a < \"b\" & c>"), "a &lt; &quot;b&quot; &amp; c&gt;");
}

// Law: nothing is left that XML 1.0 does not hold, whatever bytes a trace has as a name.
TEST(MarkupText, ShowsWhatNoXmlHolds) {
  EXPECT_EQ(MarkupText("\x1b[31m\xff\n"), "\\x1b[31m\\xff\\n");
  EXPECT_EQ(MarkupText("größer …"), "größer …");
}

}  // namespace
}  // namespace lanescope
