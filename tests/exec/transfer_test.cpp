// SPDX-License-Identifier: Apache-2.0
// Transfers whose ends are in different graphs or steps (cases F11 to F13): what a send gives, a receive
// takes.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "exec/resources/rendezvous.h"
#include "tests/exec/session_harness.h"

namespace lanescope::exec::test {
namespace {

constexpr char kSource[] = "/job:a/replica:0/task:0/cpu:0", kDestination[] = "/job:a/replica:0/task:0/cpu:1";
// The key of the edge below, as case F11 has it.
constexpr char kKey[] =
    "/job:a/replica:0/task:0/cpu:0;0000000000000052;/job:a/replica:0/task:0/cpu:1;edge_1_A1;0:0";

NodeBuilder End(GraphBuilder& builder, const char* op, const std::string& tensor = "edge_1_A1",
                const char* source = kSource) {
  return builder.Op(op, op == std::string("_Send") ? "send" : "receive")
      .Attr("tensor_name", tensor)
      .Attr("send_device", source)
      .Attr("send_device_incarnation", 82)
      .Attr("recv_device", kDestination)
      .Attr("client_terminated", false);
}

// A graph that sends what is fed to it, or one that negates what it receives, in a session of its own.
class Partition {
 public:
  Partition(const Graph& graph, std::shared_ptr<ResourceManager> resources)
      : machine_(VirtualMachine(1, 1)), graph_(graph), placement_(PlaceAll(graph_, machine_.host())) {
    SessionOptions options;
    options.resources = std::move(resources);
    session_ = std::make_unique<Session>(graph_, placement_, machine_, options);
  }
  void Send(float value) { session_->Run({{{"x", Tensor::Scalar(value)}}, {}, {"send"}}); }
  float Receive(int64_t timeout_ms = 0) {
    return session_->Run({{}, {"negated"}, {}}, {.timeout_ns = timeout_ms * 1000000})
        .fetches[0]
        .data<float>()[0];
  }

 private:
  const Machine machine_;
  const Graph graph_;
  const Placement placement_;
  std::unique_ptr<Session> session_;
};

Graph SendingGraph() {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{});
  End(builder, "_Send").Input(x).Attr("T", DataType::kFloat).Build();
  return builder.Take();
}

Graph ReceivingGraph(DataType dtype = DataType::kFloat, const char* source = kSource) {
  GraphBuilder builder;
  const Endpoint received = End(builder, "_Recv", "edge_1_A1", source).Attr("tensor_type", dtype).Build();
  builder.Op("Neg", "negated").Input(received).Build();
  return builder.Take();
}

class Transfers : public ::testing::Test {
 protected:
  const std::shared_ptr<ResourceManager> resources_ = std::make_shared<ResourceManager>();
  Partition sender_{SendingGraph(), resources_}, receiver_{ReceivingGraph(), resources_};
};

// A tensor that nobody waits for is kept, in the order in which it was sent.
TEST_F(Transfers, F13TheSendComesFirst) {
  sender_.Send(1);
  sender_.Send(2);
  EXPECT_EQ(receiver_.Receive(), -1);
  EXPECT_EQ(receiver_.Receive(), -2);
}

TEST_F(Transfers, F13TheReceiveComesFirst) {
  float received = 0;
  std::thread waiting([&] { received = receiver_.Receive(); });
  sender_.Send(3);
  waiting.join();
  EXPECT_EQ(received, -3);
}

// Under the key of case F11 a program meets a graph, too.
TEST_F(Transfers, F11TheKeyIsTensorFlows) {
  Rendezvous::Of(resources_.get())->Send(kKey, Tensor::Scalar(4.0f));
  EXPECT_EQ(receiver_.Receive(), -4);
  sender_.Send(5);
  float received = 0;
  Rendezvous::Of(resources_.get())->Receive(kKey, [&](const Error* error, const Tensor& tensor) {
    EXPECT_EQ(error, nullptr);
    received = tensor.data<float>()[0];
  });
  EXPECT_EQ(received, 5);
}

// A receive that nobody answers ends with its step, and takes nothing.
TEST_F(Transfers, AReceiveEndsWithItsStep) {
  ExpectError(Code::kDeadlineExceeded, {}, [&] { receiver_.Receive(50); });
  sender_.Send(6);
  EXPECT_EQ(receiver_.Receive(), -6);
}

TEST_F(Transfers, AnotherTypeIsRefused) {
  Partition other(ReceivingGraph(DataType::kInt32), resources_);
  sender_.Send(7);
  ExpectError(Code::kInvalidArgument, {"what was sent is float, not int32"}, [&] { other.Receive(); });
}

TEST_F(Transfers, F12WhatIsNoKeyIsRefused) {
  ExpectError(Code::kInvalidArgument, {"Invalid  rendezvous key: cpu:0;0000000000000052;"}, [&] {
    Partition wrong(ReceivingGraph(DataType::kFloat, "cpu:0"), resources_);
    wrong.Receive();
  });
}

}  // namespace
}  // namespace lanescope::exec::test
