// SPDX-License-Identifier: Apache-2.0
// Ends of transfers whose other end is in another graph or step: they meet in the rendezvous of all sessions
// that share resources.
#include "exec/kernels/host_tensors.h"
#include "exec/kernels/op_kernel.h"
#include "exec/kernels/queue_attempt.h"
#include "exec/kernels/queue_kernels.h"
#include "exec/resources/rendezvous.h"

namespace lanescope::exec {
namespace {

std::string KeyOf(const Node& node) {
  RendezvousKey key;
  key.source = node.StringAttr("send_device");
  key.destination = node.StringAttr("recv_device");
  key.incarnation = static_cast<uint64_t>(node.IntAttr("send_device_incarnation", 0));
  key.tensor = node.StringAttr("tensor_name");
  const std::string text = key.ToString();
  RendezvousKey::Parse(text);
  return text;
}

std::shared_ptr<Rendezvous> RendezvousOf(KernelContext& context) {
  return Rendezvous::Of(&context.resources());
}

class SendKernel final : public Kernel {
 public:
  explicit SendKernel(const Node& node) : key_(KeyOf(node)) {}
  void Compute(KernelContext& context) override {
    RendezvousOf(context)->Send(key_, CopyOf(context.input(0)));
  }

 private:
  const std::string key_;
};

class ReceiveKernel final : public WaitingKernel {
 public:
  explicit ReceiveKernel(const Node& node) : key_(KeyOf(node)), dtype_(node.TypeAttr("tensor_type")) {}

  bool Advance(KernelContext& context, const std::function<void()>& resume) override {
    if (!attempt_.in_progress()) {
      const std::shared_ptr<Rendezvous> rendezvous = RendezvousOf(context);
      const auto submit = [&] {
        return rendezvous->Receive(key_, [this](const Error* error, Tensor tensor) {
          QueueTuple tuple;
          tuple.push_back(std::move(tensor));
          attempt_.Finish(error, std::move(tuple));
        });
      };
      if (!attempt_.Begin(rendezvous, resume, submit)) return false;
    }
    const QueueTuple received = attempt_.Take();
    if (received[0].dtype() != dtype_) {
      Throw(Code::kInvalidArgument, "what was sent is {}, not {} ({})", DataTypeName(received[0].dtype()),
            DataTypeName(dtype_), key_);
    }
    WriteOutput(context, 0, received[0]);
    return true;
  }
  void Cancel() override { attempt_.Cancel(); }
  std::string WaitsFor() const override { return "the tensor " + key_; }

 private:
  const std::string key_;
  const DataType dtype_;
  QueueAttempt attempt_;
};

}  // namespace

void RegisterTransferKernels(KernelRegistry& registry) {
  for (const std::string at : {"_", "_Host"}) {
    registry.Register(at + "Send", MakeKernel<SendKernel>);
    registry.Register(at + "Recv", MakeKernel<ReceiveKernel>);
  }
}

}  // namespace lanescope::exec
