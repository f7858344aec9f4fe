// SPDX-License-Identifier: Apache-2.0
#include "profiler/injection.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "core/base/clock.h"
#include "profiler/batch_codec.h"
#include "profiler/clock_alignment.h"
#include "profiler/quiet_thread.h"

namespace lanescope::profiler {
namespace {

constexpr int kFlushMs = 200;
// The gate is looked at more often than ranges are flushed.
constexpr int kGateMs = 10;

std::atomic<Injection*> current{nullptr};
std::mutex creation;

// The last part of /proc/self/exe with the arguments: what the program is called.
std::string ProgramName() {
  std::string name;
  if (FILE* file = std::fopen("/proc/self/cmdline", "re")) {
    char text[256];
    const size_t size = std::fread(text, 1, sizeof(text), file);
    std::fclose(file);
    for (size_t i = 0; i < size; ++i) name += text[i] == '\0' ? ' ' : text[i];
    while (!name.empty() && name.back() == ' ') name.pop_back();
  }
  return name;
}

void FinishAtExit() {
  if (Injection* injection = current.load()) injection->Finish();
}

}  // namespace

Injection* Injection::Get() {
  if (Injection* injection = current.load(std::memory_order_acquire)) return injection;
  static const bool wanted = [] {
    InjectionSettings settings;
    return InjectionSettings::Read(&settings);
  }();
  if (!wanted) return nullptr;
  std::lock_guard lock(creation);
  if (current.load() == nullptr) {
    InjectionSettings settings;
    InjectionSettings::Read(&settings);
    current.store(new Injection(std::move(settings)), std::memory_order_release);
    pthread_atfork(nullptr, nullptr, AfterFork);
    std::atexit(FinishAtExit);
  }
  return current.load();
}

Injection::Injection(InjectionSettings settings) : settings_(std::move(settings)), pid_(getpid()) {
  nvtx_.SetRecording(IsGateOpen());
  nvtx_.Watch(settings_.nvtx_range, [this](bool open) {
    range_open_.store(open);
    ApplyGate();
  });
}

// The parent's object stays as it is in the child's copy of the memory; only its descriptor is open twice,
// and is closed when the child runs another program.
void Injection::AfterFork() {
  Injection* parent = current.load();
  if (parent != nullptr) current.store(new Injection(parent->settings_), std::memory_order_release);
}

bool Injection::IsGateOpen() const {
  const int64_t now = NowNs();
  if (now < settings_.begin_ns || (settings_.end_ns > 0 && now >= settings_.end_ns)) return false;
  return settings_.nvtx_range.empty() || range_open_.load();
}

void Injection::ApplyGate() {
  std::lock_guard lock(gate_mutex_);
  const bool open = IsGateOpen();
  nvtx_.SetRecording(open);
  if (session_ != nullptr) session_->SetRecording(open);
}

void Injection::Start() {
  std::call_once(started_, [this] {
    const int saved = errno;
    {
      std::lock_guard lock(client_mutex_);
      if (client_.Connect(settings_.socket)) client_.Send(FrameKind::kHello, ProgramName());
    }
    try {
      StartQuietThread([this] { FlushLoop(); }).detach();
    } catch (const std::system_error&) {
      SendLine(FrameKind::kStatus,
               "a process had no thread left for its capture: NVTX ranges come at its end");
    }
    errno = saved;
  });
}

void Injection::StartCuda() {
  std::call_once(cuda_started_, [this] {
    Start();
    // Handlers run in reverse order: this one before what CUDA has registered by now.
    std::atexit(FinishAtExit);
    CaptureOptions options;
    options.mode = settings_.mode;
    options.can_detach = false;
    options.recording = IsGateOpen();
    std::string reason;
    // Never destroyed: see the class.
    CaptureSession* session = CaptureSession::Start(options, this, &reason).release();
    if (session == nullptr) {
      SendLine(FrameKind::kFailed, reason);
      return;
    }
    {
      std::lock_guard lock(gate_mutex_);
      session_ = session;
    }
    ApplyGate();  // it may have changed meanwhile
    SendNotes();
  });
}

void Injection::FlushLoop() {
  auto next_flush = std::chrono::steady_clock::now();
  while (!stop_.load()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kGateMs));
    if (settings_.begin_ns > 0 || settings_.end_ns > 0) ApplyGate();
    if (std::chrono::steady_clock::now() < next_flush) continue;
    next_flush = std::chrono::steady_clock::now() + std::chrono::milliseconds(kFlushMs);
    traces::ActivityBatch batch;
    nvtx_.Take(&batch);
    if (!traces::IsEmpty(batch)) Consume(std::move(batch));
  }
}

void Injection::Consume(traces::ActivityBatch batch) {
  std::lock_guard lock(client_mutex_);
  const auto rows = static_cast<int64_t>(traces::NumRows(batch));
  try {
    batch.pid = static_cast<uint32_t>(pid_);
    batch.Count(traces::Loss::kNotSent, unsent_);
    std::string bytes = EncodeBatch(batch);
    if (bytes.size() > kMaxFrameBytes) {
      traces::ActivityBatch counts;
      counts.pid = batch.pid;
      counts.losses = batch.losses;
      counts.Count(traces::Loss::kNotSent, rows);
      bytes = EncodeBatch(counts);
    }
    if (client_.Send(FrameKind::kBatch, bytes)) {
      unsent_ = 0;
      return;
    }
  } catch (...) {
    // Without memory the rows are lost, and counted as long as anything can be said.
  }
  unsent_ += rows;
}

void Injection::SendLine(FrameKind kind, const std::string& text) {
  std::lock_guard lock(client_mutex_);
  client_.Send(kind, text);
}

void Injection::SendNotes() {
  const std::vector<std::string> notes = session_->Notes();
  for (; notes_sent_ < notes.size(); ++notes_sent_) SendLine(FrameKind::kStatus, notes[notes_sent_]);
}

void Injection::Finish() {
  if (getpid() != pid_) return;
  std::call_once(finished_, [this] {
    {
      std::lock_guard lock(client_mutex_);
      if (!client_.is_open()) return;
    }
    CaptureSession* session = nullptr;
    {
      std::lock_guard lock(gate_mutex_);
      session = session_;
    }
    if (session != nullptr) {
      session->Stop();
      SendNotes();
    }
    stop_.store(true);
    traces::ActivityBatch batch;
    nvtx_.Take(&batch, true);
    if (!traces::IsEmpty(batch)) Consume(std::move(batch));
    std::lock_guard lock(client_mutex_);
    if (unsent_ == 0) client_.Send(FrameKind::kBye, "");
    client_.Close();
  });
}

}  // namespace lanescope::profiler
