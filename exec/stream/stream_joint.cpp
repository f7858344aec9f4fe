// SPDX-License-Identifier: Apache-2.0
// The joint launches of a program of streams.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "core/base/error.h"
#include "exec/device/joint_driver.h"
#include "exec/stream/stream_program.h"

namespace lanescope::exec {
namespace {

constexpr std::chrono::microseconds kPause{20};

}  // namespace

Reduction ParseReduction(std::string_view name) {
  if (name == "sum" || name == "Add") return Reduction::kSum;
  if (name == "prod" || name == "Mul") return Reduction::kProd;
  if (name == "min" || name == "Min") return Reduction::kMin;
  if (name == "max" || name == "Max") return Reduction::kMax;
  Throw(Code::kInvalidArgument, "no collective reduces by '{}'", name);
}

std::shared_lock<std::shared_mutex> StreamProgram::BetweenJointLaunches() {
  if (joint_driver_ == nullptr) return {};
  return std::shared_lock<std::shared_mutex>(joint_driver_->issue_mutex());
}

std::vector<StreamDevice*> StreamProgram::DevicesOf(const JointLaunch& launch) const {
  std::vector<StreamDevice*> devices;
  for (const CommandId c : launch.parts) devices.push_back(At(c).stream->device);
  return devices;
}

void StreamProgram::PrepareJointLaunches() {
  for (JointLaunch& launch : joint_) {
    if (joint_driver_ == nullptr) {
      Throw(Code::kFailedPrecondition,
            "{}: its devices do not launch together; --all-reduce ring does without",
            runner_->Describe(launch.parts[0]));
    }
    if (launch.is_of_several) continue;  // they are joined by then
    // Any order of ranks gives the same all-reduce; one order needs no others.
    if (launch.operation.kind == CollectiveKind::kAllReduce) {
      std::sort(launch.parts.begin(), launch.parts.end(), [&](CommandId a, CommandId b) {
        return At(a).stream->device->ordinal() < At(b).stream->device->ordinal();
      });
    }
    joint_driver_->Prepare(DevicesOf(launch));
  }
}

void StreamProgram::Join(CommandId part, JointGroup* group) {
  JointLaunch& launch = joint_[static_cast<size_t>(plan_.Joint(part))];
  LANESCOPE_CHECK(launch.is_of_several);
  launch.group = group;
}

bool StreamProgram::IsJointThrough(CommandId part) {
  const auto number = static_cast<size_t>(plan_.Joint(part));
  return joint_done_[number].load(std::memory_order_acquire) &&
         std::ranges::all_of(joint_[number].parts,
                             [this](CommandId c) { return driver_->IsReached(At(c).event); });
}

// Parts in several processes wait for each other in no circle. The unit runs once its meeting (TaskShare) has
// been held: by then each process has given its GPUs all that comes before its parts, which waits for nothing
// that is still to be issued, and it is the turn of all, so no GPU has anything else that waits for another
// process. All that is missing is that the others issue their parts: their threads may be in a host kernel or
// wait for what their GPUs have been given, but for nothing of this step that comes behind this launch, since
// launches are in one order on all GPUs (command_order.cpp) and messages have a thread of their own.
void StreamProgram::IssueJoint(const JointLaunch& launch, int64_t elements,
                               const std::vector<JointPart>& parts) {
  if (!launch.is_of_several) return joint_driver_->Launch(launch.operation, elements, parts);
  LANESCOPE_CHECK(launch.group != nullptr);
  launch.group->Launch(launch.operation, elements, parts);
}

std::optional<Error> StreamProgram::ProblemOf(const JointLaunch& launch) const {
  return launch.is_of_several ? launch.group->Problem() : joint_driver_->Problem(DevicesOf(launch));
}

void StreamProgram::RunJoint(int number) {
  const JointLaunch& launch = joint_[static_cast<size_t>(number)];
  const CommandId first = launch.parts.front();
  const std::unique_lock<std::shared_mutex> lock(issue_mutex_), alone(joint_driver_->issue_mutex());
  try {
    std::vector<JointPart> parts;
    int64_t elements = 0;
    for (const CommandId c : launch.parts) {
      const JointOperands operands = runner_->PreparePart(c);
      if (parts.empty()) elements = operands.elements;
      if (operands.elements != elements) {
        Throw(Code::kInvalidArgument, "the parts of a collective have {} and {} elements", elements,
              operands.elements);
      }
      parts.push_back({At(c).stream->device, operands.input, operands.output});
    }
    if (joint_aborted_.load(std::memory_order_relaxed)) return;  // the step has failed
    const auto mark = [&](EventHandle Command::*event) {
      for (const CommandId c : launch.parts) {
        At(c).stream->device->MakeCurrent();
        MarkTime(c, event, false);
      }
    };
    if (told_ != nullptr) told_->Begin(identity_.schedule, identity_.step, first);
    mark(&Command::start);
    joint_issued_.store(true, std::memory_order_relaxed);
    try {
      if (elements > 0) IssueJoint(launch, elements, parts);
    } catch (...) {
      if (told_ != nullptr) told_->End();
      throw;
    }
    if (told_ != nullptr) told_->End();
    mark(&Command::end);
    for (const CommandId c : launch.parts) {
      Command& command = At(c);
      command.stream->device->MakeCurrent();
      if (command.event != nullptr) driver_->Record(command.event, command.stream->handle);
      command.stream->dirty.store(true, std::memory_order_relaxed);
      command.issued = true;
    }
    joint_done_[static_cast<size_t>(number)].store(true, std::memory_order_release);
  } catch (...) {
    Rethrow(first);
  }
}

void StreamProgram::AbortJoint() noexcept {
  if (joint_aborted_.exchange(true)) return;
  for (const JointLaunch& launch : joint_)
    launch.is_of_several ? launch.group->Abort() : joint_driver_->Abort(DevicesOf(launch));
}

void StreamProgram::WatchJointLaunches(bool cancelled) {
  if (!joint_issued_.load(std::memory_order_relaxed) || joint_aborted_.load(std::memory_order_relaxed))
    return;
  // A thread that records a segment must not be asked about its streams.
  const std::shared_lock<std::shared_mutex> lock(issue_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  try {
    for (const auto& stream : streams_) IsEmpty(*stream);  // a device that fails leaves the others waiting
    for (const JointLaunch& launch : joint_) {
      if (const std::optional<Error> problem = ProblemOf(launch))
        throw Error(problem->code(),
                    fmt::format("{} [{}]", problem->message(), runner_->Describe(launch.parts.front())));
    }
  } catch (const Error&) {
    AbortJoint();
    throw;
  }
  if (cancelled) AbortJoint();
}

// Asks all streams in turn, since one may wait for what has failed on another.
void StreamProgram::DrainJoint(bool cancelled) {
  std::optional<Error> problem;
  const int64_t begin = NowNs();
  for (bool empty = false; !empty;) {
    empty = true;
    for (const auto& stream : streams_) {
      try {
        if (IsEmpty(*stream)) continue;
        empty = false;
      } catch (const Error& error) {
        if (!problem.has_value()) problem = error;
        AbortJoint();
      }
    }
    try {
      WatchJointLaunches(problem.has_value() || (cancelled && NowNs() - begin > kJointGraceNs));
    } catch (const Error& error) {
      if (!problem.has_value()) problem = error;
    }
    if (!empty) std::this_thread::sleep_for(kPause);
  }
  if (problem.has_value()) throw *problem;
}

}  // namespace lanescope::exec
