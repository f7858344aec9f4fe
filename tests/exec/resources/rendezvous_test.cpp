// SPDX-License-Identifier: Apache-2.0
// Cases F11 to F13: how a transfer between partitions is named, and how its two ends meet.
#include "exec/resources/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/core/base/expect_error.h"

namespace lanescope::exec {
namespace {

using testing::HasSubstr;

constexpr char kKey[] =
    "/job:a/replica:0/task:0/cpu:0;0000000000000052;/job:a/replica:0/task:0/cpu:1;edge_1_A1;0:0";

TEST(RendezvousKey, F11IsSourceIncarnationDestinationTensorAndTrip) {
  const RendezvousKey key = {.source = "/job:a/replica:0/task:0/cpu:0",
                             .destination = "/job:a/replica:0/task:0/cpu:1",
                             .incarnation = 82,
                             .tensor = "edge_1_A1"};
  EXPECT_EQ(key.ToString(), kKey);
  EXPECT_EQ(RendezvousKey::Parse(kKey), key);
}

TEST(RendezvousKey, F12WhatIsNoKeyIsRefused) {
  const std::string cpu = "/job:a/replica:0/task:0/cpu:0", hex = "0000000000000052";
  for (const std::string& text :
       {std::string(), cpu + ";" + hex + ";" + cpu + ";edge", cpu + ";" + hex + ";" + cpu + ";edge;0:0;",
        cpu + ";52;" + cpu + ";edge;0:0", cpu + ";000000000000005g;" + cpu + ";edge;0:0",
        "cpu:0;" + hex + ";" + cpu + ";edge;0:0", cpu + ";" + hex + ";/job:a;edge;0:0",
        cpu + ";" + hex + ";" + cpu + ";;0:0", cpu + ";" + hex + ";" + cpu + ";edge;0"}) {
    EXPECT_THAT(ErrorOf([&] { RendezvousKey::Parse(text); }),
                HasSubstr("InvalidArgument: Invalid  rendezvous key: " + text));
  }
}

// The result of a receive, or its error.
struct Outcome {
  std::vector<float> values;
  std::string error;

  Rendezvous::Received Receiver() {
    return [this](const Error* failed, Tensor tensor) {
      if (failed != nullptr) {
        error = failed->what();
      } else {
        values.push_back(tensor.data<float>()[0]);
      }
    };
  }
};

TEST(Rendezvous, F13EitherEndMayComeFirst) {
  Rendezvous rendezvous;
  Outcome outcome;
  rendezvous.Send(kKey, Tensor::Scalar(1.0f));
  rendezvous.Send(kKey, Tensor::Scalar(2.0f));
  rendezvous.Receive("another", outcome.Receiver());
  EXPECT_TRUE(outcome.values.empty());
  rendezvous.Receive(kKey, outcome.Receiver());
  rendezvous.Receive(kKey, outcome.Receiver());
  rendezvous.Receive(kKey, outcome.Receiver());
  EXPECT_EQ(outcome.values, (std::vector<float>{1, 2}));
  rendezvous.Send(kKey, Tensor::Scalar(3.0f));
  rendezvous.Send("another", Tensor::Scalar(4.0f));
  EXPECT_EQ(outcome.values, (std::vector<float>{1, 2, 3, 4}));
}

TEST(Rendezvous, AnAbortReachesWhoeverWaitsAndWhoeverComes) {
  Rendezvous rendezvous;
  Outcome waiting, late;
  rendezvous.Receive(kKey, waiting.Receiver());
  rendezvous.Abort(Error(Code::kCancelled, "the step has failed"));
  rendezvous.Abort(Error(Code::kInternal, "too late"));
  EXPECT_EQ(waiting.error, "Cancelled: the step has failed");
  rendezvous.Receive(kKey, late.Receiver());
  EXPECT_EQ(late.error, "Cancelled: the step has failed");
  EXPECT_EQ(ErrorOf([&] { rendezvous.Send(kKey, Tensor::Scalar(1.0f)); }), "Cancelled: the step has failed");
}

// Each tensor arrives once, in the order of its key, whichever end is ahead.
TEST(RendezvousThreads, EveryTensorArrivesInOrder) {
  constexpr int kKeys = 3, kPerKey = 2000;
  Rendezvous rendezvous;
  std::vector<std::vector<float>> received(kKeys);
  std::vector<std::jthread> threads;
  for (int key = 0; key < kKeys; ++key) {
    threads.emplace_back([&, key] {
      for (int i = 0; i < kPerKey; ++i)
        rendezvous.Send(std::to_string(key), Tensor::Scalar(static_cast<float>(i)));
    });
    threads.emplace_back([&, key] {
      for (int i = 0; i < kPerKey; ++i) {
        const auto arrived = std::make_shared<std::promise<float>>();
        std::future<float> value = arrived->get_future();
        rendezvous.Receive(std::to_string(key), [arrived](const Error*, Tensor tensor) {
          arrived->set_value(tensor.data<float>()[0]);
        });
        received[static_cast<size_t>(key)].push_back(value.get());
      }
    });
  }
  threads.clear();
  for (const std::vector<float>& values : received) {
    ASSERT_EQ(values.size(), static_cast<size_t>(kPerKey));
    for (int i = 0; i < kPerKey; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], static_cast<float>(i));
  }
}

}  // namespace
}  // namespace lanescope::exec
