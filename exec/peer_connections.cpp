#include "exec/peer_connections.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "exec/message_tags.h"
#include "exec/patient_wait.h"
#include "exec/stream_device.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kPauseNs = 1'000'000;

// What each end tells the other once it knows how its own joining went, so that nobody waits for one that has
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

// Of a process whose own part is in order.
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

StreamDevice* PeerConnections::OwnOf(const GpuPair& pair) const {
  const int rank = transport_.rank();
  const DeviceId own = tasks_.task_of[pair.first] == rank ? pair.first : pair.second;
  if (tasks_.task_of[own] != rank) return nullptr;
  StreamDevice* const device = devices_[own]->streams();
  LANESCOPE_CHECK(device != nullptr);
  return device;
}

// Each connection's name comes from the process of its first GPU.
std::string PeerConnections::NamesOf(const std::vector<GpuPair>& pairs) {
  std::string names;
  for (const GpuPair& pair : pairs) {
    if (tasks_.task_of[pair.first] != transport_.rank()) continue;
    StreamDevice* const device = OwnOf(pair);
    if (device->peers() == nullptr)
      Throw(Code::kFailedPrecondition, "{} does not send to GPUs of other processes",
            device->spec().local_name());
    const std::string name = device->peers()->NewConnection();
    LANESCOPE_CHECK(name.size() < 256);
    names += static_cast<char>(name.size());
    names += name;
  }
  return names;
}

void PeerConnections::Join(const GpuPair& pair, const std::string& name) {
  const int end = tasks_.task_of[pair.first] == transport_.rank() ? 0 : 1;
  const int other = tasks_.task_of[end == 0 ? pair.second : pair.first];
  StreamDevice* const device = OwnOf(pair);
  JoiningReport report(&transport_, other);
  PatientWait patience(&transport_);
  const int64_t begin = NowNs();
  auto channel = device->peers()->Join(name, end);
  for (;;) {
    const bool joined = channel->IsJoined();
    if (joined) report.Tell(true);
    const bool heard = report.IsHeard();
    if (heard && !report.theirs()) throw OtherHasFailed();
    if (joined && heard) break;
    if (NowNs() - begin > kMostJoiningNs)
      Throw(Code::kDeadlineExceeded, "{} has not met a GPU of {} within {} s", device->spec().local_name(),
            transport_.NameOf(other), kMostJoiningNs / 1'000'000'000);
    patience.Next(NowNs() + kPauseNs);
  }
  channels_[pair] = std::move(channel);
}

void PeerConnections::Require(const std::vector<GpuPair>& pairs) {
  std::vector<GpuPair> missing;
  for (const GpuPair& pair : pairs) {
    if (!channels_.contains(pair)) missing.push_back(pair);
  }
  if (missing.empty()) return;
  const int rank = transport_.rank();
  std::string problem;
  const auto note = [&](const Error& error) {
    if (problem.empty()) problem = fmt::format("{}: {}", transport_.NameOf(rank), error.message());
  };
  std::string own;
  try {
    own = NamesOf(missing);
  } catch (const Error& error) {
    note(error);
    own.clear();
  }
  const std::vector<std::string> names = transport_.Share(own);
  std::vector<size_t> read(names.size(), 0);  // by rank: how far
  for (const GpuPair& pair : missing) {
    const auto giver = static_cast<size_t>(tasks_.task_of[pair.first]);
    size_t& at = read[giver];
    if (at >= names[giver].size()) continue;  // it has failed, and says so below
    const size_t length = static_cast<unsigned char>(names[giver][at]);
    const std::string name = names[giver].substr(at + 1, length);
    at += 1 + length;
    if (!HasEnd(pair)) continue;
    try {
      Join(pair, name);
    } catch (const Error& error) {
      note(error);
    } catch (const OtherHasFailed&) {
    }
  }
  for (const std::string& theirs : transport_.Share(problem)) {
    if (!theirs.empty())
      Throw(Code::kFailedPrecondition, "GPUs of two processes cannot be joined: {}", theirs);
  }
  for (const GpuPair& pair : missing) channels_.try_emplace(pair);
}

bool PeerConnections::HasEnd(const GpuPair& pair) const {
  return tasks_.task_of[pair.first] == transport_.rank() || tasks_.task_of[pair.second] == transport_.rank();
}

PeerChannel* PeerConnections::Between(DeviceId a, DeviceId b) const {
  const auto found = channels_.find({std::min(a, b), std::max(a, b)});
  return found != channels_.end() ? found->second.get() : nullptr;
}

}  // namespace lanescope::exec
