// SPDX-License-Identifier: Apache-2.0
// Steps that run.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "python/binding/calls.h"
#include "python/binding/open_session.h"

namespace lanescope::python {
namespace {

class SessionHandle;

// Sessions that the end of the program closes. Changed with the interpreter's lock.
std::set<SessionHandle*>& Sessions() {
  static auto* const sessions = new std::set<SessionHandle*>;
  return *sessions;
}

// A session in the process that opened it. A fork of that has its memory but none of its threads: there a
// session cannot be used, and what waits for threads is left undone for good.
class SessionHandle {
 public:
  SessionHandle(const GraphHandle& graph, const PlacementHandle& placement, const std::string& trace,
                std::optional<uint64_t> seed, double timeout_s, const std::string& profile,
                bool any_algorithm) {
    graph.Runnable();
    open_ = std::make_unique<OpenSession>(placement,
                                          SessionSettings{trace, seed, timeout_s, profile, any_algorithm});
    Sessions().insert(this);
  }
  ~SessionHandle() {
    Sessions().erase(this);
    if (!IsHere()) open_.release();
  }

  bool IsHere() const { return process_ == getpid(); }
  const OpenSession& open() const { return *open_; }

  nb::dict Step(const std::optional<nb::dict>& feeds, bool recorded) {
    if (IsHere()) return open_->Step(feeds, recorded);
    Throw(Code::kFailedPrecondition,
          "this session runs in process {}, of which this one is a fork; open a session here", process_);
  }
  // That of another process is left to it.
  void Close(const std::string& error) {
    if (IsHere()) open_->Close(error);
  }
  void CloseAtEnd() {
    if (IsHere()) open_->CloseAtEnd();
  }

 private:
  const pid_t process_ = getpid();
  std::unique_ptr<OpenSession> open_;
};

// Besides this one, which are daemon threads once the program ends.
bool AnyOtherThread() {
  return PyThreadState_Next(PyInterpreterState_ThreadHead(PyInterpreterState_Get())) != nullptr;
}

// As `run --json` has it.
nb::object TimingOf(const SessionHandle& session) {
  const RunTiming& timing = session.open().timing();
  if (timing.commands == CommandTiming::kThreads) return nb::none();
  nb::dict told;
  told["commands"] = std::string(kCommandTimingNames[static_cast<size_t>(timing.commands)]);
  told["pair_ns"] = timing.pair_ns;
  told["untimed_steps"] = timing.untimed.size();
  return told;
}

void EndSessions() {
  EndCalls();
  for (SessionHandle* session : Sessions()) session->CloseAtEnd();
  // Daemon threads never return, so that nobody releases what their frames hold: nanobind would list it as
  // leaked, which it is by no mistake.
  if (AnyOtherThread()) nb::set_leak_warnings(false);
}

}  // namespace

void AddSession(nb::module_& module) {
  nb::class_<SessionHandle>(module, "Session", "A placed graph on its devices, with its variables.")
      .def(nb::init<const GraphHandle&, const PlacementHandle&, const std::string&, std::optional<uint64_t>,
                    double, const std::string&, bool>(),
           nb::arg("graph"), nb::arg("placement"), nb::arg("trace"), nb::arg("seed").none(),
           nb::arg("timeout_s"), nb::arg("profile"), nb::arg("any_algorithm"))
      .def("step", &SessionHandle::Step, nb::arg("feeds").none(), nb::arg("recorded"))
      .def("close", &SessionHandle::Close, nb::arg("error"))
      .def_prop_ro("step_ns", [](const SessionHandle& session) { return session.open().step_ns(); })
      .def_prop_ro("run", [](const SessionHandle& session) { return session.open().run_id(); })
      .def_prop_ro("oversubscribed",
                   [](const SessionHandle& session) { return session.open().oversubscribed(); })
      .def_prop_ro("timing", &TimingOf)
      .def_prop_ro("notes", [](const SessionHandle& session) { return session.open().notes(); });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&EndSessions));
}

}  // namespace lanescope::python
