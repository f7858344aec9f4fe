// SPDX-License-Identifier: Apache-2.0
#include "core/machine/device_name.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace lanescope {
namespace {

DeviceName Parsed(std::string_view text) {
  DeviceName name;
  EXPECT_TRUE(ParseDeviceName(text, &name)) << text;
  return name;
}

bool IsParsed(std::string_view text) {
  DeviceName name;
  return ParseDeviceName(text, &name);
}

// "job/replica/task/type/id", '-' for what is not set.
std::string Fields(const DeviceName& name) {
  const auto number = [](bool has, int value) { return has ? std::to_string(value) : std::string("-"); };
  return (name.has_job ? name.job : "-") + "/" + number(name.has_replica, name.replica) + "/" +
         number(name.has_task, name.task) + "/" + (name.has_type ? name.type : "-") + "/" +
         number(name.has_id, name.id);
}

std::string Fields(std::string_view text) { return Fields(Parsed(text)); }

TEST(DeviceNameTest, A01_PrintsAllComponentsInOrder) {
  DeviceName name;
  name.has_job = name.has_replica = name.has_task = name.has_type = name.has_id = true;
  name.job = "hello";
  name.replica = 1;
  name.task = 2;
  name.type = "CPU";
  name.id = 3;
  EXPECT_EQ(name.ToString(), "/job:hello/replica:1/task:2/device:CPU:3");
}

TEST(DeviceNameTest, A02_A04_ParsesLegacyForms) {
  EXPECT_EQ(Fields("/job:foo/replica:1/task:2/cpu:3"), "foo/1/2/CPU/3");
  EXPECT_EQ(Fields("/job:foo/replica:1/task:2/GPU:3"), "foo/1/2/GPU/3");
}

TEST(DeviceNameTest, A03_JobStartsWithALetter) { EXPECT_FALSE(IsParsed("/job:123/replica:1/task:2/gpu:3")); }

TEST(DeviceNameTest, A05_ColonWithoutNumberFails) {
  EXPECT_FALSE(IsParsed("/job:123/replica:1/task:2/device:gpu:"));
  EXPECT_FALSE(IsParsed("/job:foo/device:gpu:"));
}

TEST(DeviceNameTest, A07_NegativeTaskFails) { EXPECT_FALSE(IsParsed("/job:foo/replica:1/task:-2/gpu:3")); }

TEST(DeviceNameTest, A09_TrailingTextFails) {
  EXPECT_FALSE(IsParsed("/job:foo/replica:1/task:2/gpu:3/extra"));
}

TEST(DeviceNameTest, A11_UnderscoreInJob) {
  EXPECT_EQ(Fields("/job:foo_bar/replica:1/task:2/gpu:3"), "foo_bar/1/2/GPU/3");
}

TEST(DeviceNameTest, A13_StarsAreUnset) { EXPECT_EQ(Fields("/job:*/replica:4/gpu:*"), "-/4/-/GPU/-"); }

TEST(DeviceNameTest, A15_AnyDeviceType) {
  EXPECT_EQ(Fields("/job:*/replica:4/device:myspecialdevice:13"), "-/4/-/myspecialdevice/13");
}

TEST(DeviceNameTest, A17_AnyOrder) { EXPECT_EQ(Fields("/gpu:*/job:*/replica:4"), "-/4/-/GPU/-"); }

TEST(DeviceNameTest, A19_TypeTextIsKept) {
  for (const std::string type : {"CPU", "GPU", "someDevice", "gpu"}) {
    EXPECT_EQ(Fields("/job:*/replica:4/device:" + type + ":3"), "-/4/-/" + type + "/3");
  }
}

TEST(DeviceNameTest, A21_A23_LocalNames) {
  DeviceName name;
  ASSERT_TRUE(ParseLocalDeviceName("CPU:10", &name));
  EXPECT_EQ(Fields(name), "-/-/-/CPU/10");
  EXPECT_EQ(name.LocalName(), "CPU:10");
  EXPECT_TRUE(ParseLocalDeviceName("/device:abc:73", &name));
  EXPECT_EQ(name.LocalName(), "abc:73");
  for (const char* bad : {"", "CPU", "CPU:", "CPU:x", "CPU:1/x", ":1", "CPU:*", "1:1"}) {
    EXPECT_FALSE(ParseLocalDeviceName(bad, &name)) << bad;
  }
  std::string task, device;
  ASSERT_TRUE(SplitDeviceName("/job:foo/replica:1/task:2/device:CPU:3", &task, &device));
  EXPECT_EQ(device, "CPU:3");
}

TEST(DeviceNameTest, A25_LastOfTwoDevicesWins) { EXPECT_EQ(Fields("/cpu:0/gpu:1"), "-/-/-/GPU/1"); }

TEST(DeviceNameTest, LastOfRepeatedComponentsWinsEvenWhenItUnsets) {
  EXPECT_EQ(Fields("/job:a/job:b/task:1/task:*"), "b/-/-/-/-");
  EXPECT_EQ(Fields("/gpu:1/device:CPU"), "-/-/-/CPU/-");
  EXPECT_EQ(Fields("/device:*:3"), "-/-/-/-/3");
}

TEST(DeviceNameTest, EmptyNamesAndMalformedOnes) {
  EXPECT_EQ(Fields(""), "-/-/-/-/-");
  EXPECT_EQ(Fields("/"), "-/-/-/-/-");
  for (const char* bad :
       {"gpu:3", "/gpu", "/bar:3", "//", "/job:", "/replica:99999999999999999999", "/device:"}) {
    EXPECT_FALSE(IsParsed(bad)) << bad;
  }
}

TEST(DeviceNameTest, TypeWithoutIdPrintsAStar) {
  EXPECT_EQ(Parsed("/device:GPU").ToString(), "/device:GPU:*");
  EXPECT_EQ(Parsed("/device:*:3").ToString(), "");
}

TEST(DeviceNameTest, A31_A33_AddressSpace) {
  const DeviceName a = Parsed("/job:foo/replica:1/task:2/cpu:3");
  EXPECT_TRUE(IsSameAddressSpace(a, Parsed("/job:foo/replica:1/task:2/gpu:4")));
  EXPECT_FALSE(IsSameAddressSpace(a, Parsed("/job:foo/replica:1/task:3/gpu:4")));
  EXPECT_FALSE(IsSameAddressSpace(a, Parsed("/job:bar/replica:1/task:2/gpu:4")));
  EXPECT_FALSE(IsSameAddressSpace(Parsed("/job:foo"), Parsed("/job:foo")));
}

TEST(DeviceNameTest, A41_A43_A45_Split) {
  std::string task, device;
  ASSERT_TRUE(SplitDeviceName("/job:foo/device:CPU:1/task:2/replica:1", &task, &device));
  EXPECT_EQ(task, "/job:foo/replica:1/task:2");
  EXPECT_EQ(device, "CPU:1");
  ASSERT_TRUE(SplitDeviceName("/gpu:3", &task, &device));
  EXPECT_EQ(task, "");
  EXPECT_EQ(device, "GPU:3");
  EXPECT_FALSE(SplitDeviceName("/job:foo/task:2/replica:1", &task, &device));
}

TEST(DeviceNameTest, A51_PatternsMatchDevices) {
  const DeviceName device = Parsed("/job:work/replica:1/task:2/device:GPU:3");
  EXPECT_TRUE(Matches(Parsed("/job:*"), device));
  EXPECT_TRUE(Matches(Parsed("/gpu:*"), device));
  EXPECT_TRUE(Matches(Parsed("/job:work/gpu:3"), device));
  EXPECT_FALSE(Matches(Parsed("/cpu:*"), device));
  EXPECT_FALSE(Matches(Parsed("/gpu:2"), Parsed("/job:work/replica:1/task:2/device:GPU:1")));
}

TEST(DeviceNameTest, A55_A57_A59_A61_A63_Specifications) {
  const auto is = [](std::string_view less, std::string_view more) {
    return Matches(Parsed(less), Parsed(more));
  };
  EXPECT_TRUE(is("/job:*", "/replica:1"));
  EXPECT_TRUE(is("/job:work/replica:1/gpu:*", "/job:work/replica:1/task:2/gpu:1"));
  EXPECT_TRUE(is("/cpu:0", "/cpu:0"));
  EXPECT_FALSE(is("/cpu:*", "/job:work/replica:1/task:2"));
  EXPECT_FALSE(is("/cpu:*", "/job:work/replica:1/task:2/gpu:*"));
  EXPECT_FALSE(is("/job:work/replica:*/task:0", "/job:work/replica:*/task:2"));
}

// Merges both ways round, which must agree.
std::string Merged(std::string_view a, std::string_view b, bool soft) {
  DeviceName left = Parsed(a), right = Parsed(b);
  MergeDeviceNames(&left, Parsed(b), soft);
  MergeDeviceNames(&right, Parsed(a), soft);
  EXPECT_EQ(left, right);
  return left.ToString();
}

std::string MergeError(std::string_view a, std::string_view b, bool soft) {
  DeviceName target = Parsed(a);
  const DeviceName before = target;
  try {
    MergeDeviceNames(&target, Parsed(b), soft);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_EQ(target, before) << "a failed merge leaves its target";
    return error.message();
  }
  return "";
}

TEST(DeviceNameTest, B01_B03_B05_B07_B09_StrictMerges) {
  EXPECT_EQ(Merged("", "", false), "");
  EXPECT_EQ(Merged("", "/job:foo", false), "/job:foo");
  EXPECT_EQ(Merged("/job:foo", "/task:7", false), "/job:foo/task:7");
  EXPECT_EQ(Merged("/job:foo/replica:0", "/replica:0/task:1", false), "/job:foo/replica:0/task:1");
  EXPECT_EQ(Merged("/gpu:*", "/gpu:*", false), "/device:GPU:*");
  EXPECT_EQ(Merged("/gpu:*", "/gpu:1", false), "/device:GPU:1");
}

TEST(DeviceNameTest, B11_B13_TaskPartNeverSoftens) {
  for (const bool soft : {false, true}) {
    EXPECT_EQ(MergeError("/job:foo", "/job:bar", soft),
              "Cannot merge devices with incompatible jobs: '/job:foo' and '/job:bar'");
    EXPECT_EQ(MergeError("/task:0", "/task:1", soft),
              "Cannot merge devices with incompatible tasks: '/task:0' and '/task:1'");
    EXPECT_EQ(MergeError("/replica:0", "/replica:1", soft),
              "Cannot merge devices with incompatible replicas: '/replica:0' and '/replica:1'");
  }
}

TEST(DeviceNameTest, B15_StrictDeviceConflicts) {
  EXPECT_EQ(MergeError("/gpu:0", "/gpu:1", false),
            "Cannot merge devices with incompatible ids: '/device:GPU:0' and '/device:GPU:1'");
  EXPECT_EQ(MergeError("/cpu:*", "/gpu:*", false),
            "Cannot merge devices with incompatible types: '/device:CPU:*' and '/device:GPU:*'");
}

TEST(DeviceNameTest, B17_SoftDeviceConflicts) {
  EXPECT_EQ(Merged("/cpu:*", "/gpu:1", true), "");
  EXPECT_EQ(Merged("/gpu:0", "/gpu:1", true), "/device:GPU:*");
  EXPECT_EQ(Merged("/job:a/cpu:0", "/job:a/gpu:0", true), "/job:a");
}

TEST(DeviceNameTest, MergeOverrideTakesTheOthersDevice) {
  DeviceName target = Parsed("/job:a/cpu:1");
  MergeOverrideDeviceNames(&target, Parsed("/gpu:2"));
  EXPECT_EQ(target.ToString(), "/job:a/device:GPU:2");
  EXPECT_THROW(MergeOverrideDeviceNames(&target, Parsed("/job:b")), Error);
}

}  // namespace
}  // namespace lanescope
