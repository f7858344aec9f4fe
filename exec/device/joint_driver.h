// SPDX-License-Identifier: Apache-2.0
// Launches on several devices at once, each of which waits on its device for the others: collectives, as the
// library of the devices runs them. What a backend may offer beside its streams (StreamDevice::joint).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/machine/collective.h"
#include "exec/device/stream_device.h"

namespace lanescope::exec {

enum class Reduction : uint8_t { kSum, kProd, kMin, kMax, kMean };
// "sum", "prod", "min", "max", or as Collective* nodes have it, "Add", "Mul", "Min", "Max"; throws
// InvalidArgument for another name.
Reduction ParseReduction(std::string_view name);

// An all-reduce, an all-gather or a reduce-scatter; parts of the last two go by rank.
struct JointOperation {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Reduction reduction = Reduction::kSum;  // not of an all-gather
  DataType dtype = DataType::kInvalid;
};

// How long joint launches of a step that has to end may take to end by themselves.
inline constexpr int64_t kJointGraceNs = 2'000'000'000;

// One device's part, on its compute stream.
struct JointPart {
  StreamDevice* device = nullptr;
  const void* input = nullptr;
  void* output = nullptr;
};

// Launches whose parts are on GPUs of several processes, those of this one on fixed devices. Each process
// issues its own parts, when it is its turn (ProcessTurns). Thread-safe, but that launches are issued by one
// thread at a time. No call waits for other processes but Launch, for as long as these take to issue
// their parts, nor does the destructor.
class JointGroup {
 public:
  virtual ~JointGroup() = default;
  // Whether all processes have met. Throws what has gone wrong.
  virtual bool IsJoined() = 0;
  // Issues this process' parts, in the order in which their devices were given to Join. `elements`: of the
  // smaller tensor of a part. Throws where that fails, and once the group was given up.
  virtual void Launch(const JointOperation& operation, int64_t elements,
                      std::span<const JointPart> parts) = 0;
  // The error of launches since they were issued.
  virtual std::optional<Error> Problem() = 0;
  // Launches that are under way end, with whatever result. The group is of no more use.
  virtual void Abort() noexcept = 0;
};

// This process' part in a group.
struct JointMembers {
  std::vector<StreamDevice*> devices;
  std::vector<int> ranks;  // of each, among `count` of all processes
  int count = 0;
};

// One for all devices of a set; shared by the steps that run on them. Thread-safe.
class JointDriver {
 public:
  virtual ~JointDriver() = default;
  // Makes what launches on these devices, in this order, take: it may take long, and is done by the launch
  // itself otherwise. Throws FailedPrecondition with the reason where there is no such thing.
  virtual void Prepare(std::span<StreamDevice* const> devices) = 0;
  // Issues all parts, by rank. `elements`: of the smaller tensor of a part. Throws when one could not be
  // issued; what was is then aborted.
  virtual void Launch(const JointOperation& operation, int64_t elements,
                      std::span<const JointPart> parts) = 0;
  // The error of launches on these devices since they were issued.
  virtual std::optional<Error> Problem(std::span<StreamDevice* const> devices) = 0;
  // Launches on these devices that are under way end, with whatever result.
  virtual void Abort(std::span<StreamDevice* const> devices) noexcept = 0;

  // Begins to join GPUs of other processes under the text that PeerDriver::NewConnection gave one of them.
  virtual std::unique_ptr<JointGroup> Join(const std::string& connection, const JointMembers& members) = 0;

  // Held alone while the parts of a launch are issued, shared while anything else is.
  std::shared_mutex& issue_mutex() { return issue_mutex_; }

 private:
  std::shared_mutex issue_mutex_;
};

}  // namespace lanescope::exec
