// SPDX-License-Identifier: Apache-2.0
// Every allocation, write, sync, open and thread start of a run and of an import fails once, every allocation
// and thread start of a search too, and the program is killed at every change of a file. Law: it ends, says
// in one line what went wrong, and leaves nothing half-written under a final name; earlier runs of a trace
// stay. The test command takes a sample of the many allocations; with LANESCOPE_FAULTS=all in the environment
// nothing is left out.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "core/base/error.h"
#include "tests/cli/faulty_program.h"
#include "tests/support/paths.h"
#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"

namespace lanescope::cli {
namespace {

constexpr size_t kSampledAllocations = 150, kSampledLateAllocations = 25, kSampledKills = 60;
// One is enough to work on; a broken rule breaks at many places.
constexpr int kReportedFailures = 5;

// All that a summary says of a run; empty: it cannot be read.
std::string Reading(const std::string& trace, int run) {
  try {
    return traces::SummaryJson(traces::Summarize(trace, run, {}));
  } catch (const Error&) {
    return "";
  }
}

// A command, the files that it finds, and what must be true of them afterwards.
class Scenario {
 public:
  virtual ~Scenario() = default;
  virtual std::vector<std::string> Arguments() const = 0;
  virtual void Prepare() const = 0;
  // Empty, or what is wrong.
  virtual std::string Inspect(const Outcome& outcome) const = 0;

  // A process that is killed leaves the file that it has not finished, under a hidden name.
  void ClearUnfinished() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with(".lanescope-")) std::filesystem::remove(entry.path());
    }
  }

 protected:
  const std::string& folder() const { return folder_; }
  std::string File(const std::string& name) const { return folder_ + "/" + name; }
  void Clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      std::filesystem::remove_all(entry.path());
  }
  // The first file of another name than these; empty: there is none.
  std::string Foreign(const std::vector<std::string>& names) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (std::ranges::find(names, name) == names.end()) return name;
    }
    return "";
  }

 private:
  Folder owner_;
  std::string folder_ = std::filesystem::path(owner_.File("x")).parent_path();
};

// A run is appended to a trace that has one.
class AppendedRun : public Scenario {
 public:
  AppendedRun() {
    const Outcome outcome = Lanescope(Words(original_.File("trace.db")));
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    std::filesystem::copy_file(original_.File("trace.db"), File("trace.db"));
    first_run_ = Reading(File("trace.db"), 1);
    EXPECT_NE(first_run_, "");
  }

  std::vector<std::string> Arguments() const override { return Words(File("trace.db")); }
  void Prepare() const override {
    Clear();
    std::filesystem::copy_file(original_.File("trace.db"), File("trace.db"));
  }
  std::string Inspect(const Outcome& outcome) const override {
    if (const std::string name = Foreign({"trace.db", "trace.db-wal", "trace.db-shm", "trace.db-journal"});
        !name.empty())
      return "it left " + name;
    if (outcome.status == 0 && Reading(File("trace.db"), 2).empty()) return "its run cannot be read";
    return Reading(File("trace.db"), 1) == first_run_ ? "" : "the earlier run is not what it was";
  }

 private:
  static std::vector<std::string> Words(const std::string& trace) {
    return {"run",       Sample("two_towers_matmul"),
            "--machine", SampleMachine("two-virtual-gpus"),
            "--steps",   "2",
            "--warmup",  "0",
            "--trace",   trace};
  }

  Folder original_;
  std::string first_run_;
};

// A trace of PyTorch's profiler is imported.
class Import : public Scenario {
 public:
  Import() {
    Prepare();
    const Outcome outcome = Lanescope(Arguments());
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    whole_ = Reading(File("out.db"), 1);
    EXPECT_NE(whole_, "");
  }

  std::vector<std::string> Arguments() const override {
    return {"import", lanescope::test::SourceDir() + "/tests/fuzz/corpus/kineto/trace.json", "-o",
            File("out.db")};
  }
  void Prepare() const override { Clear(); }
  std::string Inspect(const Outcome& outcome) const override {
    const bool killed = outcome.status > 128;
    if (const std::string name = Foreign({"out.db"}); !name.empty() && !killed) return "it left " + name;
    const bool exists = std::filesystem::exists(File("out.db"));
    if (exists && Reading(File("out.db"), 1) != whole_) return "it left a part under the final name";
    return exists || outcome.status != 0 ? "" : "there is no trace";
  }

 private:
  std::string whole_;
};

// The fastest placement is searched by two threads, and written.
class PlacementSearch : public Scenario {
 public:
  std::vector<std::string> Arguments() const override {
    return {"search",    Sample("two_towers_matmul"),
            "--machine", SampleMachine("two-virtual-gpus"),
            "--rounds",  "1",
            "--threads", "2",
            "-o",        File("best.json")};
  }
  void Prepare() const override { Clear(); }
  std::string Inspect(const Outcome& outcome) const override {
    if (const std::string name = Foreign({"best.json"}); !name.empty()) return "it left " + name;
    return outcome.status != 0 || std::filesystem::exists(File("best.json")) ? "" : "there is no placement";
  }
};

