// SPDX-License-Identifier: Apache-2.0
// Collectives of CUDA GPUs of several processes by NCCL. Internal to exec.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "exec/cuda/nccl_library.h"
#include "exec/device/joint_driver.h"

namespace lanescope::exec::cuda {

// One communicator for each GPU of this process, whose calls do not wait for other processes.
class NcclGroup : public JointGroup {
 public:
  // How long NCCL may take over the issue of a launch, which includes the first one's connections.
  static constexpr int64_t kMostIssuingNs = 60'000'000'000;

  NcclGroup(std::shared_ptr<const NcclLibrary> library, const NcclUniqueId& id, JointMembers members);
  // Aborted rather than destroyed, which waits for the other processes to do the same.
  ~NcclGroup() override { Abort(); }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  bool IsJoined() override;
  void Launch(const JointOperation& operation, int64_t elements, std::span<const JointPart> parts) override;
  std::optional<Error> Problem() override;
  void Abort() noexcept override;

 private:
  void AbortLocked() noexcept;
  bool HasSettledLocked() const;
  void Issue(const JointOperation& operation, int64_t elements, std::span<const JointPart> parts);
  void Check(const char* call, int result, NcclComm comm) const;

  const std::shared_ptr<const NcclLibrary> library_;
  const JointMembers members_;
  std::mutex mutex_;
  std::vector<NcclComm> comms_;  // of each device; empty: given up
};

}  // namespace lanescope::exec::cuda
