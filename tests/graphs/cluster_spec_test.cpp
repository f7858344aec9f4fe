// SPDX-License-Identifier: Apache-2.0
// Cases J01 to J07: the jobs of a cluster and their tasks.
#include "graphs/cluster_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs/ops.h"
#include "graphs/replica_devices.h"
#include "tests/core/base/expect_error.h"
#include "tests/graphs/nodes.h"

namespace lanescope::graphs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ClusterSpec, J01PrintsAsInTensorFlow) {
  const std::string text = "ClusterSpec({'ps': ['ps0:1111'], 'worker': ['worker0:3333', 'worker1:4444']})";
  ClusterSpec spec;
  spec.AddJob("worker", {"worker0:3333", "worker1:4444"});
  spec.AddJob("ps", {"ps0:1111"});
  EXPECT_EQ(spec.ToString(), text);
  const ClusterSpec parsed = ClusterSpec::Parse("ps=ps0:1111;worker=worker0:3333,worker1:4444");
  EXPECT_EQ(parsed, spec);
  EXPECT_THAT(parsed.jobs(), ElementsAre("ps", "worker"));
}

TEST(ClusterSpec, J03TasksMayHaveGaps) {
  ClusterSpec spec;
  spec.AddTask("sparse", 0, "a");
  spec.AddTask("sparse", 2, "c");
  EXPECT_EQ(spec.num_tasks("sparse"), 2);
  EXPECT_THAT(spec.task_indices("sparse"), ElementsAre(0, 2));
  EXPECT_THAT(spec.job_tasks("sparse"), ElementsAre("a", std::nullopt, "c"));
  EXPECT_EQ(spec.task_address("sparse", 2), "c");
  EXPECT_EQ(ErrorOf([&] { spec.task_address("sparse", 1); }),
            "NotFound: No task with index 1 in job 'sparse'");
  EXPECT_EQ(ErrorOf([&] { spec.num_tasks("dense"); }), "NotFound: No such job in cluster: 'dense'");
  EXPECT_EQ(spec.ToString(), "ClusterSpec({'sparse': {0: 'a', 2: 'c'}})");
}

TEST(ClusterSpec, J05OneWithoutJobsIsFalse) {
  EXPECT_FALSE(ClusterSpec());
  EXPECT_FALSE(ClusterSpec::Parse(""));
  EXPECT_TRUE(ClusterSpec::Parse("local=here:1"));
}

TEST(ClusterSpec, J07AServerHasAPort) {
  const ClusterSpec spec = ClusterSpec::Parse("local=localhost,localhost:2222,localhost:70000,:1,localhost:");
  EXPECT_EQ(spec.task_endpoint("local", 1), (std::pair<std::string, uint16_t>("localhost", 2222)));
  for (const int task : {0, 2, 3, 4}) {
    EXPECT_THAT(ErrorOf([&] { spec.task_endpoint("local", task); }),
                testing::AllOf(HasSubstr("InvalidArgument"), HasSubstr("port")));
  }
}

TEST(ClusterSpec, WhatIsNoClusterIsRefused) {
  for (const char* text : {"ps", "=a:1", "ps=", "ps=a:1;"})
    EXPECT_THAT(ErrorOf([&] { ClusterSpec::Parse(text); }), HasSubstr("JOB=HOST:PORT"));
  EXPECT_THAT(ErrorOf([&] { ClusterSpec::Parse("a=x:1;a=y:1"); }), HasSubstr("AlreadyExists"));
}

// Law: as many servers as the cluster's job of servers has tasks.
TEST(ReplicaDevices, ServersAreThoseOfTheCluster) {
  const ClusterSpec cluster = ClusterSpec::Parse("ps=ps0:2222,ps1:2222;worker=w0:2222,w1:2222,w2:2222");
  Scope s;
  const auto setter = s.Device(ReplicaDevices({.cluster = cluster}));
  std::vector<std::string> devices;
  for (int i = 0; i < 3; ++i) devices.push_back(DeviceOf(s, s.NewVariable(1.0, {.name = "v"}).ref));
  EXPECT_THAT(devices, ElementsAre("/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"));
  EXPECT_EQ(ReplicaDevices({.cluster = ClusterSpec::Parse("worker=w0:1")}), nullptr);
}

}  // namespace
}  // namespace lanescope::graphs