// Libraries give up where no memory at all is left (protobuf aborts): then only the files count.
bool MayCrash(const Fault& fault) { return fault.kind == "alloc" && fault.action == FaultAction::kFrom; }

void ExpectWellFor(const Scenario& scenario, const std::string& kind, FaultAction action, size_t at_most) {
  scenario.Prepare();
  int failures = 0;
  for (const std::string& which : Sample(CountOperations(scenario.Arguments(), kind), at_most)) {
    scenario.Prepare();
    const Fault fault{kind, action, which};
    const Outcome outcome = LanescopeWithFault(scenario.Arguments(), fault);
    std::string complaint = Complaint(outcome);
    constexpr int kKilled = 128 + 9;  // it hung
    if (MayCrash(fault) && outcome.status != kKilled) complaint.clear();
    if (complaint.empty()) complaint = scenario.Inspect(outcome);
    if (complaint.empty()) continue;
    ADD_FAILURE() << fault.ToString() << ": " << complaint << "\nstatus " << outcome.status << "\n"
                  << outcome.errors;
    if (++failures == kReportedFailures) return;
  }
}

void ExpectNothingLostByKills(const Scenario& scenario) {
  scenario.Prepare();
  int failures = 0;
  for (const std::string& which : Sample(CountOperations(scenario.Arguments(), "change"), kSampledKills)) {
    scenario.Prepare();
    const Fault fault{"change", FaultAction::kKill, which};
    const Outcome killed = LanescopeWithFault(scenario.Arguments(), fault);
    // The other threads' changes may have been fewer this time.
    if (killed.status == 0) continue;
    std::string complaint = killed.status == 128 + 9 ? scenario.Inspect(killed) : "it was not killed";
    if (complaint.empty()) {
      scenario.ClearUnfinished();
      const Outcome again = Lanescope(scenario.Arguments());
      const bool there_already = again.errors.starts_with("error: AlreadyExists: ");
      if (again.status != 0 && !there_already) complaint = "the next one fails: " + again.errors;
      if (complaint.empty() && !there_already) complaint = scenario.Inspect(again);
    }
    if (complaint.empty()) continue;
    ADD_FAILURE() << fault.ToString() << ": " << complaint;
    if (++failures == kReportedFailures) return;
  }
}

constexpr size_t kEveryOperation = static_cast<size_t>(-1);

class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers stand in for malloc themselves";
#endif
  }
};

TEST_F(Faults, OpensOfARun) { ExpectWellFor(AppendedRun(), "open", FaultAction::kOnce, kEveryOperation); }
TEST_F(Faults, ThreadsOfARun) { ExpectWellFor(AppendedRun(), "thread", FaultAction::kOnce, kEveryOperation); }
TEST_F(Faults, SyncsOfARun) { ExpectWellFor(AppendedRun(), "sync", FaultAction::kOnce, kEveryOperation); }
TEST_F(Faults, WritesOfARun) { ExpectWellFor(AppendedRun(), "write", FaultAction::kOnce, kEveryOperation); }
TEST_F(Faults, AllWritesOfARunFromOneOn) {
  ExpectWellFor(AppendedRun(), "write", FaultAction::kFrom, kEveryOperation);
}
TEST_F(Faults, AllocationsOfARun) {
  ExpectWellFor(AppendedRun(), "alloc", FaultAction::kOnce, kSampledAllocations);
}
TEST_F(Faults, AllAllocationsOfARunFromOneOn) {
  ExpectWellFor(AppendedRun(), "alloc", FaultAction::kFrom, kSampledLateAllocations);
}
TEST_F(Faults, KillsOfARun) { ExpectNothingLostByKills(AppendedRun()); }

TEST_F(Faults, ThreadsOfASearch) {
  ExpectWellFor(PlacementSearch(), "thread", FaultAction::kOnce, kEveryOperation);
}
TEST_F(Faults, AllocationsOfASearch) {
  ExpectWellFor(PlacementSearch(), "alloc", FaultAction::kOnce, kSampledAllocations);
}

TEST_F(Faults, OpensOfAnImport) { ExpectWellFor(Import(), "open", FaultAction::kOnce, kEveryOperation); }
TEST_F(Faults, SyncsOfAnImport) { ExpectWellFor(Import(), "sync", FaultAction::kOnce, kEveryOperation); }
TEST_F(Faults, WritesOfAnImport) { ExpectWellFor(Import(), "write", FaultAction::kOnce, kEveryOperation); }
TEST_F(Faults, AllWritesOfAnImportFromOneOn) {
  ExpectWellFor(Import(), "write", FaultAction::kFrom, kEveryOperation);
}
TEST_F(Faults, AllocationsOfAnImport) {
  ExpectWellFor(Import(), "alloc", FaultAction::kOnce, kSampledAllocations);
}
TEST_F(Faults, AllAllocationsOfAnImportFromOneOn) {
  ExpectWellFor(Import(), "alloc", FaultAction::kFrom, kSampledLateAllocations);
}
TEST_F(Faults, KillsOfAnImport) { ExpectNothingLostByKills(Import()); }

}  // namespace
}  // namespace lanescope::cli
