// Where tensors that one device sends meet those that wait for them, under keys that both know.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/graph/tensor.h"

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
class Rendezvous {
 public:
  // With an error the tensor is empty.
  using Received = std::function<void(const Error* error, Tensor tensor)>;

  Rendezvous() = default;
  ~Rendezvous() { Abort(Error(Code::kCancelled, "the rendezvous has ended")); }
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // Throws what it was aborted with.
  void Send(const std::string& key, Tensor tensor);
  void Receive(const std::string& key, Received received);
  // Whoever waits gets this error, and so does every call from now on; what was kept is dropped. The first
  // one counts.
  void Abort(const Error& error);

 private:
  // Never both.
  struct Meeting {
    std::deque<Tensor> sent;
    std::deque<Received> waiting;
  };

  std::mutex mutex_;
  std::map<std::string, Meeting> meetings_;
  std::optional<Error> aborted_;
};

}  // namespace lanescope::exec
