// SPDX-License-Identifier: Apache-2.0
// OpenMPI by its public names, without its headers: the program is built and runs where it is not installed.
// Internal to study.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/protocol.h"
#include "exec/messages/transport.h"
#include "study/job/doorbells.h"

namespace lanescope::study {

// Joins the ranks. Calls into the library are one at a time and never wait inside of it: that would keep a
// core busy, which others need. One object a process.
class MpiLibrary : public exec::Transport {
 public:
  // Without a network where all ranks are on one computer, if the environment does not name what carries
  // their messages: OpenMPI would listen for all the world.
  explicit MpiLibrary(bool on_one_computer);
  // All ranks call it, first of all. Throws FailedPrecondition where their programs have other protocols.
  void Greet(int64_t protocol = kJobProtocol);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int most_tag() const override { return most_tag_; }
  // Whose numbers of bytes are ints.
  int64_t most_bytes() const override { return int64_t{1} << 30; }
  std::string NameOf(int rank) const override;
  Ticket Send(int to, int tag, const void* data, int64_t bytes) override;
  Ticket Receive(int from, int tag, void* data, int64_t bytes) override;
  void Post(int to, int tag, const void* data, int64_t bytes) override;
  Ticket ReceivePosted(int from, int tag, void* data, int64_t bytes) override;
  bool Test(Ticket ticket) override;
  void TestSome(std::span<const Ticket> tickets, std::vector<Ticket>* done) override;
  void Cancel(Ticket ticket) override;
  std::vector<std::string> Share(const std::string& mine) override;
  uint32_t News() const override { return bells_->count(); }
  void AwaitNews(uint32_t seen, int64_t until_ns) override { bells_->Await(seen, until_ns); }
  bool IsOneComputer() const override { return bells_->AllRing(); }
  void Nudge(int rank) override { bells_->Ring(rank); }

  // Waits until all ranks have come here, or until `*given_up`: then false.
  bool Meet(const std::atomic<bool>* given_up = nullptr);
  // Nothing is sent or received after that.
  void Leave();
  // Ends all ranks: they wait for what this one will not send.
  void EndAll(int status);

 private:
  using Handle = void*;

  template <typename F>
  void Find(F** function, const char* name);
  int MostTag();
  bool Await(Handle request, const std::atomic<bool>* given_up = nullptr);
  bool TestHandle(Handle* request);
  Ticket BeginReceiving(int from, int tag, void* data, int64_t bytes, bool sender_waits);

  void* library_ = nullptr;
  Handle world_ = nullptr, bytes_ = nullptr, ints_ = nullptr;
  int (*issend_)(const void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*isend_)(const void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*irecv_)(void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*test_)(Handle*, int*, void*) = nullptr;
  int (*test_some_)(int, Handle*, int*, int*, void*) = nullptr;
  int (*cancel_)(Handle*) = nullptr;
  int (*free_)(Handle*) = nullptr;
  int (*gather_)(const void*, int, Handle, void*, int, Handle, Handle, Handle*) = nullptr;
  int (*gather_texts_)(const void*, int, Handle, void*, const int*, const int*, Handle, Handle,
                       Handle*) = nullptr;
  int (*barrier_)(Handle, Handle*) = nullptr;
  int (*finalize_)() = nullptr;
  int (*abort_)(Handle, int) = nullptr;
  int rank_ = 0, size_ = 1, most_tag_ = 0;
  std::vector<std::string> hosts_;  // by rank
  std::unique_ptr<Doorbells> bells_;
  std::mutex mutex_;  // of all calls, and of:
  struct Message {
    Handle request = nullptr;
    int peer = 0;
    bool received = false;
    bool sender_waits = false;  // until it is received
  };
  std::unordered_map<Ticket, Message> open_;
  struct Posted {
    std::vector<char> data;
    Handle request = nullptr;
  };
  std::list<Posted> posted_;  // whose data may still be read
  Ticket last_ = 0;
  // Memory of TestSome, kept only to save allocation.
  std::vector<Ticket> tested_;
  std::vector<Handle> requests_;
  std::vector<int> found_done_;
};

}  // namespace lanescope::study
