// SPDX-License-Identifier: Apache-2.0
// Collectives of CUDA GPUs by NCCL. Internal to exec.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/cuda/nccl_library.h"
#include "exec/device/joint_driver.h"

namespace lanescope::exec::cuda {

// "ncclAllReduce", ...
const char* NcclCallOf(CollectiveKind kind);
// Gives a rank's part to its device's compute stream: NCCL's result. Throws Unimplemented for a type that it
// is not asked for.
int IssueNccl(const NcclLibrary& library, const JointOperation& operation, int64_t elements,
              const JointPart& part, NcclComm comm);

// The communicators of a set of devices, one group for each list of GPUs that launches together; made once.
// Outlives the steps that launch. Calls for one group are one at a time, as NCCL wants it.
class Nccl : public JointDriver {
 public:
  Nccl() = default;
  ~Nccl() override;
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  void Prepare(std::span<StreamDevice* const> devices) override;
  void Launch(const JointOperation& operation, int64_t elements, std::span<const JointPart> parts) override;
  std::optional<Error> Problem(std::span<StreamDevice* const> devices) override;
  void Abort(std::span<StreamDevice* const> devices) noexcept override;
  std::unique_ptr<JointGroup> Join(const std::string& connection, const JointMembers& members) override;

 private:
  using Group = std::vector<NcclComm>;  // by rank

  const Group& GroupLocked(const std::vector<int>& ordinals);
  void AbortLocked(const std::vector<int>& ordinals) noexcept;

  std::mutex mutex_;
  std::shared_ptr<const NcclLibrary> library_;
  std::map<std::vector<int>, Group> groups_;  // by the GPUs' ordinals
};

}  // namespace lanescope::exec::cuda
