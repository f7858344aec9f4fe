// SPDX-License-Identifier: Apache-2.0
#include "study/base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "core/base/child.h"
#include "core/base/error.h"
#include "core/base/stop_point.h"

namespace lanescope::study {
namespace {

constexpr size_t kMaxOutput = size_t{1} << 30;
constexpr size_t kKeptErrors = size_t{1} << 16;
constexpr int kLookMs = 50;  // between two looks at the clock and for signals

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void Set(int number) {
    Close();
    number_ = number;
  }
  void Close() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }
  int get() const { return number_; }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read, write;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      Throw(Code::kResourceExhausted, "cannot make a pipe: {}", std::strerror(errno));
    read.Set(ends[0]);
    write.Set(ends[1]);
  }
};

class RunningLimits {
 public:
  explicit RunningLimits(const ChildLimits& limits)
      : limits_(limits),
        end_(std::chrono::steady_clock::now() + std::chrono::milliseconds(limits.timeout_ms)) {
    if (limits.cancellation != nullptr) watch_.emplace(limits.cancellation);
  }
  void Check(const std::string& program) const {
    StopPoint();
    if (limits_.cancellation != nullptr && limits_.cancellation->cancelled())
      Throw(Code::kCancelled, "{} while '{}' ran", limits_.cancellation->Reason(), program);
    if (std::chrono::steady_clock::now() > end_) {
      Throw(Code::kDeadlineExceeded, "'{}' did not end within {:g} seconds", program,
            static_cast<double>(limits_.timeout_ms) / 1000);
    }
  }

 private:
  const ChildLimits limits_;
  std::chrono::steady_clock::time_point end_;
  std::optional<Cancellation::Watch> watch_;
};

// Appends what is there to read; closes at the end.
void ReadSome(Descriptor* from, std::string* to) {
  std::array<char, 1 << 16> chunk;
  const ssize_t size = read(from->get(), chunk.data(), chunk.size());
  if (size > 0) to->append(chunk.data(), static_cast<size_t>(size));
  if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) from->Close();
}

// Closes at the end of `text`, or when nobody reads any more.
void WriteSome(Descriptor* to, const std::string& text, size_t* written) {
  const ssize_t size = write(to->get(), text.data() + *written, text.size() - *written);
  if (size > 0) *written += static_cast<size_t>(size);
  if (*written == text.size() || (size < 0 && errno != EINTR && errno != EAGAIN)) to->Close();
}

}  // namespace

ChildResult RunChild(const std::vector<std::string>& words, const std::string& input,
                     const ChildLimits& allowed) {
  const RunningLimits limits(allowed);
  Pipe in, out, err;
  Child child({words, {}, {in.read.get(), out.write.get(), err.write.get()}, true});
  in.read.Close();
  out.write.Close();
  err.write.Close();
  fcntl(in.write.get(), F_SETFL, O_NONBLOCK);
  ChildResult result;
  size_t written = 0;
  while (out.read.get() >= 0 || err.read.get() >= 0) {
    limits.Check(words[0]);
    // poll ignores negative descriptors.
    std::array<pollfd, 3> ready{
        {{in.write.get(), POLLOUT, 0}, {out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}}};
    if (poll(ready.data(), ready.size(), kLookMs) <= 0) continue;
    if (ready[0].revents != 0) WriteSome(&in.write, input, &written);
    if (ready[1].revents != 0) ReadSome(&out.read, &result.output);
    if (ready[2].revents != 0) ReadSome(&err.read, &result.errors);
    if (result.output.size() > kMaxOutput)
      Throw(Code::kResourceExhausted, "'{}' printed more than 1 GiB", words[0]);
    if (result.errors.size() > 2 * kKeptErrors) result.errors.erase(0, result.errors.size() - kKeptErrors);
  }
  int how = 0;
  while (!child.HasEnded(&how)) {
    limits.Check(words[0]);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  result.status = Child::StatusOf(how);
  return result;
}

}  // namespace lanescope::study
