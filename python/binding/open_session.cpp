// SPDX-License-Identifier: Apache-2.0
#include "python/binding/open_session.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/base/error.h"
#include "core/inputs/run_spec.h"
#include "python/binding/calls.h"
#include "python/binding/interruption.h"
#include "python/binding/tensors.h"
#include "study/measure/run_capture.h"

namespace lanescope::python {
namespace {

std::string ReasonOf(const nb::python_error& raised) {
  return "Cancelled: the program raised " + nb::cast<std::string>(nb::str(raised.type().attr("__name__")));
}

// One that came after the last look at them would be raised where no session is known.
void RaiseSignals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

// A step's, from when it is asked for until its fetches are given.
class OpenSession::Turn {
 public:
  explicit Turn(OpenSession* of) : of_(of) {
    const std::lock_guard lock(of_->mutex_);
    if (of_->closing_) Throw(Code::kFailedPrecondition, "this session is closed");
    if (of_->busy_) Throw(Code::kFailedPrecondition, "another thread runs a step of this session");
    of_->busy_ = true;
    of_->stepping_ = std::this_thread::get_id();
  }
  ~Turn() {
    const std::lock_guard lock(of_->mutex_);
    of_->busy_ = false;
    of_->idle_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  OpenSession* of_;
};

OpenSession::OpenSession(const PlacementHandle& placement, const SessionSettings& settings)
    : placement_(placement) {
  options_.settings.seed = settings.seed;
  options_.settings.devices.any_algorithm = settings.any_algorithm;
  options_.settings.timeout_ns = static_cast<int64_t>(settings.timeout_s * 1e9);
  options_.cancellation = &cancellation_;
  options_.note = [this](const std::string& line) { told_.push_back(line); };
  options_.feeds = [this](int64_t step) { return FeedsOf(step); };
  capture_ =
      std::make_unique<study::RunCapture>(study::CaptureWishOf(settings.profile, !settings.trace.empty()));
  options_.capture = capture_.get();
  if (!settings.trace.empty()) writer_ = std::make_unique<traces::TraceWriter>(settings.trace);
  try {
    RunInterruptibly(&cancellation_, [&] {
      run_ = std::make_unique<study::RecordedRun>(placement_.placed, *placement_.machine, writer_.get(),
                                                  options_);
      run_->on_step = [this](int64_t, const std::vector<Tensor>& fetches) { fetches_ = fetches; };
    });
    RaiseSignals();
  } catch (const nb::python_error& raised) {
    error_ = ReasonOf(raised);
    Leave();
    throw;
  }
  run_id_ = run_->run_id();
  notes_ = told_;
}

OpenSession::~OpenSession() { Leave(); }

void OpenSession::Leave() {
  try {
    std::optional<Unlocked> unlocked;
    if (!ProgramEnds()) unlocked.emplace();
    // An exception may reach the program between two calls, and no `with` had it yet.
    if (recorded_steps_ == 0 && error_.empty()) error_ = "Cancelled: it was left before its first step";
    Finish();
  } catch (const std::exception&) {
    // A caller that wants to know closes it.
  }
}

nb::dict OpenSession::Step(const std::optional<nb::dict>& feeds, bool recorded) {
  const Turn turn(this);
  fed_.reset();
  if (feeds) fed_ = TensorsOf(*feeds);
  if (!cancellation_.cancelled()) error_.clear();
  try {
    RunStep(recorded);
    RaiseSignals();
  } catch (const nb::python_error& raised) {
    error_ = ReasonOf(raised);
    throw;
  } catch (const Error& error) {
    const Error told = error.code() == Code::kCancelled ? WhyCancelled(error) : error;
    if (error_.empty()) error_ = told.what();
    throw told;
  }
  return Fetches();
}

void OpenSession::RunStep(bool recorded) {
  if (recorded) capture_->BeginRecording();
  RunInterruptibly(&cancellation_, [&] { recorded ? run_->RunSteps(1) : run_->WarmUp(1); });
  const size_t steps = run_->step_ns().size();
  if (steps == recorded_steps_) return;
  recorded_steps_ = steps;
  // Steps before the first in which nothing was timed were longer for their timing.
  if (run_->timing().untimed.size() == 1 && run_->TellsTime(steps - 1)) step_ns_.clear();
  if (run_->TellsTime(steps - 1)) step_ns_.push_back(run_->step_ns().back());
}

Error OpenSession::WhyCancelled(const Error& error) {
  if (ProgramEnds()) return Error(error.code(), "the program ended while a step ran");
  const std::lock_guard lock(mutex_);
  return closing_ ? Error(error.code(), "this session was closed while a step ran") : error;
}

nb::dict OpenSession::Fetches() const {
  nb::dict fetches;
  const std::vector<std::string> names = FetchTitles(placement_.workload().spec());
  for (size_t i = 0; i < fetches_.size(); ++i) fetches[names[i].c_str()] = ArrayOf(fetches_[i]);
  return fetches;
}

// The given feeds, and for the others those of the run configuration.
std::map<std::string, Tensor> OpenSession::FeedsOf(int64_t step) const {
  const RunSpec& spec = placement_.workload().spec();
  std::map<std::string, Tensor> feeds;
  if (fed_) {
    for (const auto& [name, tensor] : *fed_) {
      std::string known = GraphTensorOf(spec, name);  // "x" and "x:0" are one tensor
      if (!spec.feeds.contains(known))
        known = known.ends_with(":0") ? known.substr(0, known.size() - 2) : known + ":0";
      if (!spec.feeds.contains(known)) Throw(Code::kNotFound, "the step is fed no tensor '{}'", name);
      feeds[known] = tensor;
    }
  }
  if (feeds.size() < spec.feeds.size()) feeds.merge(MakeFeeds(spec, step));
  return feeds;
}

void OpenSession::Close(const std::string& error) {
  if (ProgramEnds()) return;  // which closes it
  Ended ended;
  {
    const Unlocked unlocked;
    std::unique_lock lock(mutex_);
    closing_ = true;
    if (busy_) cancellation_.Cancel();
    if (busy_ && stepping_ == std::this_thread::get_id()) return;
    idle_.wait(lock, [&] { return !busy_; });
    if (run_ == nullptr) return;
    busy_ = true;
    stepping_ = {};
    lock.unlock();
    if (!error.empty()) error_ = error;
    std::exception_ptr thrown;
    try {
      ended = Finish();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    busy_ = false;
    idle_.notify_all();
    if (thrown) std::rethrow_exception(thrown);
  }
  ended_ = std::move(ended);
  notes_ = told_;
}

void OpenSession::CloseAtEnd() {
  {
    const std::lock_guard lock(mutex_);
    if (busy_) return;
    closing_ = true;
  }
  Leave();
}

OpenSession::Ended OpenSession::Finish() {
  if (run_ == nullptr) return ended_;
  run_->Finish(error_);
  const Ended ended{run_->oversubscribed(), run_->timing()};
  run_.reset();
  if (writer_ != nullptr) writer_->Close();
  writer_.reset();
  return ended;
}

}  // namespace lanescope::python
