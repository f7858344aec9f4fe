// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/nccl_peers.h"

#include <shared_mutex>
#include <utility>

#include "core/base/error.h"

namespace lanescope::exec::cuda {
namespace {

class NcclChannel : public PeerChannel {
 public:
  NcclChannel(std::shared_ptr<const NcclLibrary> library, Api* api, JointDriver* joint, StreamDevice* device,
              const NcclUniqueId& id, int end)
      : library_(std::move(library)), api_(*api), joint_(*joint), device_(*device), other_(1 - end) {
    device_.MakeCurrent();
    event_ = api_.CreateEvent(false);
    try {
      // Among kernels that wait for multiprocessors, one that holds up another GPU comes first.
      stream_ = api_.CreateStream(nullptr, api_.StreamPriorities().first);
      NcclConfig config;
      Check("ncclCommInitRankConfig", library_->comm_init_rank_config(&comm_, 2, id, end, &config));
    } catch (...) {
      GiveBack();
      throw;
    }
  }
  // Aborted rather than destroyed, which waits for the other process to do the same.
  ~NcclChannel() override {
    Abort();
    GiveBack();
  }
  NcclChannel(const NcclChannel&) = delete;
  NcclChannel& operator=(const NcclChannel&) = delete;

  bool IsJoined() override { return HasSettled("joining a GPU of another process"); }

  void Send(const void* data, int64_t bytes) override {
    Issue("ncclSend", [&](NcclComm comm, void* stream) {
      return library_->send(data, static_cast<size_t>(bytes), kNcclInt8, other_, comm, stream);
    });
  }
  void Receive(void* data, int64_t bytes) override {
    Issue("ncclRecv", [&](NcclComm comm, void* stream) {
      return library_->receive(data, static_cast<size_t>(bytes), kNcclInt8, other_, comm, stream);
    });
  }

  // It is on the stream once NCCL is through with the call.
  bool IsThrough() override {
    if (!HasSettled("a transfer to or from a GPU of another process")) return false;
    if (!is_marked_) {
      device_.MakeCurrent();
      api_.Record(event_, stream_);
      is_marked_ = true;
    }
    return api_.IsReached(event_);
  }

  void Abort() noexcept override {
    if (comm_ == nullptr) return;
    library_->comm_abort(std::exchange(comm_, nullptr));
    try {
      device_.MakeCurrent();
      api_.Synchronize(stream_);
    } catch (const Error&) {  // a GPU that has failed runs nothing any more
    }
  }

 private:
  void Check(const char* call, int result) const {
    if (result != kNcclSuccess && result != kNcclInProgress) throw library_->ErrorOf(call, result, comm_);
  }

  // Whether the calls so far are through on the host.
  bool HasSettled(const char* what) const {
    RequireOpen();
    int state = kNcclSuccess;
    Check("ncclCommGetAsyncError", library_->comm_get_async_error(comm_, &state));
    Check(what, state);
    return state == kNcclSuccess;
  }

  template <typename Call>
  void Issue(const char* name, Call call) {
    RequireOpen();
    const std::shared_lock<std::shared_mutex> between_joint_launches(joint_.issue_mutex());
    device_.MakeCurrent();
    is_marked_ = false;
    Check(name, call(comm_, stream_));
  }

  void RequireOpen() const {
    if (comm_ == nullptr)
      Throw(Code::kFailedPrecondition,
            "the connection of two GPUs was given up with an earlier step; make another session");
  }

  void GiveBack() noexcept {
    if (stream_ != nullptr) api_.DestroyStream(stream_);
    api_.DestroyEvent(event_);
  }

  const std::shared_ptr<const NcclLibrary> library_;
  Api& api_;
  JointDriver& joint_;
  StreamDevice& device_;
  const int other_;  // the other end's rank
  StreamHandle stream_ = nullptr;
  EventHandle event_ = nullptr;  // behind the last transfer, once it is marked
  bool is_marked_ = false;
  NcclComm comm_ = nullptr;  // null: given up
};

}  // namespace

std::string NcclPeers::NewConnection() {
  const auto library = LibraryForProcesses();
  NcclUniqueId id{};
  const int result = library->get_unique_id(&id);
  if (result != kNcclSuccess) throw library->ErrorOf("ncclGetUniqueId", result, nullptr);
  return {id.bytes, sizeof id.bytes};
}

std::unique_ptr<PeerChannel> NcclPeers::Join(const std::string& connection, int end) {
  return std::make_unique<NcclChannel>(LibraryForProcesses(), &api_, &joint_, &device_,
                                       UniqueIdOf(connection), end);
}

}  // namespace lanescope::exec::cuda
