// SPDX-License-Identifier: Apache-2.0
// Exports of Nsight Systems, one a rank, as one job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/support/expect_error.h"
#include "tests/traces/imported.h"
#include "tests/traces/nsys_export.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

// The two processes of WriteTwoProcesses as if they were a rank's, in a session that began at `utc_ns`.
void WriteRank(const std::string& path, int64_t utc_ns) {
  WriteTwoProcesses(path, ExportVersions().back());
  Database(path, OpenMode::kReadWrite)
      .Execute(
          "CREATE TABLE IF NOT EXISTS TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER); "
          "DELETE FROM TARGET_INFO_SESSION_START_TIME; "
          "INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES (" +
          std::to_string(utc_ns) + ")");
}

TEST(NsysJobTest, AnExportAloneIsReadAsItIs) {
  ScratchFile in("rank0.sqlite");
  WriteTwoProcesses(in.path(), ExportVersions().back());
  EXPECT_THAT(FilesToImport(in.path()), testing::IsEmpty());
  EXPECT_EQ(FormatOf(in.path()), "");
}

// Two sessions that began 10 us apart: devices are the ranks' own, times those of one clock; every launch has
// its call and range.
TEST(NsysJobTest, AFolderOfExportsIsOneJob) {
  constexpr int64_t kBegan = 1'700'000'000'000'000'000;
  ScratchFile job("job.db");
  const std::string folder = job.folder().string();
  WriteRank(folder + "/rank0.sqlite", kBegan);
  WriteRank(folder + "/rank1.sqlite", kBegan + 10'000);
  EXPECT_EQ(FilesToImport(folder).size(), 2u);
  ScratchFile out("out.db"), single("single.sqlite");
  ImportTraces({folder}, out.path());
  WriteTwoProcesses(single.path(), ExportVersions().back());
  const TraceRun one = TraceReader(single.path()).ReadRun(1), run = TraceReader(out.path()).ReadRun(1);
  ASSERT_EQ(run.launches.size(), 2 * one.launches.size());
  EXPECT_EQ(run.copies.size(), 2 * one.copies.size());
  EXPECT_EQ(run.memsets.size(), 2 * one.memsets.size());
  EXPECT_EQ(run.ranges.size(), 2 * one.ranges.size());
  EXPECT_EQ(run.api_calls.size(), 2 * one.api_calls.size());
  EXPECT_EQ(run.devices.size(), 2 * one.devices.size());
  for (size_t i = 0; i < one.launches.size(); ++i) {
    const TraceLaunch &alone = one.launches[i], &first = run.launches[i],
                      &second = run.launches[one.launches.size() + i];
    EXPECT_EQ(run.Text(first.name), one.Text(alone.name));
    EXPECT_EQ(first.end_ns - first.start_ns, alone.end_ns - alone.start_ns);
    EXPECT_EQ(second.start_ns - first.start_ns, 10'000);
    EXPECT_NE(second.device, first.device);
    EXPECT_EQ(first.api >= 0, alone.api >= 0);
    ASSERT_EQ(first.range >= 0, alone.range >= 0);
    if (alone.range >= 0) {
      EXPECT_EQ(run.Text(run.ranges[static_cast<size_t>(first.range)].text),
                one.Text(one.ranges[static_cast<size_t>(alone.range)].text));
    }
  }
  // The file of an import is none of the ranks.
  std::filesystem::copy_file(out.path(), folder + "/job.sqlite");
  ScratchFile again("again.db");
  EXPECT_THAT(ImportTraces({folder}, again.path()).other_files, testing::ElementsAre("job.sqlite"));
}

// A rank whose file is cut off or empty is missed; a database of something else, a link that leads nowhere
// and a pipe are left out and named.
TEST(NsysJobTest, ADamagedRankIsAnError) {
  namespace fs = std::filesystem;
  ScratchFile job("job.db");
  const std::string folder = job.folder().string(), second = folder + "/rank1.sqlite";
  WriteRank(folder + "/rank0.sqlite", 0);
  WriteRank(second, 0);
  const auto whole = fs::file_size(second);
  for (const auto size : {whole / 2, uintmax_t{0}}) {
    fs::resize_file(second, size);
    ScratchFile out("out.db");
    test::ExpectError([&] { ImportTraces({folder}, out.path()); }, Code::kDataLoss, "rank1.sqlite");
  }
  fs::remove(second);
  Database(second, OpenMode::kCreate).Execute("CREATE TABLE notes (text)");
  fs::create_symlink("nowhere", folder + "/rank2.json");
  ASSERT_EQ(mkfifo((folder + "/rank3.json").c_str(), 0600), 0);
  ScratchFile out("out.db");
  EXPECT_THAT(ImportTraces({folder}, out.path()).other_files,
              testing::ElementsAre("rank1.sqlite", "rank2.json", "rank3.json"));
  test::ExpectError([&] { FilesToImport(folder + "/rank3.json"); }, Code::kFailedPrecondition, "is a pipe");
  fs::remove(folder + "/rank0.sqlite");
  fs::resize_file(second, 0);
  test::ExpectError([&] { FilesToImport(folder); }, Code::kDataLoss, "empty");
}

}  // namespace
}  // namespace lanescope::traces
