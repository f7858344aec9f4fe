// SPDX-License-Identifier: Apache-2.0
// Graphs of queues and readers, and sessions on the host alone that run parts of them from several threads.
#pragma once

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/exec/session_harness.h"

namespace lanescope::exec::test {

struct Pipeline {
  explicit Pipeline(Graph built, int workers = 1, const SessionOptions& options = {})
      : graph(std::move(built)),
        machine(HostOf(workers)),
        placement(PlaceAll(graph, machine.host())),
        session(graph, placement, machine, options) {}

  static Machine HostOf(int workers) {
    Machine machine = FastMachine(1, workers);
    machine.devices[machine.host()].workers = workers;
    return machine;
  }

  void Do(const std::string& target) { session.Run({{}, {}, {target}}); }
  std::vector<Tensor> Get(const std::vector<std::string>& fetches) {
    return session.Run({{}, fetches, {}}).fetches;
  }
  std::vector<float> Floats(const std::string& fetch) {
    const Tensor tensor = Get({fetch})[0];
    return {tensor.data<float>(), tensor.data<float>() + tensor.NumElements()};
  }
  int Size(const std::string& fetch) { return Get({fetch})[0].data<int32_t>()[0]; }
  // "Code: message" of what the call throws, or "done".
  static std::string Outcome(const std::function<void()>& call) {
    const auto error = ErrorOf(call);
    return error.has_value() ? error->what() : "done";
  }
  std::future<std::string> DoLater(const std::string& target) {
    return std::async(std::launch::async, [this, target] { return Outcome([&] { Do(target); }); });
  }

  Graph graph;
  Machine machine;
  Placement placement;
  Session session;
};

inline AttrValue Types(std::vector<DataType> types) { return AttrValue(std::move(types)); }
inline AttrValue Shapes(const std::vector<Shape>& shapes) {
  std::vector<ShapeAttr> list;
  for (const Shape& shape : shapes) list.push_back({shape, ""});
  return AttrValue(std::move(list));
}

// A queue of scalar floats, "q", and what is done with it.
inline Endpoint FloatQueueNode(GraphBuilder* builder, const std::string& op, int64_t capacity,
                               const std::string& shared_name = "", const std::string& name = "q") {
  return builder->Op(op, name)
      .Attr("component_types", Types({DataType::kFloat}))
      .Attr("shapes", Shapes({Shape{}}))
      .Attr("capacity", capacity)
      .Attr("shared_name", shared_name)
      .Build();
}

inline void Enqueue(GraphBuilder* builder, const std::string& name, Endpoint queue, float value) {
  builder->Op("QueueEnqueueV2", name).Input(queue).Input(builder->Scalar(name + "/value", value)).Build();
}

inline void EnqueueMany(GraphBuilder* builder, const std::string& name, Endpoint queue,
                        const std::vector<float>& values) {
  const Tensor batch = Tensor::FromValues(Shape{static_cast<int64_t>(values.size())}, values);
  builder->Op("QueueEnqueueManyV2", name).Input(queue).Input(builder->Const(name + "/values", batch)).Build();
}

inline void Dequeue(GraphBuilder* builder, const std::string& name, Endpoint queue) {
  builder->Op("QueueDequeueV2", name).Input(queue).Attr("component_types", Types({DataType::kFloat})).Build();
}

inline void DequeueMany(GraphBuilder* builder, const std::string& op, const std::string& name, Endpoint queue,
                        int32_t count) {
  builder->Op(op, name)
      .Input(queue)
      .Input(builder->Scalar(name + "/n", count))
      .Attr("component_types", Types({DataType::kFloat}))
      .Build();
}

inline void Size(GraphBuilder* builder, Endpoint queue) {
  builder->Op("QueueSizeV2", "size").Input(queue).Build();
}

inline void Close(GraphBuilder* builder, Endpoint queue) {
  builder->Op("QueueCloseV2", "close").Input(queue).Build();
  builder->Op("QueueCloseV2", "cancel").Input(queue).Attr("cancel_pending_enqueues", true).Build();
}

// Waits until the queue of the session's manager has so many attempts that wait.
template <typename Condition>
void Until(Condition condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace lanescope::exec::test
