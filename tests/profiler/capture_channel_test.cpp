// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <fstream>
#include <memory>
#include <new>
#include <thread>

#include "profiler/batch_codec.h"
#include "profiler/capture_server.h"
#include "tests/profiler/collecting_sink.h"

namespace lanescope::profiler {
namespace {

std::string BatchOf(size_t kernels) {
  traces::ActivityBatch batch;
  batch.pid = 1;  // a lie: the server knows better
  traces::KernelRow row;
  row.name = batch.AddText("kernel");
  batch.kernels.assign(kernels, row);
  return EncodeBatch(batch);
}

TEST(CaptureChannelTest, BatchesArriveInOrderWithTheSendersPid) {
  CollectingSink sink;
  CaptureServer server(&sink);
  CaptureClient client;
  ASSERT_TRUE(client.Connect(server.socket_path()));
  EXPECT_TRUE(client.Send(FrameKind::kHello, "train.py"));
  for (size_t i = 1; i <= 50; ++i) EXPECT_TRUE(client.Send(FrameKind::kBatch, BatchOf(i)));
  EXPECT_TRUE(client.Send(FrameKind::kStatus, "a note\nof two lines"));
  EXPECT_TRUE(client.Send(FrameKind::kBye, ""));
  client.Close();
  const CaptureReport report = server.Finish();
  EXPECT_EQ(report.processes, 1);
  EXPECT_EQ(report.unfinished, 0);
  EXPECT_EQ(report.malformed_frames, 0);
  EXPECT_EQ(report.device_rows, 50 * 51 / 2);
  EXPECT_THAT(report.notes, testing::ElementsAre("a note?of two lines"));
  const auto batches = sink.Take();
  ASSERT_EQ(batches.size(), 50u);
  for (size_t i = 0; i < batches.size(); ++i) {
    EXPECT_EQ(batches[i].kernels.size(), i + 1);
    EXPECT_EQ(batches[i].pid, static_cast<uint32_t>(getpid()));
    EXPECT_EQ(batches[i].texts[batches[i].program], "train.py");
  }
}

// Larger than a socket takes at once.
TEST(CaptureChannelTest, LargeBatchesArriveWhole) {
  CollectingSink sink;
  CaptureServer server(&sink);
  CaptureClient client;
  ASSERT_TRUE(client.Connect(server.socket_path()));
  ASSERT_TRUE(client.Send(FrameKind::kBatch, BatchOf(100000)));
  ASSERT_TRUE(client.Send(FrameKind::kBye, ""));
  EXPECT_EQ(server.Finish().device_rows, 100000);
}

TEST(CaptureChannelTest, GarbageIsCutOffAndCountedWithoutHarmToOthers) {
  CollectingSink sink;
  CaptureServer server(&sink);
  CaptureClient good;
  ASSERT_TRUE(good.Connect(server.socket_path()));
  ASSERT_TRUE(good.Send(FrameKind::kBatch, BatchOf(1)));
  const auto send_bad = [&](FrameKind kind, const std::string& payload) {
    CaptureClient bad;
    ASSERT_TRUE(bad.Connect(server.socket_path()));
    bad.Send(kind, payload);
  };
  send_bad(FrameKind::kBatch, "no batch");
  send_bad(static_cast<FrameKind>(99), "no kind");
  send_bad(FrameKind::kBatch, BatchOf(3).substr(0, 100));
  ASSERT_TRUE(sink.WaitForBatches(1));
  ASSERT_TRUE(good.Send(FrameKind::kBatch, BatchOf(2)));
  ASSERT_TRUE(good.Send(FrameKind::kBye, ""));
  const CaptureReport report = server.Finish();
  EXPECT_EQ(report.malformed_frames, 3);
  EXPECT_EQ(report.unfinished, 3);
  EXPECT_EQ(report.device_rows, 3);
}

TEST(CaptureChannelTest, AProcessKilledInTheMiddleIsCountedAndKeepsWhatArrived) {
  CollectingSink sink;
  CaptureServer server(&sink);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    CaptureClient client;
    if (!client.Connect(server.socket_path())) _exit(1);
    client.Send(FrameKind::kBatch, BatchOf(4));
    // A frame that is announced and never comes.
    const std::string half = BatchOf(1000);
    FrameHeader header;
    header.kind = FrameKind::kBatch;
    header.bytes = half.size();
    client.Send(FrameKind::kStatus, "half");
    for (int descriptor = 3; descriptor < 1024; ++descriptor) {
      struct stat kind {};
      if (fstat(descriptor, &kind) == 0 && S_ISSOCK(kind.st_mode) && descriptor >= 700) {
        if (write(descriptor, &header, sizeof(header)) < 0 ||
            write(descriptor, half.data(), half.size() / 2) < 0)
          _exit(1);
      }
    }
    kill(getpid(), SIGKILL);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFSIGNALED(how));
  const CaptureReport report = server.Finish();
  EXPECT_EQ(report.device_rows, 4);
  EXPECT_EQ(report.unfinished, 1);
  EXPECT_EQ(report.unfinished_with_device, 1);
  EXPECT_EQ(report.malformed_frames, 1);
  const auto batches = sink.Take();
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].pid, static_cast<uint32_t>(child));
}

