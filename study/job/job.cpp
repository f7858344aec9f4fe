// SPDX-License-Identifier: Apache-2.0
#include "study/job/job.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/frame.h"
#include "core/graph/graph_io.h"
#include "core/machine/tasks.h"
#include "core/place/placement.h"
#include "exec/messages/joined_gpus.h"
#include "exec/messages/message_tags.h"
#include "exec/messages/patient_wait.h"
#include "study/job/copy_ends.h"
#include "study/job/gpu_shares.h"
#include "study/job/this_machine.h"

namespace lanescope::study {
namespace {

constexpr int kClockRounds = 50;
// Bytes that are handed in by one message.
constexpr int64_t kMostAtOnce = int64_t{1} << 26;

// FNV-1a: to tell texts apart, not to guard them.
uint64_t DigestOf(std::string_view text) {
  uint64_t digest = 0xcbf29ce484222325;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

std::string HostsInOrder(const std::vector<ClusterTask>& tasks) {
  std::string hosts;
  for (const ClusterTask& task : tasks) hosts += (hosts.empty() ? "" : ",") + task.host;
  return hosts;
}

}  // namespace

void ThrowForAll(exec::Transport* transport, const std::string& message) {
  if (transport->rank() != 0) transport->Share("");
  Throw(Code::kFailedPrecondition, "{}", message);
}

void RequireHosts(const std::vector<ClusterTask>& tasks, exec::Transport* transport) {
  const std::vector<std::string> hosts = transport->Share(HostName());
  for (size_t rank = 0; rank < std::min(hosts.size(), tasks.size()); ++rank) {
    if (MayBeOneHost(hosts[rank], tasks[rank].host)) continue;
    ThrowForAll(transport,
                fmt::format("rank {} runs on {}, but the cluster has its task {} on {}: start the processes "
                            "in the order of the tasks, as by mpirun -host {}",
                            rank, hosts[rank], tasks[rank].name(), tasks[rank].host, HostsInOrder(tasks)));
  }
}

Job::Job(exec::Transport* transport, const std::string& clock_name)
    : transport_(transport),
      computers_(transport == nullptr ? OneComputer() : ComputersOf(transport->Share(ThisComputer()))) {
  if (transport_ == nullptr) return;
  FindNeighbours();
  clock_names_ = transport_->Share(clock_name);
  MeasureClocks();
}

void Job::FindNeighbours() {
  const std::string host = HostName() + "\n", own = std::to_string(getpid());
  for (const std::string& other : transport_->Share(host + own)) {
    if (other.starts_with(host) && other.substr(host.size()) != own)
      neighbours_.push_back(std::atoi(other.c_str() + host.size()));
  }
}

exec::JobOptions Job::session_options() const {
  exec::JobOptions options;
  options.transport = transport_;
  for (const ClockOffset& clock : clocks_) options.ahead_ns.push_back(clock.ahead_ns);
  options.joins_gpus = joins_gpus_;
  return options;
}

Machine Job::SeenHere(const Machine& machine) const {
  return is_shared() ? SeenByTask(machine, rank()) : machine;
}

std::vector<RunTask> Job::RunTasks(const Machine& machine) const {
  std::vector<RunTask> tasks;
  const std::vector<std::string> names = TasksOf(machine).names;
  for (size_t rank = 0; rank < clocks_.size(); ++rank) {
    const ClockOffset& clock = clocks_[rank];
    tasks.push_back({names[rank], NameOf(static_cast<int>(rank)), clock.ahead_ns, clock.uncertainty_ns});
  }
  return tasks;
}

Machine Job::JoinGpus(const Machine& machine, const Notes& note) {
  exec::JoinedGpus joined = exec::JoinGpus(machine, transport_);
  joins_gpus_ = transport_ != nullptr;
  if (is_first() && !joined.note.empty()) Tell(note, "note: " + joined.note);
  return std::move(joined.machine);
}

void Job::RequireSame(const PlacedGraph& placed, const Machine& machine, const std::string& settings) const {
  if (transport_ == nullptr) return;
  const MachineTasks tasks = TasksOf(machine);
  const Graph& graph = placed.workload->graph();
  const std::pair<const char*, std::string> parts[] = {
      {"machines", MachineToJson(machine)},
      {"graphs", GraphToBinary(graph)},
      {"placements", PlacementToJson(placed.placement, graph, machine)},
      {"steps", settings + (placed.workload->request().fuse ? " fused" : "")}};
  std::string mine;
  for (const auto& [name, text] : parts) mine += fmt::format("{:016x}", DigestOf(text));
  const std::vector<std::string> all = transport_->Share(mine);
  for (size_t part = 0; part < std::size(parts); ++part) {
    std::string others;
    for (int rank = 1; rank < transport_->size(); ++rank) {
      const std::string& theirs = all[static_cast<size_t>(rank)];
      if (theirs.compare(16 * part, 16, all[0], 16 * part, 16) == 0) continue;
      others += (others.empty() ? "" : ", ") + transport_->NameOf(rank);
    }
    if (!others.empty())
      ThrowForAll(transport_, fmt::format("{} differ: {} has another one than {}; give all the same",
                                          parts[part].first, others, transport_->NameOf(0)));
  }
  if (tasks.size() != transport_->size()) {
    ThrowForAll(transport_, fmt::format("the machine has {} task{}, but {} processes were started: start "
                                        "one for each, or give --machine a "
                                        "file with as many tasks",
                                        tasks.size(), tasks.size() == 1 ? "" : "s", transport_->size()));
  }
  RequireOwnGpus(machine, transport_);
}

void Job::Await(exec::Transport::Ticket ticket) {
  while (!transport_->Test(ticket)) std::this_thread::yield();
}

// Leaves the cores to who works meanwhile. False once cancelled: the message is forgotten.
bool Job::AwaitQuietly(exec::Transport::Ticket ticket, const Cancellation* cancellation) {
  for (exec::PatientWait patience(transport_); !transport_->Test(ticket); patience.Next()) {
    if (cancellation == nullptr || !cancellation->cancelled()) continue;
    transport_->Cancel(ticket);
    return false;
  }
  return true;
}

void Job::StartTogether(const Cancellation* cancellation) {
  if (transport_ == nullptr) return;
  int64_t start = 0;
  if (!(is_first() ? TellStart(cancellation, &start) : HearStart(cancellation, &start))) return;
  const int64_t left = start - NowNs();
  if (left > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left));
}

bool Job::HearStart(const Cancellation* cancellation, int64_t* start) {
  const auto told = transport_->Receive(0, exec::kStartTag, start, sizeof *start);
  if (!AwaitQuietly(transport_->Send(0, exec::kStartTag, nullptr, 0), cancellation)) {
    transport_->Cancel(told);
    return false;
  }
  return AwaitQuietly(told, cancellation);
}

bool Job::TellStart(const Cancellation* cancellation, int64_t* start) {
  constexpr int64_t kLeadNs = 500'000;  // longer than the last of them takes to hear of it
  for (int rank = 1; rank < transport_->size(); ++rank) {
    if (!AwaitQuietly(transport_->Receive(rank, exec::kStartTag, nullptr, 0), cancellation)) return false;
  }
  *start = NowNs() + kLeadNs;
  std::vector<int64_t> starts;
  for (const ClockOffset& clock : clocks_) starts.push_back(*start + clock.ahead_ns);
  std::vector<exec::Transport::Ticket> told;
  for (int rank = 1; rank < transport_->size(); ++rank)
    told.push_back(
        transport_->Send(rank, exec::kStartTag, &starts[static_cast<size_t>(rank)], sizeof *start));
  for (const exec::Transport::Ticket ticket : told) AwaitQuietly(ticket, nullptr);  // they listen
  return true;
}

std::string Job::HandIn(int from, std::string text, const Cancellation* cancellation) {
  if (from == 0) return is_first() ? std::move(text) : "";
  if (!is_first() && transport_->rank() != from) return "";
  auto size = static_cast<int64_t>(text.size());
  Pass(from, &size, sizeof size, cancellation);
  text.resize(static_cast<size_t>(size));
  for (int64_t begin = 0; begin < size; begin += kMostAtOnce)
    Pass(from, text.data() + begin, std::min(size - begin, kMostAtOnce), cancellation);
  return is_first() ? std::move(text) : "";
}

// To the first process.
void Job::Pass(int from, void* data, int64_t bytes, const Cancellation* cancellation) {
  const auto ticket = is_first() ? transport_->Receive(from, exec::kHandedInTag, data, bytes)
                                 : transport_->Send(0, exec::kHandedInTag, data, bytes);
  if (!AwaitQuietly(ticket, cancellation)) cancellation->Check();
}

bool Job::FromFirst(bool mine) const {
  return transport_ == nullptr ? mine : transport_->Share(mine ? "1" : "0")[0] == "1";
}

bool Job::InAll(bool mine) const {
  if (transport_ == nullptr) return mine;
  const std::vector<std::string> all = transport_->Share(mine ? "1" : "0");
  return std::ranges::count(all, "0") == 0;
}

bool Job::HasClockOfFirst(int rank) const {
  const std::string& name = clock_names_[static_cast<size_t>(rank)];
  return !name.empty() && name == clock_names_.front();
}

// The answer that came back fastest says most: the other's clock was read within that time.
ClockOffset Job::MeasureClock(int rank) {
  ClockOffset best{0, INT64_MAX};
  for (int round = 0; round < kClockRounds; ++round) {
    int64_t theirs = 0;
    const auto answer = transport_->Receive(rank, exec::kClockTag, &theirs, sizeof theirs);
    const int64_t asked = NowNs();
    const auto question = transport_->Send(rank, exec::kClockTag, nullptr, 0);
    Await(answer);
    const int64_t answered = NowNs();
    Await(question);
    const int64_t uncertainty = (answered - asked + 1) / 2;
    if (uncertainty < best.uncertainty_ns) best = {theirs - (asked + uncertainty), uncertainty};
  }
  return best;
}

void Job::AnswerClock() {
  for (int round = 0; round < kClockRounds; ++round) {
    Await(transport_->Receive(0, exec::kClockTag, nullptr, 0));
    const int64_t now = NowNs();
    Await(transport_->Send(0, exec::kClockTag, &now, sizeof now));
  }
}

void Job::MeasureClocks() {
  if (transport_ == nullptr) return;
  std::vector<ClockOffset> measured(static_cast<size_t>(transport_->size()));
  for (int rank = 1; rank < transport_->size(); ++rank) {
    if (HasClockOfFirst(rank)) continue;
    if (is_first()) measured[static_cast<size_t>(rank)] = MeasureClock(rank);
    if (transport_->rank() == rank) AnswerClock();
  }
  const std::string first = transport_->Share(FrameWriter().Records(measured).Take())[0];
  clocks_ = FrameReader(first).Records<ClockOffset>();
  if (clocks_.size() != measured.size()) Throw(Code::kDataLoss, "the first process measured other clocks");
}

// A dependency that no copy carries has no event.
std::vector<Event> Job::Numbered(const std::vector<Event>& own, const TaskShare& share) {
  std::vector<Event> numbered;
  for (Event event : own) {
    if (event.kind == EventKind::kCommand) event.command = share.whole[event.command];
    if (event.kind == EventKind::kStep || event.command.exists()) numbered.push_back(event);
  }
  return numbered;
}

std::vector<Event> Job::Gather(const std::vector<Event>& own, const Schedule& whole, const TaskShare& share) {
  LANESCOPE_CHECK(transport_ != nullptr);
  std::vector<Event> numbered = Numbered(own, share);
  if (!is_first()) std::erase_if(numbered, [](const Event& event) { return event.kind == EventKind::kStep; });
  MeasureClocks();
  const std::vector<std::string> all = transport_->Share(FrameWriter().Records(numbered).Take());
  if (!is_first()) return {};
  std::vector<Event> events;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    for (Event& event : FrameReader(all[rank]).Records<Event>()) {
      event.start_ns -= clocks_[rank].ahead_ns;
      event.end_ns -= clocks_[rank].ahead_ns;
      events.push_back(event);
    }
  }
  return JoinCopyEnds(events, {&whole});
}

}  // namespace lanescope::study
