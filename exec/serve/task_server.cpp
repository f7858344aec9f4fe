// SPDX-License-Identifier: Apache-2.0
#include "exec/serve/task_server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "exec/calls/call_threads.h"
#include "exec/calls/calls.h"
#include "exec/calls/mailbox.h"
#include "exec/device/device_set.h"
#include "exec/messages/patient_wait.h"
#include "exec/messages/process_turns.h"
#include "exec/resources/resource_manager.h"
#include "exec/serve/served_session.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kMostEndingNs = 2'000'000'000;

// The error of a call's body, if it throws.
template <typename Body>
std::string AnswerTo(int64_t number, const Body& body, bool* failed) {
  *failed = false;
  try {
    return AnswerOf(number, body());
  } catch (...) {
    *failed = true;
    return AnswerOf(number, ErrorInFlight());
  }
}

}  // namespace

class TaskServer::Impl {
 public:
  Impl(const Machine& machine, const TaskServerOptions& options)
      : machine_(machine),
        machine_text_(MachineToJson(machine)),
        options_(options),
        devices_(
            std::make_shared<DeviceSet>(SeenByTask(machine, options.transport->rank()), options.devices)),
        mailbox_(options.transport, options.clients) {
    for (const int client : options.clients) clients_[client].report.client = client;
  }
  ~Impl() {
    const std::lock_guard lock(mutex_);
    for (auto& [client, state] : clients_) StopCalls(&state);
  }

  void Serve(const std::function<void()>& check) {
    PatientWait patience(options_.transport);
    try {
      while (AnyIsThere()) {
        if (check) check();
        const std::optional<Mailbox::Letter> letter = mailbox_.Poll();
        if (letter) TakeLetter(*letter);
        letter ? patience.Reset() : patience.Next();
      }
    } catch (const Error& error) {
      TellTheEnd(error);
      throw;
    }
    DeliverAnswers();
  }

