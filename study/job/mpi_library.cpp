// SPDX-License-Identifier: Apache-2.0
#include "study/job/mpi_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "core/base/error.h"
#include "study/job/greeting.h"
#include "study/job/job.h"
#include "study/job/this_machine.h"

namespace lanescope::study {
namespace {

constexpr int kSerialized = 2;  // MPI_THREAD_SERIALIZED

void Require(int status, const char* what) {
  if (status != 0) Throw(Code::kInternal, "{} failed with {}", what, status);
}

int CheckedCount(int64_t bytes) {
  LANESCOPE_CHECK(bytes >= 0 && bytes <= INT_MAX);
  return static_cast<int>(bytes);
}

}  // namespace

template <typename F>
void MpiLibrary::Find(F** function, const char* name) {
  void* found = dlsym(library_, name);
  if (found == nullptr) Throw(Code::kFailedPrecondition, "libmpi.so.40 has no {}", name);
  *function = reinterpret_cast<F*>(found);
}

MpiLibrary::MpiLibrary(bool on_one_computer) {
  // Its components look its symbols up by themselves.
  library_ = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
  if (library_ == nullptr) {
    Throw(Code::kFailedPrecondition,
          "this process was started with others, but OpenMPI's library is missing ({}); install libopenmpi3 "
          "or run it alone",
          dlerror());
  }
  world_ = dlsym(library_, "ompi_mpi_comm_world");
  bytes_ = dlsym(library_, "ompi_mpi_byte");
  ints_ = dlsym(library_, "ompi_mpi_int");
  if (world_ == nullptr || bytes_ == nullptr || ints_ == nullptr)
    Throw(Code::kFailedPrecondition, "libmpi.so.40 is not OpenMPI's");
  int (*init)(int*, char***, int, int*) = nullptr;
  int (*place)(Handle, int*) = nullptr;
  Find(&init, "MPI_Init_thread");
  Find(&issend_, "MPI_Issend");
  Find(&isend_, "MPI_Isend");
  Find(&irecv_, "MPI_Irecv");
  Find(&test_, "MPI_Test");
  Find(&test_some_, "MPI_Testsome");
  Find(&cancel_, "MPI_Cancel");
  Find(&free_, "MPI_Request_free");
  Find(&gather_, "MPI_Iallgather");
  Find(&gather_texts_, "MPI_Iallgatherv");
  Find(&barrier_, "MPI_Ibarrier");
  Find(&finalize_, "MPI_Finalize");
  Find(&abort_, "MPI_Abort");
  // Nobody waits within the library: who only looks would give its core away at every look.
  setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
  if (on_one_computer) setenv("OMPI_MCA_btl", "^tcp,ofi", 0);
  int provided = 0;
  Require(init(nullptr, nullptr, kSerialized, &provided), "MPI_Init_thread");
  if (provided < kSerialized)
    Throw(Code::kFailedPrecondition, "this OpenMPI does not work with threads; install one that does");
  Find(&place, "MPI_Comm_rank");
  Require(place(world_, &rank_), "MPI_Comm_rank");
  Find(&place, "MPI_Comm_size");
  Require(place(world_, &size_), "MPI_Comm_size");
  most_tag_ = MostTag();
}

void MpiLibrary::Greet(int64_t protocol) {
  const std::vector<std::string> greetings = Share(Greeting(HostName(), protocol));
  if (const std::string problem = ProblemOfGreetings(greetings); !problem.empty()) ThrowForAll(this, problem);
  hosts_ = HostsOfGreetings(greetings);
  bells_ = std::make_unique<Doorbells>(rank_, [this](const std::string& mine) { return Share(mine); });
}

// From what carries the messages: 2^23 - 1 over InfiniBand (UCX), 2^31 - 1 elsewhere.
int MpiLibrary::MostTag() {
  constexpr int kTagUb = 0;           // MPI_TAG_UB
  constexpr int kLeastByMpi = 32767;  // that every MPI has
  int (*attribute)(Handle, int, void*, int*) = nullptr;
  Find(&attribute, "MPI_Comm_get_attr");
  int* most = nullptr;
  int found = 0;
  Require(attribute(world_, kTagUb, static_cast<void*>(&most), &found), "MPI_Comm_get_attr");
  return found != 0 ? *most : kLeastByMpi;
}

std::string MpiLibrary::NameOf(int rank) const {
  return fmt::format("rank {} on {}", rank, hosts_[static_cast<size_t>(rank)]);
}

exec::Transport::Ticket MpiLibrary::Send(int to, int tag, const void* data, int64_t bytes) {
  Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    Handle request = nullptr;
    Require(issend_(data, CheckedCount(bytes), bytes_, to, tag, world_, &request), "MPI_Issend");
    ticket = ++last_;
    open_[ticket] = {request, to};
  }
  bells_->Ring(to);
  return ticket;
}

exec::Transport::Ticket MpiLibrary::Receive(int from, int tag, void* data, int64_t bytes) {
  return BeginReceiving(from, tag, data, bytes, true);
}

exec::Transport::Ticket MpiLibrary::ReceivePosted(int from, int tag, void* data, int64_t bytes) {
  return BeginReceiving(from, tag, data, bytes, false);
}

