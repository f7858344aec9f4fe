#include "traces/step_path.h"

#include <gtest/gtest.h>

#include "tests/traces/sample_run.h"

namespace lanescope {
namespace {

struct Piece {
  int64_t start, end;
  int item;
  bool waiting;
  bool operator==(const Piece&) const = default;
};
void PrintTo(const Piece& piece, std::ostream* out) {
  *out << piece.start << "-" << piece.end << " item " << piece.item << (piece.waiting ? " waiting" : "");
}

std::vector<Piece> PiecesOf(const StepPath& path) {
  std::vector<Piece> pieces;
  for (const PathSegment& s : path.segments) pieces.push_back({s.start_ns, s.end_ns, s.item, s.waiting});
  return pieces;
}

// Ops 0-100, 200-500, 600-900; copies 100-200, 400-600, 900-950; the step ends at 1000. Each waits for the
// one before it; the copy at 400 began before the op it waits for ended, which so loses its end to it.
TEST(StepPathTest, FollowsDependenciesAndTilesTheStep) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 2);
  writer.Close();
  const TraceRun run = TraceReader(file.path()).ReadRun(1);
  const StepPathFinder finder(run);
  ASSERT_EQ(finder.steps().size(), 2u);
  const std::vector<Piece> expected = {{0, 100, 0, false},   {100, 200, 1, false}, {200, 400, 2, false},
                                       {400, 600, 3, false}, {600, 900, 4, false}, {900, 950, 5, false},
                                       {950, 1000, -1, true}};
  EXPECT_EQ(PiecesOf(finder.Find(0)), expected);
  EXPECT_EQ(finder.Find(1).segments.front().start_ns, 1000);
  EXPECT_EQ(finder.Find(1).segments.back().end_ns, 2000);
}

// An in-order queue: launch 0 on queue 0 is recorded (1); on queue 1 a wait (2) for the record holds up copy
// 3, though nothing says so but the order of the queue. Launch 4 on queue 1 began earlier and is not waited
// for.
TEST(StepPathTest, WaitsHoldUpWhatComesAfterThemOnTheirQueue) {
  using Kind = CommandKind;
  TraceRun run;
  run.texts = {"a"};
  run.steps = {{0, 0, 100}};
  const Kind kinds[] = {Kind::kLaunch, Kind::kRecord, Kind::kWait, Kind::kCopy, Kind::kLaunch};
  for (int c = 0; c < 5; ++c) {
    TraceCommand command;
    command.id = command.rank = c;
    command.kind = kinds[c];
    command.queue = c < 2 ? 0 : c < 4 ? 1 : 2;
    run.commands.push_back(command);
  }
  run.dependencies = {{0, 1, 2}};
  const auto add_launch = [&](int command, int64_t start, int64_t end, int stream) {
    TraceLaunch launch;
    launch.step = launch.schedule = 0;
    launch.command = command;
    launch.stream = stream;
    launch.start_ns = start;
    launch.end_ns = end;
    run.launches.push_back(launch);
  };
  add_launch(0, 0, 50, 0);
  add_launch(4, 10, 45, 2);
  TraceCopy copy;
  copy.step = copy.schedule = 0;
  copy.command = 3;
  copy.stream = 1;
  copy.start_ns = 55;
  copy.end_ns = 100;
  run.copies.push_back(copy);
  const std::vector<Piece> expected = {{0, 50, 0, false}, {50, 55, 2, true}, {55, 100, 2, false}};
  EXPECT_EQ(PiecesOf(StepPathFinder(run).Find(0)), expected);
}

TraceRun ForeignRun() {
  TraceRun run;
  run.texts = {"gemm", "NcclAllReduce"};
  const auto add_launch = [&](int64_t start, int64_t end, int name) {
    TraceLaunch launch;
    launch.start_ns = start;
    launch.end_ns = end;
    launch.name = name;
    run.launches.push_back(launch);
  };
  add_launch(100, 200, 0);
  add_launch(150, 400, 1);
  add_launch(300, 350, 0);
  TraceCopy copy;
  copy.start_ns = 50;
  copy.end_ns = 450;
  run.copies.push_back(copy);
  add_launch(500, 600, 0);
  return run;
}

// A moment belongs to compute, else to NCCL, else to a copy, else to waiting. Items by start: copy 50-450,
// gemm 100-200, NCCL 150-400, gemm 300-350, gemm 500-600.
TEST(StepPathTest, WithoutDependenciesTheFirstKindThatRunsHasTheMoment) {
  const TraceRun run = ForeignRun();
  const StepPathFinder finder(run);
  ASSERT_EQ(finder.steps().size(), 1u);
  const std::vector<Piece> expected = {{50, 100, 0, false},  {100, 200, 1, false}, {200, 300, 2, false},
                                       {300, 350, 3, false}, {350, 400, 2, false}, {400, 450, 0, false},
                                       {450, 500, 4, true},  {500, 600, 4, false}};
  EXPECT_EQ(PiecesOf(finder.Find(0)), expected);
}

// Dependencies that run in a circle end the walk; the tiles stay.
TEST(StepPathTest, CircularDependenciesEnd) {
  TraceRun run;
  run.texts = {"a"};
  run.steps = {{0, 0, 100}};
  for (int c = 0; c < 2; ++c) {
    TraceCommand command;
    command.id = c;
    run.commands.push_back(command);
    TraceLaunch launch;
    launch.step = 0;
    launch.schedule = 0;
    launch.command = c;
    launch.stream = c;
    launch.start_ns = 20 * c;
    launch.end_ns = 20 * c + 50;
    run.launches.push_back(launch);
  }
  run.dependencies = {{0, 0, 1}, {0, 1, 0}, {0, 0, 0}};
  int64_t end = 0;
  for (const PathSegment& segment : StepPathFinder(run).Find(0).segments) {
    EXPECT_EQ(segment.start_ns, end);
    end = segment.end_ns;
  }
  EXPECT_EQ(end, 100);
}

}  // namespace
}  // namespace lanescope
