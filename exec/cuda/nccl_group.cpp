// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/nccl_group.h"

#include <chrono>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "exec/cuda/nccl.h"

namespace lanescope::exec::cuda {
namespace {

constexpr std::chrono::microseconds kPause{20};

}  // namespace

NcclGroup::NcclGroup(std::shared_ptr<const NcclLibrary> library, const NcclUniqueId& id, JointMembers members)
    : library_(std::move(library)), members_(std::move(members)), comms_(members_.devices.size(), nullptr) {
  std::vector<NcclConfig> configs(comms_.size());
  Check("ncclGroupStart", library_->group_start(), nullptr);
  int result = kNcclSuccess;
  for (size_t i = 0; i < comms_.size() && (result == kNcclSuccess || result == kNcclInProgress); ++i) {
    members_.devices[i]->MakeCurrent();
    result = library_->comm_init_rank_config(&comms_[i], members_.count, id, members_.ranks[i], &configs[i]);
  }
  const int ended = library_->group_end();
  try {
    Check("ncclCommInitRankConfig", result, nullptr);
    Check("ncclGroupEnd", ended, nullptr);
  } catch (...) {
    AbortLocked();
    throw;
  }
}

void NcclGroup::Check(const char* call, int result, NcclComm comm) const {
  if (result != kNcclSuccess && result != kNcclInProgress) throw library_->ErrorOf(call, result, comm);
}

bool NcclGroup::HasSettledLocked() const {
  if (comms_.empty())
    Throw(Code::kFailedPrecondition,
          "the group of GPUs was given up with an earlier step; make another session");
  bool settled = true;
  for (const NcclComm comm : comms_) {
    int state = kNcclSuccess;
    Check("ncclCommGetAsyncError", library_->comm_get_async_error(comm, &state), comm);
    Check("a collective with GPUs of other processes", state, comm);
    settled = settled && state == kNcclSuccess;
  }
  return settled;
}

bool NcclGroup::IsJoined() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return HasSettledLocked();
}

void NcclGroup::Issue(const JointOperation& operation, int64_t elements, std::span<const JointPart> parts) {
  Check("ncclGroupStart", library_->group_start(), nullptr);
  int result = kNcclSuccess;
  for (size_t i = 0; i < parts.size() && (result == kNcclSuccess || result == kNcclInProgress); ++i)
    result = IssueNccl(*library_, operation, elements, parts[i], comms_[i]);
  // The group ends whatever happened in it.
  const int ended = library_->group_end();
  Check(NcclCallOf(operation.kind), result, comms_[0]);
  Check("ncclGroupEnd", ended, comms_[0]);
}

// Parts are on their streams once NCCL is through with the calls.
void NcclGroup::Launch(const JointOperation& operation, int64_t elements, std::span<const JointPart> parts) {
  const int64_t begin = NowNs();
  std::unique_lock<std::mutex> lock(mutex_);
  HasSettledLocked();  // throws where it is given up
  try {
    Issue(operation, elements, parts);
    while (!HasSettledLocked()) {
      if (NowNs() - begin > kMostIssuingNs)
        Throw(Code::kDeadlineExceeded, "NCCL has not issued a collective within {} s",
              kMostIssuingNs / 1'000'000'000);
      lock.unlock();
      std::this_thread::sleep_for(kPause);
      lock.lock();
    }
  } catch (...) {
    AbortLocked();
    throw;
  }
}

std::optional<Error> NcclGroup::Problem() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (comms_.empty()) return std::nullopt;
  try {
    HasSettledLocked();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

void NcclGroup::Abort() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  AbortLocked();
}

void NcclGroup::AbortLocked() noexcept {
  for (const NcclComm comm : comms_) {
    if (comm != nullptr) library_->comm_abort(comm);
  }
  comms_.clear();
}

}  // namespace lanescope::exec::cuda