exec::Transport::Ticket MpiLibrary::BeginReceiving(int from, int tag, void* data, int64_t bytes,
                                                   bool sender_waits) {
  const std::lock_guard lock(mutex_);
  Handle request = nullptr;
  Require(irecv_(data, CheckedCount(bytes), bytes_, from, tag, world_, &request), "MPI_Irecv");
  open_[++last_] = {request, from, true, sender_waits};
  return last_;
}

void MpiLibrary::Post(int to, int tag, const void* data, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::erase_if(posted_, [this](Posted& posted) {
    int done = 0;
    Require(test_(&posted.request, &done, nullptr), "MPI_Test");
    return done != 0;
  });
  const auto* begin = static_cast<const char*>(data);
  Posted& posted = posted_.emplace_back();
  posted.data.assign(begin, begin + bytes);
  Require(isend_(posted.data.data(), CheckedCount(bytes), bytes_, to, tag, world_, &posted.request),
          "MPI_Isend");
}

bool MpiLibrary::Test(Ticket ticket) {
  std::vector<Ticket> done;
  TestSome({&ticket, 1}, &done);
  return !done.empty();
}

// The library looks for news once for all of them, not once for each.
void MpiLibrary::TestSome(std::span<const Ticket> tickets, std::vector<Ticket>* done) {
  std::vector<int> waiting;  // whose end is done, too, once they look
  {
    const std::lock_guard lock(mutex_);
    tested_.clear();
    requests_.clear();
    for (const Ticket ticket : tickets) {
      const auto found = open_.find(ticket);
      if (found == open_.end()) {
        done->push_back(ticket);
        continue;
      }
      tested_.push_back(ticket);
      requests_.push_back(found->second.request);
    }
    if (requests_.empty()) return;
    found_done_.resize(requests_.size());
    int count = 0;
    Require(
        test_some_(static_cast<int>(requests_.size()), requests_.data(), &count, found_done_.data(), nullptr),
        "MPI_Testsome");  // null: no status is wanted
    for (int i = 0; i < count; ++i) {
      const Ticket ticket = tested_[static_cast<size_t>(found_done_[static_cast<size_t>(i)])];
      const auto found = open_.find(ticket);
      if (found->second.sender_waits) waiting.push_back(found->second.peer);
      open_.erase(found);
      done->push_back(ticket);
    }
  }
  for (const int peer : waiting) bells_->Ring(peer);
}

// A message that is coming in already comes in whole: its memory is written until then. What cannot be
// cancelled (a send whose receiver may still come) is left to the end of the process.
void MpiLibrary::Cancel(Ticket ticket) {
  constexpr auto kLongest = std::chrono::seconds(2);  // the sender may be gone
  Message message;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(ticket);
    if (found == open_.end()) return;
    message = found->second;
    open_.erase(found);
    cancel_(&message.request);
    if (!message.received) free_(&message.request);
  }
  const auto begin = std::chrono::steady_clock::now();
  while (message.received && !TestHandle(&message.request)) {
    if (std::chrono::steady_clock::now() - begin > kLongest) return;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

bool MpiLibrary::TestHandle(Handle* request) {
  const std::lock_guard lock(mutex_);
  int done = 0;
  Require(test_(request, &done, nullptr), "MPI_Test");
  return done != 0;
}

bool MpiLibrary::Await(Handle request, const std::atomic<bool>* given_up) {
  constexpr std::chrono::microseconds kLongest{5000};
  for (std::chrono::microseconds pause{20}; !TestHandle(&request); pause = std::min(2 * pause, kLongest)) {
    if (given_up != nullptr && given_up->load()) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

std::vector<std::string> MpiLibrary::Share(const std::string& mine) {
  Handle request = nullptr;
  if (mine.size() > INT_MAX / static_cast<size_t>(size_))
    Throw(Code::kResourceExhausted, "{} bytes are more than ranks can share", mine.size());
  const auto length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<size_t>(size_)), begins(lengths.size(), 0);
  {
    const std::lock_guard lock(mutex_);
    Require(gather_(&length, 1, ints_, lengths.data(), 1, ints_, world_, &request), "MPI_Iallgather");
  }
  Await(request);
  if (std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) > INT_MAX)
    Throw(Code::kResourceExhausted, "the ranks share more than 2 GiB at once");
  std::partial_sum(lengths.begin(), lengths.end() - 1, begins.begin() + 1);
  std::string all(static_cast<size_t>(begins.back() + lengths.back()), '\0');
  {
    const std::lock_guard lock(mutex_);
    Require(gather_texts_(mine.data(), length, bytes_, all.data(), lengths.data(), begins.data(), bytes_,
                          world_, &request),
            "MPI_Iallgatherv");
  }
  Await(request);
  std::vector<std::string> shared;
  for (size_t r = 0; r < lengths.size(); ++r)
    shared.push_back(all.substr(static_cast<size_t>(begins[r]), static_cast<size_t>(lengths[r])));
  return shared;
}

bool MpiLibrary::Meet(const std::atomic<bool>* given_up) {
  Handle request = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (barrier_(world_, &request) != 0) return true;
  }
  return Await(request, given_up);
}

void MpiLibrary::Leave() {
  const std::lock_guard lock(mutex_);
  finalize_();
}

void MpiLibrary::EndAll(int status) { abort_(world_, status); }

}  // namespace lanescope::study
