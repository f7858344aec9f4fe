// SPDX-License-Identifier: Apache-2.0
#include "exec/messages/peer_connections.h"

#include <algorithm>
#include <list>
#include <set>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "exec/device/stream_device.h"
#include "exec/messages/message_tags.h"
#include "exec/messages/patient_wait.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kPauseNs = 1'000'000;

// Each end tells the other once it knows how its own joining went, so that nobody waits for one that has
// failed. Both always tell, and hear.
class JoiningReport {
 public:
  JoiningReport(Transport* transport, int other)
      : transport_(*transport),
        other_(other),
        ticket_(transport_.ReceivePosted(other, kPeerTag, &theirs_, sizeof theirs_)) {}
  ~JoiningReport() {
    Tell(false);
    for (PatientWait patience(&transport_); !IsHeard();) patience.Next();
  }
  JoiningReport(const JoiningReport&) = delete;
  JoiningReport& operator=(const JoiningReport&) = delete;

  void Tell(bool joined) {
    if (std::exchange(told_, true)) return;
    const char mine = joined ? 1 : 0;
    transport_.Post(other_, kPeerTag, &mine, sizeof mine);
    transport_.Nudge(other_);
  }
  bool IsHeard() {
    if (ticket_ != 0 && transport_.Test(ticket_)) ticket_ = 0;
    return ticket_ == 0;
  }
  bool theirs() const { return theirs_ == 1; }

 private:
  Transport& transport_;
  const int other_;
  char theirs_ = 0;
  Transport::Ticket ticket_;
  bool told_ = false;
};

// Thrown where this process's own part is in order.
struct OtherHasFailed {};

}  // namespace

std::vector<GpuPair> JoinedPairs(const Schedule& schedule, const Machine& machine,
                                 const MachineTasks& tasks) {
  std::set<GpuPair> pairs;
  for (const Command& command : schedule.commands) {
    if (command.kind != CommandKind::kCopy) continue;
    const DeviceId from = schedule.CopySource(command), to = schedule.CopyDestination(command);
    const int hardware = int{machine.device(from).is_hardware()} + int{machine.device(to).is_hardware()};
    if (tasks.SameTask(from, to) || hardware == 0) continue;
    if (hardware == 1) {
      Throw(Code::kFailedPrecondition,
            "no way leads from {} to {} past the host beside the GPU; leave the link of the two out of the "
            "machine file",
            machine.device(from).name, machine.device(to).name);
    }
    pairs.emplace(std::min(from, to), std::max(from, to));
  }
  return {pairs.begin(), pairs.end()};
}

StreamDevice* PeerConnections::OwnGpu(DeviceId gpu) const {
  StreamDevice* const device = devices_[gpu]->streams();
  LANESCOPE_CHECK(device != nullptr);
  if (device->peers() == nullptr || device->joint() == nullptr)
    Throw(Code::kFailedPrecondition, "{} works with no GPUs of other processes", device->spec().local_name());
  return device;
}

std::vector<PeerConnections::Missing> PeerConnections::FindMissing(
    const std::vector<GpuPair>& pairs, const std::vector<GpuGroup>& groups) const {
  std::vector<Missing> missing;
  for (const GpuPair& pair : pairs) {
    if (!channels_.contains(pair)) missing.push_back({{pair.first, pair.second}, true});
  }
  const std::set<GpuGroup> different(groups.begin(), groups.end());
  for (const GpuGroup& group : different) {
    if (!groups_.contains(group)) missing.push_back({group, false});
  }
  return missing;
}

// Each connection's name comes from the process of its first GPU.
std::string PeerConnections::NamesOf(const std::vector<Missing>& missing) const {
  std::string names;
  for (const auto& [gpus, is_pair] : missing) {
    if (!IsOwn(gpus[0])) continue;
    const std::string name = OwnGpu(gpus[0])->peers()->NewConnection();
    LANESCOPE_CHECK(name.size() < 256);
    names += static_cast<char>(name.size());
    names += name;
  }
  return names;
}

