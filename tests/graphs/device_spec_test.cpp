// SPDX-License-Identifier: Apache-2.0
// Family C of the cases: TensorFlow's DeviceSpec, its texts and how two are merged.
#include "graphs/device_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/base/expect_error.h"

namespace lanescope::graphs {
namespace {

using testing::HasSubstr;

std::string Canonical(std::string_view text) { return DeviceSpec::Parse(text).ToString(); }

TEST(DeviceSpec, C01ToC06PrintsFieldsInCanonicalOrder) {
  EXPECT_EQ(DeviceSpec{}.ToString(), "");
  DeviceSpec spec{.job = "foo"};
  EXPECT_EQ(spec.ToString(), "/job:foo");
  spec.task = 3;
  EXPECT_EQ(spec.ToString(), "/job:foo/task:3");
  spec.type = "cpu";
  spec.index = 0;
  EXPECT_EQ(spec.ToString(), "/job:foo/task:3/device:CPU:0");
  spec.task = std::nullopt;
  spec.replica = 12;
  EXPECT_EQ(spec.ToString(), "/job:foo/replica:12/device:CPU:0");
  spec.type = "GPU";
  EXPECT_EQ(spec.ToString(), "/job:foo/replica:12/device:GPU:0");
  EXPECT_EQ((DeviceSpec{.type = "GPU"}.ToString()), "/device:GPU:*");
  EXPECT_EQ(Canonical("/replica:1/task:0/cpu:0"), "/replica:1/task:0/device:CPU:0");
  EXPECT_EQ(Canonical("/device:GPU:2/job:muu"), "/job:muu/device:GPU:2");
  EXPECT_EQ(Canonical("GPU:0"), "/device:GPU:0");
  EXPECT_EQ(Canonical("/GPU"), "/device:GPU:*");
  EXPECT_EQ(Canonical("/gpu:*"), "/device:GPU:*");
  EXPECT_EQ(Canonical("/job:j/device:MyFunnyDevice:2"), "/job:j/device:MyFunnyDevice:2");
}

TEST(DeviceSpec, C07AndC11ToC13RefusesWhatIsNoSpec) {
  const auto error = [](std::string_view text) { return ErrorOf([&] { DeviceSpec::Parse(text); }); };
  EXPECT_THAT(error("/job:muu/device:GPU:2/cpu:0"), HasSubstr("Multiple device types are not allowed"));
  EXPECT_THAT(error("/job:j/replica:foo"), HasSubstr("invalid literal for int"));
  EXPECT_THAT(error("/job:j/task:bar"), HasSubstr("invalid literal for int"));
  EXPECT_THAT(error("/barcpugpu"), HasSubstr("Unknown attribute 'barcpugpu'"));
  EXPECT_THAT(error("/bar:muu/baz:2"), HasSubstr("Unknown attribute 'bar'"));
  EXPECT_THAT(error("/gpu:x"), HasSubstr("InvalidArgument"));
}

TEST(DeviceSpec, C09AndC15MergesFieldByField) {
  DeviceSpec spec;
  const auto merge = [&spec](std::string_view over) {
    spec = spec.MergedWith(DeviceSpec::Parse(over));
    return spec.ToString();
  };
  EXPECT_EQ(merge("/task:1/cpu:0"), "/task:1/device:CPU:0");
  EXPECT_EQ(merge("/job:boo/device:GPU:0"), "/job:boo/task:1/device:GPU:0");
  EXPECT_EQ(merge("/job:muu/cpu:2"), "/job:muu/task:1/device:CPU:2");
  EXPECT_EQ(merge("/job:muu/device:MyFunnyDevice:2"), "/job:muu/task:1/device:MyFunnyDevice:2");
  // The index is merged apart from the type.
  EXPECT_EQ(DeviceSpec::Parse("/GPU:1").MergedWith(DeviceSpec::Parse("/CPU:*")).ToString(), "/device:CPU:1");
}

}  // namespace
}  // namespace lanescope::graphs
