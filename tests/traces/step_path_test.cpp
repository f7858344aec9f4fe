// SPDX-License-Identifier: Apache-2.0
#include "core/runs/step_path.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/traces/sample_run.h"
#include "traces/read/trace_view.h"

namespace lanescope::traces {
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

// The path of the first step.
StepPath PathOf(const TraceRun& run) {
  const RunView view = ViewOfRun(run);
  return StepPathFinder(view).Find(0);
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
  const RunView view = ViewOfRun(run);
  const StepPathFinder finder(view);
  ASSERT_EQ(view.steps.size(), 2u);
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
  for (int q = 0; q < 3; ++q) {
    TraceQueue queue;
    queue.id = q;
    queue.in_order = true;
    run.queues.push_back(queue);
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
  EXPECT_EQ(PiecesOf(PathOf(run)), expected);
}

// Launches of one schedule at given times, each a command of its own on a queue.
class Launches {
 public:
  Launches(int queues, bool in_order) {
    run.texts = {"a"};
    for (int q = 0; q < queues; ++q) {
      TraceQueue queue;
      queue.id = q;
      queue.in_order = in_order;
      run.queues.push_back(queue);
    }
  }
  int Add(int queue, int64_t start, int64_t end, const std::vector<int>& after = {}) {
    TraceCommand command;
    command.id = command.rank = static_cast<int>(run.commands.size());
    command.queue = queue;
    run.commands.push_back(command);
    for (const int from : after) run.dependencies.push_back({0, from, command.id});
    TraceLaunch launch;
    launch.step = launch.schedule = 0;
    launch.command = command.id;
    launch.stream = queue;
    launch.start_ns = start;
    launch.end_ns = end;
    run.launches.push_back(launch);
    return command.id;
  }
  // Commands on the path, first to last, of a step from 0 to `end`.
  std::vector<int> Path(int64_t end) {
    run.steps = {{0, 0, end}};
    const RunView view = ViewOfRun(run);
    const StepPath path = StepPathFinder(view).Find(0);
    std::vector<int> commands;
    for (const int item : path.OnPath()) {
      const WorkItem& work = path.items[static_cast<size_t>(item)];
      commands.push_back(view.lanes[static_cast<size_t>(work.lane)].slices->command[work.slice]);
    }
    return commands;
  }
  TraceRun run;
};

// Both what it waits for and the one before it on its queue end at 50.
TEST(StepPathTest, ATieGoesToTheDependency) {
  Launches launches(2, false);
  const int before = launches.Add(0, 0, 50), dependency = launches.Add(1, 10, 50);
  const int held = launches.Add(0, 60, 100, {dependency});
  EXPECT_EQ(launches.Path(100), (std::vector<int>{dependency, held}));
  launches.run.launches[static_cast<size_t>(before)].end_ns = 51;
  EXPECT_EQ(launches.Path(100), (std::vector<int>{before, held}));
}

// The dependency of the smallest number counts among those that end together.
TEST(StepPathTest, ATieOfDependenciesGoesToTheSmallestCommand) {
  Launches launches(3, false);
  const int first = launches.Add(0, 20, 50), second = launches.Add(1, 0, 50);
  const int held = launches.Add(2, 60, 100, {second, first});
  EXPECT_EQ(launches.Path(100), (std::vector<int>{first, held}));
}

// A command beside it on another worker of its queue holds nothing up; in an in-order queue the one before it
// does, even where two clocks make them overlap.
TEST(StepPathTest, OnAQueueOfSeveralWorkersTheLastThatHadEndedHeldItUp) {
  for (const bool in_order : {false, true}) {
    Launches launches(1, in_order);
    const int ended = launches.Add(0, 0, 30), beside = launches.Add(0, 10, 45);
    const int held = launches.Add(0, 40, 100);
    const std::vector<int> expected =
        in_order ? std::vector<int>{ended, beside, held} : std::vector<int>{ended, held};
    EXPECT_EQ(launches.Path(100), expected) << in_order;
  }
}

// 0 (0-40) holds up 1 (40-100) and 2 (40-60), which holds up nothing: it has 40 of room. 3 (0-30) is waited
// for by 1, which was held up until 40: it has 10.
TEST(StepPathTest, SlackIsTheRoomBesideThePath) {
  Launches launches(4, false);
  const int first = launches.Add(0, 0, 40);
  launches.Add(3, 0, 30);
  launches.Add(1, 40, 100, {first, 1});
  launches.Add(2, 40, 60, {first});
  EXPECT_EQ(launches.Path(100), (std::vector<int>{0, 2}));
  const RunView view = ViewOfRun(launches.run);
  const StepPathFinder finder(view);
  const StepPath path = finder.Find(0);
  std::map<std::pair<int64_t, int64_t>, int64_t> slack;
  const std::vector<int64_t> found = finder.SlackOf(path);
  for (size_t i = 0; i < found.size(); ++i) slack[{path.items[i].start_ns, path.items[i].end_ns}] = found[i];
  EXPECT_EQ((slack[{0, 40}]), 0);
  EXPECT_EQ((slack[{0, 30}]), 10);
  EXPECT_EQ((slack[{40, 100}]), 0);
  EXPECT_EQ((slack[{40, 60}]), 40);
}

// Law: whatever the times, the tiles cover the step once, and totals add up to it.
TEST(StepPathTest, TilesCoverTheStepWhateverTheTimes) {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    Launches launches(3, round % 2 == 0);
    const int count = 1 + below(20);
    for (int c = 0; c < count; ++c) {
      const int64_t start = below(120) - 10;
      std::vector<int> after;
      for (int k = below(4); k > 0; --k) after.push_back(below(count));
      launches.Add(below(3), start, start + below(40), after);
    }
    launches.run.steps = {{0, 0, 100}};
    const RunView view = ViewOfRun(launches.run);
    const StepPathFinder finder(view);
    const StepPath path = finder.Find(0);
    int64_t at = 0;
    for (const PathSegment& segment : path.segments) {
      ASSERT_EQ(segment.start_ns, at);
      ASSERT_GT(segment.end_ns, segment.start_ns);
      at = segment.end_ns;
    }
    ASSERT_EQ(at, 100);
    const StepPath::Totals totals = path.totals();
    ASSERT_EQ(totals.launch_ns + totals.transfer_ns + totals.waiting_ns, 100);
    for (const int64_t slack : finder.SlackOf(path)) ASSERT_GE(slack, 0);
  }
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
  copy.src = kHostDevice;
  run.copies.push_back(copy);
  add_launch(500, 600, 0);
  return run;
}

// A moment belongs to compute, else to NCCL, else to a copy, else to waiting. Items by start: copy 50-450,
// gemm 100-200, NCCL 150-400, gemm 300-350, gemm 500-600.
TEST(StepPathTest, WithoutDependenciesTheFirstKindThatRunsHasTheMoment) {
  const TraceRun run = ForeignRun();
  const RunView view = ViewOfRun(run);
  const StepPathFinder finder(view);
  ASSERT_EQ(view.steps.size(), 1u);
  const std::vector<Piece> expected = {{50, 100, 0, false},  {100, 200, 1, false}, {200, 300, 2, false},
                                       {300, 350, 3, false}, {350, 400, 2, false}, {400, 450, 0, false},
                                       {450, 500, 4, true},  {500, 600, 4, false}};
  EXPECT_EQ(PiecesOf(finder.Find(0)), expected);
}

// So to a copy within its GPU.
TEST(StepPathTest, ACopyWithinItsDeviceIsACopy) {
  TraceRun run = ForeignRun();
  run.copies[0].src = run.copies[0].dst = 0;
  const RunView view = ViewOfRun(run), other = ViewOfRun(ForeignRun());
  const StepPath path = StepPathFinder(view).Find(0);
  EXPECT_EQ(path.items[0].kind, WorkKind::kCopy);
  EXPECT_EQ(path.totals().transfer_ns, 50 + 100 + 50 + 50);
  EXPECT_EQ(path.totals().launch_ns, 100 + 50 + 100);
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
  for (const PathSegment& segment : PathOf(run).segments) {
    EXPECT_EQ(segment.start_ns, end);
    end = segment.end_ns;
  }
  EXPECT_EQ(end, 100);
}

}  // namespace
}  // namespace lanescope::traces