  void Lose(int client) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = clients_.find(client);
      if (found == clients_.end() || found->second.left) return;
      found->second.report.lost = true;
    }
    mailbox_.Forget(client);
    Leave(client);
  }

  std::vector<ClientReport> Report() const {
    const std::lock_guard lock(mutex_);
    std::vector<ClientReport> reports;
    for (const auto& [client, state] : clients_) reports.push_back(state.report);
    return reports;
  }

 private:
  using Session = std::shared_ptr<ServedSession>;
  struct Client {
    ClientReport report;
    bool left = false;
    Stage stage = Stage::kBegun;
    int64_t last_session = 0;
    std::map<int64_t, Session> sessions;
    // By call: a flag that ends it.
    std::map<int64_t, std::shared_ptr<std::atomic<bool>>> calls;
  };

  bool AnyIsThere() const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(clients_, [](const auto& entry) { return !entry.second.left; });
  }

  static void StopCalls(Client* client) {
    for (const auto& [number, stop] : client->calls) stop->store(true);
  }

  // Its steps end by themselves, its sessions with the last of them.
  void Leave(int client) {
    std::map<int64_t, Session> sessions;
    const std::lock_guard lock(mutex_);
    Client& state = clients_.at(client);
    state.left = true;
    StopCalls(&state);
    sessions.swap(state.sessions);
    if (!sessions.empty())
      threads_.Run(
          [gone = std::make_shared<std::map<int64_t, Session>>(std::move(sessions))] { gone->clear(); });
  }

  void TakeLetter(const Mailbox::Letter& letter) {
    FrameReader reader(letter.text);
    int64_t number = 0;
    try {
      const auto call = static_cast<exec::Call>(reader.NumberIn(0, kCalls - 1));
      number = reader.Number();
      switch (call) {
        case Call::kLeave:
          return Leave(letter.from);
        case Call::kStop:
          return StopCall(letter.from, number);
        case Call::kClock:  // at once
          return mailbox_.Send(letter.from, AnswerOf(number, FrameWriter().Number(NowNs()).Take()));
        default:
          return Begin(letter.from, call, number, std::string(reader.Rest()));
      }
    } catch (const Error& error) {
      mailbox_.Send(letter.from, AnswerOf(number, error));
    }
  }

  void StopCall(int client, int64_t number) {
    const std::lock_guard lock(mutex_);
    const auto& calls = clients_.at(client).calls;
    const auto call = calls.find(number);
    if (call != calls.end()) call->second->store(true);
  }

  // On a thread of its own: steps wait for each other.
  void Begin(int client, Call call, int64_t number, std::string arguments) {
    const auto stop = std::make_shared<std::atomic<bool>>(false);
    {
      const std::lock_guard lock(mutex_);
      clients_.at(client).calls[number] = stop;
    }
    threads_.Run([this, client, call, number, stop, arguments = std::move(arguments)] {
      bool failed = false;
      const std::string answer = AnswerTo(
          number, [&] { return Do(client, call, FrameReader(arguments), *stop); }, &failed);
      {
        const std::lock_guard lock(mutex_);
        Client& state = clients_.at(client);
        state.calls.erase(number);
        if (call == Call::kRun) ++(failed ? state.report.failed_steps : state.report.steps);
        if (state.report.lost) return;
      }
      mailbox_.Send(client, answer);
    });
  }

  std::string Do(int client, Call call, FrameReader arguments, const std::atomic<bool>& stop) {
    if (call == Call::kOpen) return Open(client, arguments);
    if (call == Call::kReset) return Reset(client, arguments.Texts());
    if (call == Call::kReach) return Reach(client, StageOf(&arguments));
    if (call == Call::kAwait) {
      const auto awaited = static_cast<int>(arguments.NumberIn(0, INT32_MAX));
      return AwaitStage(awaited, StageOf(&arguments), stop);
    }
    const int64_t number = arguments.Number();
    const Session session = SessionOf(client, number);
    switch (call) {
      case Call::kPrepare:
        return session->Prepare(arguments);
      case Call::kRun:
        return session->Run(arguments, &stop);
      case Call::kEvents:
        return session->Events();
      default: {
        session->Close();
        const std::lock_guard lock(mutex_);
        clients_.at(client).sessions.erase(number);
        return "";
      }
    }
  }

  static Stage StageOf(FrameReader* arguments) {
    return static_cast<Stage>(arguments->NumberIn(0, static_cast<int64_t>(Stage::kDone)));
  }

  std::string Reset(int client, const std::vector<std::string>& containers) {
    exec::Session::Reset(resources_.get(), containers);
    const std::lock_guard lock(mutex_);
    std::vector<std::string>& emptied = clients_.at(client).report.emptied;
    emptied.insert(emptied.end(), containers.begin(), containers.end());
    return "";
  }

  std::string Reach(int client, Stage stage) {
    const std::lock_guard lock(mutex_);
    clients_.at(client).stage = stage;
    changed_.notify_all();
    return "";
  }

  // A client that has left is done.
  std::string AwaitStage(int client, Stage stage, const std::atomic<bool>& stop) {
    constexpr std::chrono::milliseconds kBetweenLooks{10};
    std::unique_lock lock(mutex_);
    const auto found = clients_.find(client);
    if (found == clients_.end()) Throw(Code::kInvalidArgument, "nobody waits for what is no client");
    const Client& awaited = found->second;
    while (awaited.stage < stage) {
      if (stop.load()) Throw(Code::kCancelled, "the wait was cancelled");
      if (awaited.left && stage == Stage::kDone) return "";
      if (awaited.left) {
        Throw(Code::kFailedPrecondition, "{} has left without giving variables their first values",
              options_.transport->NameOf(client));
      }
      changed_.wait_for(lock, kBetweenLooks);
    }
    return "";
  }

  std::string Open(int client, FrameReader arguments) {
    const int64_t protocol = arguments.Number();
    if (protocol != options_.protocol) {
      Throw(Code::kFailedPrecondition,
            "the program that serves has protocol {}, and the one that asks {}; use the same version",
            options_.protocol, protocol);
    }
    if (arguments.Text() != machine_text_) {
      Throw(Code::kFailedPrecondition, "it serves another machine than {} has; give both the same file",
            options_.transport->NameOf(client));
    }
    SessionOptions own;
    own.resources = resources_;
    own.device_set = devices_;
    own.share_variables = true;
    own.devices = options_.devices;
    own.job.transport = options_.transport;
    own.job.client = client;
    const auto session = std::make_shared<ServedSession>(arguments, machine_, own, &updates_);
    const std::lock_guard lock(mutex_);
    Client& state = clients_.at(client);
    if (state.left) Throw(Code::kCancelled, "the client has left");
    ++state.report.sessions;
    const int64_t number = ++state.last_session;
    state.sessions[number] = session;
    return FrameWriter().Number(number).Take();
  }

  Session SessionOf(int client, int64_t number) {
    const std::lock_guard lock(mutex_);
    const auto& sessions = clients_.at(client).sessions;
    const auto found = sessions.find(number);
    if (found == sessions.end()) Throw(Code::kNotFound, "session {} is not open here", number);
    return found->second;
  }

  // Clients that are still there fail what they ask from now on.
  void TellTheEnd(const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      for (auto& [client, state] : clients_) {
        StopCalls(&state);
        if (state.left) continue;
        const Error reason(error.code(), fmt::format("serves no more: {}", error.message()));
        mailbox_.Send(client, AnswerOf(kServerEnds, reason));
      }
    }
    DeliverAnswers();
  }

  void DeliverAnswers() {
    const int64_t begin_ns = NowNs();
    PatientWait patience(options_.transport);
    while (!mailbox_.AllSent() && NowNs() - begin_ns < kMostEndingNs) patience.Next();
  }

  const Machine machine_;
  const std::string machine_text_;
  const TaskServerOptions options_;
  const std::shared_ptr<ResourceManager> resources_ = std::make_shared<ResourceManager>();
  const std::shared_ptr<DeviceSet> devices_;
  std::atomic<int64_t> updates_{0};
  Mailbox mailbox_;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::map<int, Client> clients_;
  CallThreads threads_;  // first to go: calls refer to the rest
};

TaskServer::TaskServer(const Machine& machine, const TaskServerOptions& options)
    : impl_(std::make_unique<Impl>(machine, options)) {}

TaskServer::~TaskServer() = default;

void TaskServer::Serve(const std::function<void()>& check) { impl_->Serve(check); }

void TaskServer::Lose(int client) { impl_->Lose(client); }

std::vector<TaskServer::ClientReport> TaskServer::Report() const { return impl_->Report(); }

}  // namespace lanescope::exec
