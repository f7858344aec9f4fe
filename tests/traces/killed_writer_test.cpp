// SPDX-License-Identifier: Apache-2.0
// A writer that is killed at any step leaves a trace that can be read, asked and appended to, with every run
// that was in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "core/base/error.h"
#include "tests/support/faulty_files.h"
#include "tests/support/sanitized.h"
#include "tests/traces/sample_run.h"
#include "traces/import/import.h"
#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"
#include "traces/store/query.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

namespace fs = std::filesystem;

// The exit status of a process of its own that does `work`.
int InProcess(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      work();
    } catch (const std::exception& error) {
      fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  int how = 0;
  waitpid(child, &how, 0);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

void Append(const std::string& path) {
  SampleRun sample;
  TraceWriter writer(path);
  sample.WriteTo(&writer, 2);
  writer.Close();
}

// False when the process got through to its end.
bool EndsAppending(FaultyFiles* files, const std::string& path, FileFault fault, int64_t step) {
  const int status = InProcess([&] {
    files->Arm(fault, step);
    Append(path);
  });
  EXPECT_THAT(status, testing::AnyOf(0, FaultyFiles::kEnded)) << "step " << step;
  return status == FaultyFiles::kEnded;
}

void ExpectSampleRun(TraceReader* reader, int id) {
  const TraceRun run = reader->ReadRun(id);
  EXPECT_TRUE(run.info.complete);
  EXPECT_EQ(run.steps.size(), 2u);
  EXPECT_EQ(run.launches.size(), 6u);
  EXPECT_EQ(run.copies.size(), 6u);
  EXPECT_EQ(run.nodes.size(), 4u);
}

void ExpectSound(const std::string& path) {
  Database database(path, OpenMode::kReadOnly);
  EXPECT_EQ(database.QueryText("PRAGMA integrity_check"), "ok");
}

void CopyTrace(const std::string& from, const std::string& to) {
  for (const char* end : {"", "-wal", "-shm", "-journal"}) fs::remove(to + end);
  fs::copy_file(from, to);
}

class KilledWriterTest : public testing::TestWithParam<FileFault> {
 protected:
  FaultyFiles files_;
};
INSTANTIATE_TEST_SUITE_P(Faults, KilledWriterTest,
                         testing::Values(FileFault::kEndBefore, FileFault::kEndHalfway));

TEST_P(KilledWriterTest, RunsBeforeAreReadableAndMoreCanFollow) {
  ScratchFile file, before("before.db");
  Append(before.path());
  int64_t step = 1;
  for (;; step += test::kOneCaseOf) {
    SCOPED_TRACE(step);
    CopyTrace(before.path(), file.path());
    if (!EndsAppending(&files_, file.path(), GetParam(), step)) break;
    EXPECT_FALSE(fs::exists(file.path() + "-journal"));
    {
      TraceReader reader(file.path());
      ExpectSampleRun(&reader, 1);
      EXPECT_LE(reader.Runs().size(), 2u);
      EXPECT_NE(SummaryText(Summarize(reader, 1)), "");
    }
    EXPECT_EQ(RunQuery(file.path(), "SELECT 1 FROM LANESCOPE_STEP WHERE runId = 1").rows.size(), 2u);
    Append(file.path());
    TraceReader reader(file.path());
    const std::vector<TraceRunInfo> runs = reader.Runs();
    ExpectSampleRun(&reader, 1);
    ExpectSampleRun(&reader, runs.back().id);
    EXPECT_THAT(runs.size(), testing::AnyOf(2u, 3u));
    ExpectSound(file.path());
    if (HasFailure()) break;
  }
  EXPECT_GT(step, 10);
}

// Law of what is made as a whole: under its name there is nothing, or everything.
TEST_P(KilledWriterTest, AnImportOrASimulatedTraceIsThereWholeOrNotAtAll) {
  ScratchFile file, events("events.json");
  std::ofstream(events.path()) << R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1,
      "dur": 2, "args": {"device": 0, "stream": 7, "correlation": 1}}]})";
  const auto simulate = [&] {
    SampleRun sample;
    TraceWriter writer(file.path(), NewTrace::kWhenClosed);
    sample.WriteTo(&writer, 2);
    writer.Close();
  };
  const auto import = [&] { ImportTraces({events.path()}, file.path()); };
  for (const std::function<void()>& work : {std::function<void()>(simulate), std::function<void()>(import)}) {
    int64_t step = 1;
    for (;; step += test::kOneCaseOf) {
      const int status = InProcess([&] {
        files_.Arm(GetParam(), step);
        work();
      });
      if (status != FaultyFiles::kEnded) {
        EXPECT_EQ(status, 0) << "step " << step;
        break;
      }
      ASSERT_FALSE(fs::exists(file.path())) << "step " << step;
    }
    EXPECT_GT(step, 10);
    TraceReader reader(file.path());
    EXPECT_EQ(reader.Runs().size(), 1u);
    ExpectSound(file.path());
    fs::remove(file.path());
  }
}

