// SPDX-License-Identifier: Apache-2.0
#include "exec/calls/remote_tasks.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <iterator>
#include <utility>

#include "core/base/clock.h"
#include "exec/messages/message_tags.h"
#include "exec/messages/patient_wait.h"

namespace lanescope::exec {
namespace {

constexpr int kClockRounds = 10;
constexpr int64_t kMostLeavingNs = 2'000'000'000;

}  // namespace

RemoteTasks::RemoteTasks(Transport* transport, std::vector<int> servers, int64_t protocol)
    : transport_(*transport),
      servers_(std::move(servers)),
      protocol_(protocol),
      mailbox_(transport, servers_) {
  thread_ = Thread("the answers of served tasks", [this] { TakeAnswers(); });
}

RemoteTasks::~RemoteTasks() {
  for (const int server : servers_) {
    if (!IsLost(server)) mailbox_.Send(server, LetterOf(Call::kLeave, 0).Take());
  }
  const int64_t begin_ns = NowNs();
  PatientWait patience(&transport_);
  while (!mailbox_.AllSent() && NowNs() - begin_ns < kMostLeavingNs) patience.Next();
  stop_.store(true);
  thread_.Wait();
}

bool RemoteTasks::Serves(int task) const { return std::ranges::count(servers_, task) > 0; }

bool RemoteTasks::IsLost(int server) const {
  const std::lock_guard lock(mutex_);
  return lost_.contains(server);
}

int64_t RemoteTasks::Begin(int server, Call call, const std::string& arguments, Answered answered) {
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto lost = lost_.find(server);
    if (lost != lost_.end()) Throw(Code::kAborted, "{} {}", transport_.NameOf(server), lost->second);
    number = ++last_call_;
    open_[number] = {server, std::move(answered)};
  }
  try {
    mailbox_.Send(server, LetterOf(call, number).Take() + arguments);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    open_.erase(number);
    throw;
  }
  return number;
}

void RemoteTasks::Stop(int server, int64_t call) {
  {
    const std::lock_guard lock(mutex_);
    if (!open_.contains(call)) return;
  }
  mailbox_.Send(server, LetterOf(Call::kStop, call).Take());
}

std::string RemoteTasks::Ask(int server, Call call, const std::string& arguments) {
  struct Answer {
    std::mutex mutex;
    std::condition_variable come;
    bool here = false;
    std::optional<Error> error;
    std::string results;
  };
  const auto answer = std::make_shared<Answer>();
  Begin(server, call, arguments, [answer](const Error* error, std::string_view results) {
    const std::lock_guard lock(answer->mutex);
    answer->here = true;
    if (error != nullptr) answer->error = *error;
    answer->results = results;
    answer->come.notify_all();
  });
  std::unique_lock lock(answer->mutex);
  answer->come.wait(lock, [&] { return answer->here; });
  if (answer->error) throw *answer->error;
  return std::move(answer->results);
}

void RemoteTasks::Lose(int server, const std::string& reason) {
  std::vector<Answered> unanswered;
  {
    const std::lock_guard lock(mutex_);
    if (!Serves(server) || !lost_.try_emplace(server, reason).second) return;
    std::erase_if(open_, [&](auto& entry) {
      if (entry.second.server != server) return false;
      unanswered.push_back(std::move(entry.second.answered));
      return true;
    });
  }
  mailbox_.Forget(server);
  const Error error(Code::kAborted, fmt::format("{} {}", transport_.NameOf(server), reason));
  for (const Answered& answered : unanswered) answered(&error, "");
}

void RemoteTasks::TakeAnswers() {
  PatientWait patience(&transport_);
  while (!stop_.load()) {
    std::optional<Mailbox::Letter> letter;
    try {
      letter = mailbox_.Poll();
      if (letter) TakeAnswer(*letter);
    } catch (...) {
      const std::string reason = fmt::format("cannot be understood: {}", ErrorInFlight().message());
      for (const int server : servers_) Lose(server, reason);
    }
    letter ? patience.Reset() : patience.Next();
  }
}

