// SPDX-License-Identifier: Apache-2.0
// Where tensors that one device sends meet those that wait for them, under keys that both know.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/graph/tensor.h"
#include "exec/resources/attempts.h"
#include "exec/resources/resource_manager.h"

namespace lanescope::exec {

// Names a transfer as TensorFlow does: "SOURCE;INCARNATION;DESTINATION;TENSOR;FRAME:ITERATION", the
// incarnation of the source as 16 hexadecimal digits. Value type.
struct RendezvousKey {
  std::string source, destination;  // full names of devices
  uint64_t incarnation = 1;         // another one after the source's process has started anew
  std::string tensor;               // "edge_1_A1"
  int64_t frame = 0, iteration = 0;

  std::string ToString() const;
  // Throws InvalidArgument for what is no key.
  static RendezvousKey Parse(std::string_view text);
  friend bool operator==(const RendezvousKey&, const RendezvousKey&) = default;
};

// Sends never wait: what nobody has asked for yet is kept. Of one key the first sent is the first received.
// Who waits holds no thread: the callback runs once, on the thread of the other side's call, or on the
// caller's own before its call returns; no lock is held meanwhile, and it does not throw. Thread-safe.
class Rendezvous : public AttemptResource {
 public:
  static constexpr char kTypeName[] = "Rendezvous";
  // With an error the tensor is empty.
  using Received = std::function<void(const Error* error, Tensor tensor)>;

  Rendezvous() = default;
  ~Rendezvous() override { Abort(Error(Code::kCancelled, "the rendezvous has ended")); }
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // The one of all graphs whose sessions share these resources: what an end in one graph sends, an end in
  // another receives, in the same step or in a later one.
  static std::shared_ptr<Rendezvous> Of(ResourceManager* resources);

  // Throws what it was aborted with.
  void Send(const std::string& key, Tensor tensor);
  // The number to cancel it by, while it waits.
  AttemptNumber Receive(const std::string& key, Received received);
  bool Cancel(AttemptNumber attempt) override;
  // All waiters get this error, and so does every call from now on; kept values are dropped. The first
  // one counts.
  void Abort(const Error& error);

 private:
  // Never both.
  struct Meeting {
    std::deque<Tensor> sent;
    std::deque<std::pair<AttemptNumber, Received>> waiting;
  };

  std::mutex mutex_;
  std::map<std::string, Meeting> meetings_;
  AttemptNumber last_attempt_ = 0;
  std::optional<Error> aborted_;
};

}  // namespace lanescope::exec