// Until all processes of the GPUs have joined, or one has failed.
template <typename Made>
void PeerConnections::Meet(const GpuGroup& gpus, Made* made) {
  std::set<int> others;
  for (const DeviceId gpu : gpus) {
    if (!IsOwn(gpu)) others.insert(tasks_.task_of[gpu]);
  }
  std::list<JoiningReport> reports;
  for (const int other : others) reports.emplace_back(&transport_, other);
  PatientWait patience(&transport_);
  const int64_t begin = NowNs();
  for (;;) {
    const bool joined = (*made)()->IsJoined();
    bool all = joined;
    for (JoiningReport& report : reports) {
      if (joined) report.Tell(true);
      const bool heard = report.IsHeard();
      if (heard && !report.theirs()) throw OtherHasFailed();
      all = all && heard;
    }
    if (all) return;
    if (NowNs() - begin > kMostJoiningNs)
      Throw(Code::kDeadlineExceeded, "GPUs of {} have not met those of other processes within {} s",
            transport_.NameOf(transport_.rank()), kMostJoiningNs / 1'000'000'000);
    patience.Next(NowNs() + kPauseNs);
  }
}

void PeerConnections::JoinPair(const GpuGroup& gpus, const std::string& name, int end) {
  std::unique_ptr<PeerChannel> channel;
  const auto make = [&] {
    if (channel == nullptr) channel = OwnGpu(gpus[static_cast<size_t>(end)])->peers()->Join(name, end);
    return channel.get();
  };
  Meet(gpus, &make);
  channels_[{gpus[0], gpus[1]}] = std::move(channel);
}

void PeerConnections::JoinGroup(const GpuGroup& gpus, const std::string& name) {
  std::unique_ptr<JointGroup> group;
  const auto make = [&] {
    if (group != nullptr) return group.get();
    JointMembers members;
    members.count = static_cast<int>(gpus.size());
    for (size_t rank = 0; rank < gpus.size(); ++rank) {
      if (!IsOwn(gpus[rank])) continue;
      members.devices.push_back(OwnGpu(gpus[rank]));
      members.ranks.push_back(static_cast<int>(rank));
    }
    group = members.devices[0]->joint()->Join(name, members);
    return group.get();
  };
  Meet(gpus, &make);
  groups_[gpus] = std::move(group);
}

void PeerConnections::JoinAll(const std::vector<Missing>& missing, const std::vector<std::string>& names,
                              std::string* problem) {
  std::vector<size_t> read(names.size(), 0);  // by rank: how far
  for (const auto& [gpus, is_pair] : missing) {
    const auto giver = static_cast<size_t>(tasks_.task_of[gpus[0]]);
    size_t& at = read[giver];
    if (at >= names[giver].size()) continue;  // it has failed, and says so
    const size_t length = static_cast<unsigned char>(names[giver][at]);
    const std::string name = names[giver].substr(at + 1, length);
    at += 1 + length;
    if (std::ranges::none_of(gpus, [this](DeviceId gpu) { return IsOwn(gpu); })) continue;
    try {
      is_pair ? JoinPair(gpus, name, IsOwn(gpus[0]) ? 0 : 1) : JoinGroup(gpus, name);
    } catch (const Error& error) {
      if (problem->empty()) *problem = error.message();
    } catch (const OtherHasFailed&) {
    }
  }
}

void PeerConnections::Require(const std::vector<GpuPair>& pairs, const std::vector<GpuGroup>& groups) {
  const std::vector<Missing> missing = FindMissing(pairs, groups);
  if (missing.empty()) return;
  std::string own, problem;
  try {
    own = NamesOf(missing);
  } catch (const Error& error) {
    problem = error.message();
  }
  JoinAll(missing, transport_.Share(own), &problem);
  const std::vector<std::string> problems = transport_.Share(problem);
  for (size_t rank = 0; rank < problems.size(); ++rank) {
    if (!problems[rank].empty()) {
      Throw(Code::kFailedPrecondition,
            "GPUs of several processes cannot be joined: {}: {}; with LANESCOPE_NCCL_LIBRARY=none they copy "
            "through their hosts",
            transport_.NameOf(static_cast<int>(rank)), problems[rank]);
    }
  }
  for (const auto& [gpus, is_pair] : missing) {
    is_pair ? void(channels_.try_emplace({gpus[0], gpus[1]})) : void(groups_.try_emplace(gpus));
  }
}

PeerChannel* PeerConnections::Between(DeviceId a, DeviceId b) const {
  const auto found = channels_.find({std::min(a, b), std::max(a, b)});
  return found != channels_.end() ? found->second.get() : nullptr;
}

JointGroup* PeerConnections::GroupOf(const GpuGroup& gpus) const {
  const auto found = groups_.find(gpus);
  return found != groups_.end() ? found->second.get() : nullptr;
}

}  // namespace lanescope::exec