TEST(CaptureChannelTest, ProcessesBeyondTheLimitAreCounted) {
  CollectingSink sink;
  CaptureServer server(&sink, {.connections = 2});
  CaptureClient clients[5];
  for (CaptureClient& client : clients) {
    ASSERT_TRUE(client.Connect(server.socket_path()));
    client.Send(FrameKind::kHello, "train.py");
  }
  const CaptureReport report = server.Finish();
  EXPECT_EQ(report.refused, 3);
  EXPECT_EQ(report.unfinished, 2);
}

// Law: a process that connects while this one has no descriptor left is cut off and counted, not left waiting
// with the server asking for it for ever.
TEST(CaptureChannelTest, ProcessesBeyondTheDescriptorsAreCounted) {
  CollectingSink sink;
  CaptureServer server(&sink);
  int go[2];
  ASSERT_EQ(pipe2(go, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    CaptureClient clients[3];
    if (read(go[0], &byte, 1) != 1) _exit(1);
    for (CaptureClient& client : clients) client.Connect(server.socket_path());
    pause();
    _exit(0);
  }
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int lowest_free = dup(go[1]);
  close(lowest_free);
  rlimit none_left = before;
  none_left.rlim_cur = static_cast<rlim_t>(lowest_free);
  setrlimit(RLIMIT_NOFILE, &none_left);
  EXPECT_EQ(write(go[1], "", 1), 1);
  for (int i = 0; i < 6000 && server.Report().refused < 3; ++i) usleep(10'000);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(server.Report().refused, 3);
  EXPECT_EQ(server.Report().processes, 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(go[0]);
  close(go[1]);
  // The next one is taken.
  CaptureClient client;
  ASSERT_TRUE(client.Connect(server.socket_path()));
  EXPECT_TRUE(client.Send(FrameKind::kHello, "train.py"));
  EXPECT_EQ(server.Finish().processes, 1);
}

// The other end of a connection, which sends when and how far it is told.
class RawSender {
 public:
  RawSender(const std::string& path, std::string bytes) : bytes_(std::move(bytes)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) bytes_.clear();
  }
  ~RawSender() { close(socket_); }
  // Waits while the server does not read.
  bool SendUpTo(size_t end) {
    while (sent_ < std::min(end, bytes_.size())) {
      const ssize_t sent =
          send(socket_, bytes_.data() + sent_, std::min(end, bytes_.size()) - sent_, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      sent_ += static_cast<size_t>(sent);
    }
    return !bytes_.empty();
  }

 private:
  std::string bytes_;
  size_t sent_ = 0;
  int socket_ = -1;
};

std::string FrameOf(FrameKind kind, const std::string& payload) {
  FrameHeader header;
  header.kind = kind;
  header.bytes = payload.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + payload;
}

// Law: frames that are not whole hold no more than the limit and one frame beside it, and all of them become
// whole in the end. Twenty connections have begun a frame each before any of them goes on; the frames are
// seven times as large as the limit together.
TEST(CaptureChannelTest, IncompleteFramesOfAllConnectionsAreBounded) {
  constexpr size_t kLimit = size_t{2} << 20, kConnections = 20, kKernels = 5000;
  CollectingSink sink;
  CaptureServer server(&sink, {.held_bytes = kLimit});
  const std::string frame = FrameOf(FrameKind::kBatch, BatchOf(kKernels));
  ASSERT_GT(frame.size() * kConnections, 4 * kLimit);
  std::vector<std::unique_ptr<RawSender>> senders;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kConnections; ++i)
    senders.push_back(std::make_unique<RawSender>(server.socket_path(), frame));
  std::barrier begun(kConnections);
  for (const auto& sender : senders) {
    threads.emplace_back([&, to = sender.get()] {
      EXPECT_TRUE(to->SendUpTo(frame.size() / kConnections));
      begun.arrive_and_wait();
      EXPECT_TRUE(to->SendUpTo(frame.size()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(sink.WaitForBatches(kConnections));
  const CaptureReport report = server.Finish();
  EXPECT_EQ(report.device_rows, static_cast<int64_t>(kConnections * kKernels));
  EXPECT_EQ(report.malformed_frames, 0);
  EXPECT_LE(report.most_held_bytes, kLimit + 2 * frame.size());
}

// Law: a server that fails ends its connections at once and takes no more; nobody waits for it.
TEST(CaptureChannelTest, AServerWithoutMemoryLetsItsProcessesGoOn) {
  class NoMemory : public traces::ActivitySink {
    void Consume(traces::ActivityBatch) override { throw std::bad_alloc(); }
  } sink;
  std::string folder;
  {
    CaptureServer server(&sink);
    folder = server.socket_path().substr(0, server.socket_path().rfind('/'));
    CaptureClient client, later;
    ASSERT_TRUE(client.Connect(server.socket_path()));
    EXPECT_TRUE(client.Send(FrameKind::kBatch, BatchOf(1)));
    for (int i = 0; i < 6000 && server.Report().ended_early.empty(); ++i) usleep(10'000);
    while (client.Send(FrameKind::kBatch, BatchOf(1000))) {
    }
    EXPECT_FALSE(later.Connect(server.socket_path()));
    const CaptureReport report = server.Finish();
    EXPECT_EQ(report.ended_early, "the host has no memory left for this");
    EXPECT_EQ(report.unfinished, 1);
  }
  struct stat gone {};
  EXPECT_NE(stat(folder.c_str(), &gone), 0);
}

// A program may close descriptors that are not its own, and get the same number for a file.
TEST(CaptureChannelTest, AClosedAndReusedDescriptorIsNeverWrittenTo) {
  CollectingSink sink;
  CaptureServer server(&sink);
  CaptureClient client;
  ASSERT_TRUE(client.Connect(server.socket_path()));
  int descriptor = -1;
  for (int i = 700; i < 1024 && descriptor < 0; ++i) {
    struct stat kind {};
    if (fstat(i, &kind) == 0 && S_ISSOCK(kind.st_mode)) descriptor = i;
  }
  ASSERT_GE(descriptor, 0);
  const std::string path = testing::TempDir() + "lanescope_reused_" + std::to_string(getpid());
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(dup2(file, descriptor), descriptor);
  EXPECT_FALSE(client.Send(FrameKind::kBatch, BatchOf(10)));
  EXPECT_FALSE(client.is_open());
  client.Close();
  EXPECT_NE(fcntl(descriptor, F_GETFD), -1);  // it is not ours to close
  struct stat written {};
  ASSERT_EQ(fstat(file, &written), 0);
  EXPECT_EQ(written.st_size, 0);
  close(file);
  close(descriptor);
  unlink(path.c_str());
}

TEST(CaptureChannelTest, WithoutAServerNothingHappens) {
  CaptureClient client;
  EXPECT_FALSE(client.Connect("/nonexistent/s"));
  EXPECT_FALSE(client.Connect(std::string(500, 'x')));
  EXPECT_FALSE(client.Send(FrameKind::kBye, ""));
}

TEST(CaptureChannelTest, TheSocketIsInAFolderOfThisUserAndGoesWithTheServer) {
  CollectingSink sink;
  std::string path;
  {
    CaptureServer server(&sink);
    path = server.socket_path();
    struct stat folder {};
    ASSERT_EQ(stat(path.substr(0, path.rfind('/')).c_str(), &folder), 0);
    EXPECT_EQ(folder.st_mode & 0777, 0700u);
  }
  struct stat gone {};
  EXPECT_NE(stat(path.c_str(), &gone), 0);
  EXPECT_NE(stat(path.substr(0, path.rfind('/')).c_str(), &gone), 0);
}

}  // namespace
}  // namespace lanescope::profiler
