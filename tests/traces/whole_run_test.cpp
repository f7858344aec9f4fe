// SPDX-License-Identifier: Apache-2.0
// Runs without steps, of which only times are known: taken apart as they come, beside the law moment by
// moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "core/runs/op_instances.h"
#include "core/runs/run_profile.h"
#include "tests/traces/nsys_export.h"
#include "tests/traces/sample_run.h"
#include "traces/export/report_page.h"
#include "traces/read/trace_view.h"
#include "traces/report/waits.h"

namespace lanescope::traces {
namespace {

struct WorkPiece {
  int64_t start = 0, end = 0;
  int rank = 0;  // launches, then NCCL's kernels, then copies
  int device = 0;
  std::string name;
  double path = 0, wait = 0, shared = 0;
};

// Law: a moment belongs to a launch if one runs, else to a kernel of NCCL, else to a copy, of several to the
// one that began first; of none, to what begins next. Work shares the moments in which other work competes.
void TakeApart(std::vector<WorkPiece>* pieces) {
  std::ranges::sort(*pieces, [](const WorkPiece& a, const WorkPiece& b) {
    return std::tie(a.start, a.end, a.rank, a.device, a.name) <
           std::tie(b.start, b.end, b.rank, b.device, b.name);
  });
  int64_t last = 0;
  for (const WorkPiece& piece : *pieces) last = std::max(last, piece.end);
  for (int64_t t = pieces->front().start; t < last; ++t) {
    const auto runs = [t](const WorkPiece& piece) { return piece.start <= t && t < piece.end; };
    WorkPiece* owner = nullptr;
    std::map<int, int> running;  // by what is competed for: a device, or -1 for copies
    const auto resource = [](const WorkPiece& piece) { return piece.rank == 2 ? -1 : piece.device; };
    for (WorkPiece& piece : *pieces) {
      if (!runs(piece)) continue;
      ++running[resource(piece)];
      if (owner == nullptr || piece.rank < owner->rank) owner = &piece;
    }
    for (WorkPiece& piece : *pieces) {
      if (runs(piece) && running[resource(piece)] > 1) ++piece.shared;
    }
    if (owner != nullptr) {
      ++owner->path;
    } else {
      ++std::ranges::find_if(*pieces, [t](const WorkPiece& piece) { return piece.start > t; })->wait;
    }
  }
}

TEST(WholeRunTest, EveryMomentIsOfWhatRuns) {
  std::mt19937 rng(7);
  for (int round = 0; round < 200; ++round) {
    TraceRun run;
    run.texts = {"gemm", "relu", "ncclDevKernel_AllReduce"};
    std::vector<WorkPiece> pieces;
    const int count = 1 + static_cast<int>(rng() % 40);
    for (int i = 0; i < count; ++i) {
      const auto start = static_cast<int64_t>(rng() % 90), length = static_cast<int64_t>(rng() % 25);
      const int device = static_cast<int>(rng() % 2), text = static_cast<int>(rng() % 4);
      if (text == 3) {
        TraceCopy copy;
        copy.start_ns = start;
        copy.end_ns = start + length;
        copy.device = device;
        copy.src = kHostDevice;
        copy.dst = device;
        copy.copy_class = CopyClass::kHostToDevice;
        copy.kind = 1;
        run.copies.push_back(copy);
        pieces.push_back({start, start + length, 2, device, ""});
        continue;
      }
      TraceLaunch launch;
      launch.start_ns = start;
      launch.end_ns = start + length;
      launch.device = device;
      launch.stream = static_cast<int>(rng() % 3);  // not in the order of time
      launch.name = launch.op = text;
      run.launches.push_back(launch);
      pieces.push_back({start, start + length, text == 2 ? 1 : 0, device, run.Text(text)});
    }
    TakeApart(&pieces);
    const RunProfile profile = ProfileRun(ViewOfRun(run));
    EXPECT_TRUE(profile.whole);
    double all = profile.end_wait_ns;
    for (const OpProfile& op : profile.ops) {
      const int device = profile.devices[static_cast<size_t>(op.instances.front().device)].id;
      std::vector<WorkPiece> of_op;
      for (const WorkPiece& piece : pieces) {
        const bool copy = op.kind == WorkKind::kCopy;
        if ((piece.rank == 2) == copy && (copy || piece.name == op.op) && piece.device == device)
          of_op.push_back(piece);
      }
      ASSERT_EQ(op.instances.size(), of_op.size()) << op.name;
      for (size_t i = 0; i < of_op.size(); ++i) {
        const OpInstance instance = op.instances[i];
        EXPECT_EQ(instance.seen, 1);
        EXPECT_EQ(instance.ns, static_cast<double>(of_op[i].end - of_op[i].start));
        EXPECT_EQ(instance.path_ns, of_op[i].path) << op.name << " " << i;
        EXPECT_EQ(instance.wait_ns, of_op[i].wait) << op.name << " " << i;
        EXPECT_EQ(instance.shared_ns, of_op[i].shared) << op.name << " " << i;
        all += instance.path_ns + instance.wait_ns;
      }
    }
    EXPECT_EQ(all, profile.step_ns);
  }
}

// Law: a column gives back what it was given, in whatever form it keeps it.
TEST(NumberColumnTest, HoldsWhatItWasGiven) {
  const std::vector<std::vector<double>> lists = {
      {}, {0, 0, 0}, {-1, -1, 5}, {7, 7, 4294967293.0, 4294967296.0, 3}, {0.5, 0.5}, {1, 2.25, -1, 1e18}};
  for (const std::vector<double>& list : lists) {
    NumberColumn pushed, set;
    for (const double value : list) {
      pushed.Push(value);
      set.Push(0);
    }
    for (size_t i = 0; i < list.size(); ++i) set.Set(i, list[i]);
    ASSERT_EQ(pushed.size(), list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      EXPECT_EQ(pushed[i], list[i]);
      EXPECT_EQ(set[i], list[i]);
    }
  }
}

// Law: what is given to a sink is what is kept. Of every version of the export, with ranges and without.
TEST(StreamTest, IsTheRunInMemory) {
  for (const ExportVersion& version : ExportVersions()) {
    for (const bool ranges : {true, false}) {
      ScratchFile file(version.name + ".sqlite");
      WriteTwoProcesses(file.path(), version);
      if (!ranges) Database(file.path(), OpenMode::kReadWrite).Execute("DELETE FROM NVTX_EVENTS");
      TraceReader reader(file.path());
      const TraceRun kept = reader.ReadRun(1);
      TraceRun streamed;
      const RunProfile profile = ProfileRun(StreamView(reader, 1, &streamed)),
                       expected = ProfileRun(ViewOfRun(kept));
      EXPECT_EQ(std::set(streamed.texts.begin(), streamed.texts.end()),
                std::set(kept.texts.begin(), kept.texts.end()));
      EXPECT_EQ(streamed.api_calls.size(), ranges ? kept.api_calls.size() : 0);
      EXPECT_TRUE(streamed.launches.empty());
      EXPECT_EQ(profile.step_ns, expected.step_ns);
      ASSERT_EQ(profile.ops.size(), expected.ops.size());
      for (size_t i = 0; i < profile.ops.size(); ++i) {
        EXPECT_EQ(profile.ops[i].name, expected.ops[i].name);
        EXPECT_EQ(profile.ops[i].instances.front().path_ns, expected.ops[i].instances.front().path_ns);
      }
      EXPECT_EQ(TimelineData(reader, 1, 100), TimelineData(kept, 100));
      TraceRun of_waits;
      const Waits waits = FindWaits(reader, 1, {}, &of_waits), of_kept = FindWaits(kept);
      EXPECT_EQ(WaitsText(waits, 0), WaitsText(of_kept, 0));
    }
  }
}

}  // namespace
}  // namespace lanescope::traces
