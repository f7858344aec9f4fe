// SPDX-License-Identifier: Apache-2.0
// A process that runs graphs on the devices of others (exec/serve/task_server.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/protocol.h"
#include "core/base/thread.h"
#include "exec/calls/calls.h"
#include "exec/calls/mailbox.h"
#include "exec/messages/transport.h"

namespace lanescope::exec {

// The tasks that serve this one, and what they are asked. Any number of calls are under way at once; answers
// come on a thread of its own. Thread-safe; the transport must outlive it.
class RemoteTasks {
 public:
  // `servers`: their ranks. `protocol`: of this program, which has to be theirs.
  RemoteTasks(Transport* transport, std::vector<int> servers, int64_t protocol = kJobProtocol);
  // Tells the servers that this process asks for no more. Sessions that use it must be gone.
  ~RemoteTasks();
  RemoteTasks(const RemoteTasks&) = delete;
  RemoteTasks& operator=(const RemoteTasks&) = delete;

  Transport& transport() { return transport_; }
  const std::vector<int>& servers() const { return servers_; }
  int64_t protocol() const { return protocol_; }
  bool Serves(int task) const;

  // Called once, on the thread of the answers, with an error or with what follows in the answer.
  using Answered = std::function<void(const Error* error, std::string_view results)>;
  // Returns the call's number. The answer of a server that is gone is Aborted.
  int64_t Begin(int server, Call call, const std::string& arguments, Answered answered);
  // The call ends soon, if it has not.
  void Stop(int server, int64_t call);
  // Waits for the answer. Throws the server's error, which names it.
  std::string Ask(int server, Call call, const std::string& arguments);
  // The server answers no more: calls end with Aborted.
  void Lose(int server, const std::string& reason);

  // How far the server's clock is ahead of this process', in ns.
  int64_t ClockAhead(int server);
  // Empties containers of every server, as Session::Reset does.
  void Reset(const std::vector<std::string>& containers);
  // Tells other clients how far this one has come. Ready: what they wait for is there, first values of
  // variables; done: it has run its steps.
  void Reach(Stage stage);
  // Waits until the client has come so far; `check` is called again and again, and may throw. Throws
  // FailedPrecondition where one has left that will never be ready.
  void Await(int client, Stage stage, const std::function<void()>& check);
  // The processes that serve nobody, but this one.
  std::vector<int> OtherClients() const;
  // The first of so many tags that no other message of this process' steps has. Throws ResourceExhausted for
  // more than there are.
  int TakeTags(int count);
  // Once a step has ended well. What was sent of one that failed may still come: nobody gets its tags again.
  void GiveTagsBack(int first);

 private:
  struct Open {
    int server = 0;
    Answered answered;
  };

  void TakeAnswers();
  void TakeAnswer(const Mailbox::Letter& letter);
  bool IsLost(int server) const;
  int TagsOfOne() const;  // process

  Transport& transport_;
  const std::vector<int> servers_;
  const int64_t protocol_;
  Mailbox mailbox_;
  mutable std::mutex mutex_;  // of what follows
  std::map<int64_t, Open> open_;
  std::map<int, std::string> lost_;  // servers, and why
  int64_t last_call_ = 0;
  int next_tag_ = 0;               // of this process' own
  std::map<int, int> taken_tags_;  // from the key to below the value
  std::atomic<bool> stop_{false};
  Thread thread_;
};

}  // namespace lanescope::exec
