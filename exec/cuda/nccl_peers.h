// SPDX-License-Identifier: Apache-2.0
// Transfers between CUDA GPUs of two processes by NCCL. Internal to exec.
#pragma once

#include <memory>
#include <string>

#include "exec/cuda/api.h"
#include "exec/cuda/nccl_library.h"
#include "exec/device/joint_driver.h"
#include "exec/device/peer_channel.h"

namespace lanescope::exec::cuda {

// A communicator of two for each connection, whose calls never wait for the other end: what NCCL does about
// them meanwhile is asked for again and again.
class NcclPeers : public PeerDriver {
 public:
  // `device` is one of `api`, and launches together with others by `joint`.
  NcclPeers(Api* api, JointDriver* joint, StreamDevice* device)
      : api_(*api), joint_(*joint), device_(*device) {}

  std::string NewConnection() override;
  std::unique_ptr<PeerChannel> Join(const std::string& connection, int end) override;

 private:
  Api& api_;
  JointDriver& joint_;
  StreamDevice& device_;
};

}  // namespace lanescope::exec::cuda