void RemoteTasks::TakeAnswer(const Mailbox::Letter& letter) {
  FrameReader reader(letter.text);
  const int64_t number = reader.Number();
  const int64_t code = reader.NumberIn(kNoError, static_cast<int64_t>(Code::kDataLoss));
  const std::string message(reader.Text());
  if (number == kServerEnds) return Lose(letter.from, message);
  Answered answered;
  {
    const std::lock_guard lock(mutex_);
    const auto open = open_.find(number);
    if (open == open_.end() || open->second.server != letter.from) return;
    answered = std::move(open->second.answered);
    open_.erase(open);
  }
  if (code == kNoError) return answered(nullptr, reader.Rest());
  const Error error(static_cast<Code>(code), fmt::format("{}: {}", transport_.NameOf(letter.from), message));
  answered(&error, "");
}

// As between processes that run a step together: the answer that came back fastest says most.
int64_t RemoteTasks::ClockAhead(int server) {
  int64_t best_ns = INT64_MAX, ahead_ns = 0;
  for (int round = 0; round < kClockRounds; ++round) {
    const int64_t asked = NowNs();
    const std::string answer = Ask(server, Call::kClock, "");
    const int64_t trip = NowNs() - asked;
    if (trip >= best_ns) continue;
    best_ns = trip;
    ahead_ns = FrameReader(answer).Number() - (asked + trip / 2);
  }
  return ahead_ns;
}

void RemoteTasks::Reset(const std::vector<std::string>& containers) {
  for (const int server : servers_) Ask(server, Call::kReset, FrameWriter().Texts(containers).Take());
}

void RemoteTasks::Reach(Stage stage) {
  const std::string arguments = FrameWriter().Number(static_cast<int64_t>(stage)).Take();
  for (const int server : servers_) Ask(server, Call::kReach, arguments);
}

std::vector<int> RemoteTasks::OtherClients() const {
  std::vector<int> others;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank != transport_.rank() && !Serves(rank)) others.push_back(rank);
  }
  return others;
}

void RemoteTasks::Await(int client, Stage stage, const std::function<void()>& check) {
  const auto end = std::make_shared<std::promise<void>>();
  std::future<void> ended = end->get_future();
  const int server = servers_.front();
  const int64_t call =
      Begin(server, Call::kAwait, FrameWriter().Number(client).Number(static_cast<int64_t>(stage)).Take(),
            [end](const Error* error, std::string_view) {
              if (error == nullptr) return end->set_value();
              end->set_exception(std::make_exception_ptr(*error));
            });
  try {
    while (ended.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) check();
  } catch (const Error&) {
    Stop(server, call);
    throw;
  }
  ended.get();
}

// They are taken in order, round and round, so that none comes again soon after it was given back.
int RemoteTasks::TakeTags(int count) {
  const int room = TagsOfOne();
  if (count > room / 64) {
    Throw(Code::kResourceExhausted, "a step of {} messages is more than {} processes tell apart", count,
          transport_.size());
  }
  const std::lock_guard lock(mutex_);
  for (int rounds = 0; rounds < 2;) {
    if (next_tag_ > room - count) {
      next_tag_ = 0;
      ++rounds;
    }
    const auto after = taken_tags_.lower_bound(next_tag_ + count);
    const int free_from = after == taken_tags_.begin() ? 0 : std::prev(after)->second;
    if (free_from > next_tag_) {
      next_tag_ = free_from;
      continue;
    }
    taken_tags_[next_tag_] = next_tag_ + count;
    return kFirstStepTag + transport_.rank() * room + std::exchange(next_tag_, next_tag_ + count);
  }
  Throw(Code::kResourceExhausted,
        "so many steps have failed that no message can be told from what may still come of them: start the "
        "processes anew");
}

void RemoteTasks::GiveTagsBack(int first) {
  const std::lock_guard lock(mutex_);
  taken_tags_.erase(first - kFirstStepTag - transport_.rank() * TagsOfOne());
}

int RemoteTasks::TagsOfOne() const { return (transport_.most_tag() - kFirstStepTag) / transport_.size(); }

}  // namespace lanescope::exec
