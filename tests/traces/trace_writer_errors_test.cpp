// SPDX-License-Identifier: Apache-2.0
// Places that no trace can be written to, and disks that are full: one clear error, and nothing is lost.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/base/error.h"
#include "tests/support/faulty_files.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/record/trace_writer.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Code CodeOfOpening(const std::string& path) {
  try {
    TraceWriter writer(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
    return error.code();
  }
  return Code::kUnknown;
}

void WriteOneRun(const std::string& path) {
  TraceWriter writer(path);
  const SampleRun sample;
  sample.WriteTo(&writer, 1);
  writer.Close();
}

TEST(TraceWriterErrors, ForeignFilesAreRefusedAndLeftAlone) {
  ScratchFile text("notes.txt"), database("other.db"), short_text("a");
  std::ofstream(text.path()) << std::string(5000, 'x');
  std::ofstream(short_text.path()) << "a";
  {
    Database other(database.path(), OpenMode::kCreate);
    other.Execute("CREATE TABLE people (name TEXT); INSERT INTO people VALUES ('Ada')");
  }
  for (const std::string& path : {text.path(), database.path(), short_text.path()}) {
    const std::string before = ContentOf(path);
    EXPECT_EQ(CodeOfOpening(path), Code::kFailedPrecondition) << path;
    EXPECT_EQ(ContentOf(path), before) << path;
    EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  }
}

TEST(TraceWriterErrors, ANewerSchemaIsRefused) {
  ScratchFile file;
  WriteOneRun(file.path());
  Database(file.path(), OpenMode::kReadWrite).Execute("PRAGMA user_version=1000");
  EXPECT_EQ(CodeOfOpening(file.path()), Code::kFailedPrecondition);
  EXPECT_THROW(TraceReader reader(file.path()), Error);
}

// Law: what can be read of a trace that has lost its runs is not mixed with new ones.
TEST(TraceWriterErrors, ATraceWithoutItsRunsIsRefused) {
  ScratchFile file;
  WriteOneRun(file.path());
  Database(file.path(), OpenMode::kReadWrite).Execute("DROP TABLE LANESCOPE_RUN");
  const std::string before = ContentOf(file.path());
  EXPECT_EQ(CodeOfOpening(file.path()), Code::kFailedPrecondition);
  EXPECT_EQ(ContentOf(file.path()), before);
  EXPECT_EQ(TraceReader(file.path()).Runs().size(), 1u);
}

// Law: a page that is damaged is found before anything is written to it.
TEST(TraceWriterErrors, ADamagedTraceIsRefused) {
  ScratchFile file;
  WriteOneRun(file.path());
  std::string damaged = ContentOf(file.path());
  const auto page = static_cast<size_t>(
      Database(file.path(), OpenMode::kReadOnly)
          .QueryInteger("SELECT rootpage FROM sqlite_schema WHERE name = 'LANESCOPE_NODE'"));
  const auto page_size =
      static_cast<size_t>(Database(file.path(), OpenMode::kReadOnly).QueryInteger("PRAGMA page_size"));
  damaged[(page - 1) * page_size + 9] ^= 0x3f;  // where its first cell lies
  std::ofstream(file.path(), std::ios::binary) << damaged;
  EXPECT_EQ(CodeOfOpening(file.path()), Code::kFailedPrecondition);
  EXPECT_EQ(ContentOf(file.path()), damaged);
}

TEST(TraceWriterErrors, APlaceThatCannotBeWrittenIsOneClearError) {
  ScratchFile file;
  EXPECT_EQ(CodeOfOpening((file.folder() / "missing" / "trace.db").string()), Code::kFailedPrecondition);
  EXPECT_EQ(CodeOfOpening(file.folder().string()), Code::kFailedPrecondition);
  if (geteuid() != 0) {
    chmod(file.folder().c_str(), 0555);
    EXPECT_EQ(CodeOfOpening(file.path()), Code::kFailedPrecondition);
    chmod(file.folder().c_str(), 0755);
  }
}

// A limit on the size of files stands for a full disk: the error is reported, nothing crashes, and what was
// committed before can be read.
TEST(TraceWriterErrors, AFullDiskIsOneClearError) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  const int run = writer.BeginRun(sample.info());
  writer.AddSchedule(run, sample.schedule());
  writer.Sink(run)->Consume(SampleRun::StepEvents(0, 0));
  writer.Flush();
  Database(file.path(), OpenMode::kReadOnly);
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit old_limit, limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  limit = old_limit;
  limit.rlim_cur = 4 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  for (int step = 1; step < 30'000; ++step) {
    writer.Sink(run)->Consume(SampleRun::StepEvents(step, step * 1000));
  }
  EXPECT_THROW(writer.EndRun(run, {}), Error);
  EXPECT_THROW(writer.BeginRun(sample.info()), Error);
  EXPECT_THROW(writer.Close(), Error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const TraceRun read = TraceReader(file.path()).ReadRun(run);
  EXPECT_FALSE(read.info.complete);
  EXPECT_GE(read.steps.size(), 1u);
}

TEST(TraceWriterErrors, AFullDiskIsKnownBeforeTheRunEnds) {
  FaultyFiles files;
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  const int run = writer.BeginRun(sample.info());
  writer.AddSchedule(run, sample.schedule());
  writer.Flush();
  EXPECT_NO_THROW(writer.RequireHealthy());
  files.Arm(FileFault::kFail, 1, true);
  // Each commit is due after 150 ms; the first that fails is told.
  Code code = Code::kUnknown;
  for (int step = 0; code == Code::kUnknown; ++step) {
    writer.Sink(run)->Consume(SampleRun::StepEvents(step, step * 1000));
    try {
      writer.RequireHealthy();
    } catch (const Error& error) {
      code = error.code();
    }
  }
  EXPECT_EQ(code, Code::kResourceExhausted);
  EXPECT_THROW(writer.Close(), Error);
  files.Disarm();
}

// Limits on the size of files are full disks too; SQLite calls them input/output errors.
TEST(TraceWriterErrors, AFileThatMayNotGrowIsAFullDisk) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  const int run = writer.BeginRun(sample.info());
  writer.AddSchedule(run, sample.schedule());
  writer.Flush();
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const struct rlimit limit { 1 << 20, old_limit.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  for (int step = 0; step < 30'000; ++step) {
    writer.Sink(run)->Consume(SampleRun::StepEvents(step, step * 1000));
  }
  Code code = Code::kUnknown;
  try {
    writer.EndRun(run, {});
  } catch (const Error& error) {
    code = error.code();
  }
  EXPECT_THROW(writer.Close(), Error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  EXPECT_EQ(code, Code::kResourceExhausted);
}

TEST(TraceWriterErrors, APipeIsRefusedAtOnce) {
  ScratchFile file;
  ASSERT_EQ(mkfifo(file.path().c_str(), 0600), 0);
  EXPECT_EQ(CodeOfOpening(file.path()), Code::kFailedPrecondition);
  EXPECT_EQ(CodeOfOpening("/dev/zero"), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace lanescope::traces