// In the middle of each step: a file with half a write more holds what it held before.
TEST(KilledWritersTest, ANewTraceIsATraceOrNothingYet) {
  FaultyFiles files;
  ScratchFile file;
  int64_t step = 1;
  for (;; step += test::kOneCaseOf) {
    SCOPED_TRACE(step);
    for (const char* end : {"", "-wal", "-shm", "-journal"}) fs::remove(file.path() + end);
    if (!EndsAppending(&files, file.path(), FileFault::kEndHalfway, step)) break;
    try {
      TraceReader reader(file.path());
      for (const TraceRunInfo& run : reader.Runs()) reader.ReadRun(run.id);
    } catch (const Error& error) {
      EXPECT_THAT(error.code(), testing::AnyOf(Code::kNotFound, Code::kInvalidArgument)) << error.message();
    }
    Append(file.path());
    TraceReader reader(file.path());
    ExpectSampleRun(&reader, reader.Runs().back().id);
    ExpectSound(file.path());
    if (HasFailure()) break;
  }
  EXPECT_GT(step, 10);
}

// SQLite programs and older versions leave journals; whoever opens the file next undoes what they began.
TEST(KilledWritersTest, AHotJournalIsRolledBackByReadersAndWriters) {
  ScratchFile file, before("before.db");
  Append(before.path());
  for (const bool read_first : {true, false}) {
    SCOPED_TRACE(read_first);
    CopyTrace(before.path(), file.path());
    EXPECT_EQ(InProcess([&] {
                Database database(file.path(), OpenMode::kReadWrite);
                database.Execute("PRAGMA cache_size=1; BEGIN; UPDATE StringIds SET value = 'x' || value");
                database.Execute("INSERT INTO StringIds (value) SELECT randomblob(100000) FROM StringIds");
                _exit(3);
              }),
              3);
    ASSERT_TRUE(fs::exists(file.path() + "-journal"));
    if (!read_first) Append(file.path());
    TraceReader reader(file.path());
    ExpectSampleRun(&reader, 1);
    EXPECT_FALSE(fs::exists(file.path() + "-journal"));
  }
}

// Uses of a trace by someone who may only read it and its folder.
TEST(KilledWritersTest, WithoutItsIndexTheLogIsReadInAFolderThatMayNotBeWrittenTo) {
  ScratchFile file, closed("closed.db");
  EXPECT_EQ(InProcess([&] {
              SampleRun sample;
              TraceWriter writer(file.path());
              sample.WriteTo(&writer, 2);
              _exit(0);
            }),
            0);
  ASSERT_GT(fs::file_size(file.path() + "-wal"), 0u);
  fs::remove(file.path() + "-shm");
  // Killed between giving up the log and saying so in the file.
  Append(closed.path());
  Database(closed.path(), OpenMode::kReadWrite).Execute("PRAGMA journal_mode=WAL");
  for (const ScratchFile* each : {&file, &closed}) {
    for (const char* end : {"-wal", "-shm"}) {
      if (each == &closed) fs::remove(each->path() + end);
    }
    chmod(each->folder().c_str(), 0555);
    chmod(each->path().c_str(), 0444);
    EXPECT_EQ(InProcess([&] {
                constexpr uid_t kNobody = 65534;
                if (geteuid() == 0 && setuid(kNobody) != 0) _exit(2);
                TraceReader reader(each->path());
                ExpectSampleRun(&reader, 1);
                const QueryResult result =
                    RunQuery(each->path(), "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL");
                EXPECT_EQ(std::get<int64_t>(result.rows.at(0).at(0)), 6);
                if (testing::Test::HasFailure()) _exit(1);
              }),
              0);
    chmod(each->folder().c_str(), 0755);
  }
}

}  // namespace
}  // namespace lanescope::traces
