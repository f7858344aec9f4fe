// Steps that run.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "core/inputs/run_spec.h"
#include "python/binding/handles.h"
#include "python/binding/interruption.h"
#include "python/binding/tensors.h"
#include "study/measure/recorded_run.h"
#include "traces/record/trace_writer.h"

namespace lanescope::python {
namespace {

// One run, step by step. Not thread-safe: a second thread that uses it meanwhile gets FailedPrecondition.
class SessionHandle {
 public:
  SessionHandle(const GraphHandle& graph, const PlacementHandle& placement, const std::string& trace,
                std::optional<uint64_t> seed, double timeout_s, const std::string& profile)
      : placement_(placement) {
    graph.Runnable();
    options_.settings.seed = seed;
    options_.settings.timeout_ns = static_cast<int64_t>(timeout_s * 1e9);
    options_.cancellation = &cancellation_;
    options_.note = [this](const std::string& line) { notes_.push_back(line); };
    options_.feeds = [this](int64_t step) { return FeedsOf(step); };
    const auto found = std::ranges::find(study::kProfileNames, profile);
    if (found == study::kProfileNames.end())
      Throw(Code::kInvalidArgument, "there is no profile '{}'; take off, kernels or full", profile);
    capture_ = std::make_unique<study::RunCapture>(
        static_cast<study::Profile>(found - study::kProfileNames.begin()));
    options_.capture = capture_.get();
    if (!trace.empty()) writer_ = std::make_unique<traces::TraceWriter>(trace);
    RunInterruptibly(&cancellation_, [&] {
      run_ = std::make_unique<study::RecordedRun>(placement_.placed, *placement_.machine, writer_.get(),
                                                  options_);
      run_->on_step = [this](int64_t, const std::vector<Tensor>& fetches) { fetches_ = fetches; };
    });
  }
  ~SessionHandle() {
    try {
      Close();
    } catch (const std::exception&) {
      // Who wants to know closes it.
    }
  }

  nb::dict Step(const std::optional<nb::dict>& feeds, bool recorded) {
    if (run_ == nullptr) Throw(Code::kFailedPrecondition, "this session is closed");
    if (busy_.exchange(true)) Throw(Code::kFailedPrecondition, "another thread runs a step of this session");
    const std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)> idle(
        &busy_, [](std::atomic<bool>* busy) { *busy = false; });
    fed_.reset();
    if (feeds) fed_ = TensorsOf(*feeds);
    if (recorded) capture_->BeginRecording();
    RunInterruptibly(&cancellation_, [&] { recorded ? run_->RunSteps(1) : run_->WarmUp(1); });
    nb::dict result;
    const std::vector<std::string> names = FetchTitles(placement_.workload().spec());
    for (size_t i = 0; i < fetches_.size(); ++i) result[names[i].c_str()] = ArrayOf(fetches_[i]);
    return result;
  }

  // Idempotent.
  void Close() {
    if (run_ == nullptr) return;
    const nb::gil_scoped_release unlocked;
    run_->Finish();
    step_ns_ = run_->step_ns();
    run_id_ = run_->run_id();
    oversubscribed_ = run_->oversubscribed();
    run_.reset();
    if (writer_ != nullptr) writer_->Close();
    writer_.reset();
  }

  std::vector<int64_t> step_ns() const { return run_ != nullptr ? run_->step_ns() : step_ns_; }
  int run_id() const { return run_ != nullptr ? run_->run_id() : run_id_; }
  bool oversubscribed() const { return oversubscribed_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // What was given, and of what was not what the run configuration says.
  std::map<std::string, Tensor> FeedsOf(int64_t step) const {
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

  const PlacementHandle placement_;
  study::RecordedRunOptions options_;
  study::Cancellation cancellation_;
  std::vector<std::string> notes_;
  std::optional<std::map<std::string, Tensor>> fed_;
  std::vector<Tensor> fetches_;
  std::unique_ptr<study::RunCapture> capture_;
  std::unique_ptr<traces::TraceWriter> writer_;
  std::unique_ptr<study::RecordedRun> run_;
  std::atomic<bool> busy_{false};
  std::vector<int64_t> step_ns_;
  int run_id_ = 0;
  bool oversubscribed_ = false;
};

}  // namespace

void AddSession(nb::module_& module) {
  nb::class_<SessionHandle>(module, "Session", "A placed graph on its devices, with its variables.")
      .def(nb::init<const GraphHandle&, const PlacementHandle&, const std::string&, std::optional<uint64_t>,
                    double, const std::string&>(),
           nb::arg("graph"), nb::arg("placement"), nb::arg("trace"), nb::arg("seed").none(),
           nb::arg("timeout_s"), nb::arg("profile"))
      .def("step", &SessionHandle::Step, nb::arg("feeds").none(), nb::arg("recorded"))
      .def("close", &SessionHandle::Close)
      .def_prop_ro("step_ns", &SessionHandle::step_ns)
      .def_prop_ro("run", &SessionHandle::run_id)
      .def_prop_ro("oversubscribed", &SessionHandle::oversubscribed)
      .def_prop_ro("notes", &SessionHandle::notes);
}

}  // namespace lanescope::python
