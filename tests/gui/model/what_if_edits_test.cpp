// SPDX-License-Identifier: Apache-2.0
// Edits one after the other: what is kept between them changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "gui/document/document_whatif.h"
#include "gui/model/trace_loader.h"
#include "tests/gui/model/sample_trace.h"

namespace lanescope::gui {
namespace {

const std::atomic<bool> kNever{false};

// Where a random op is that may move, it goes to another device; every fourth edit is of the machine.
std::shared_ptr<const WhatIfEdit> RandomEdit(const WhatIfBase& base, const WhatIfEdit& from, int number,
                                             std::mt19937* rng) {
  const auto any = [rng](size_t count) { return (*rng)() % count; };
  const size_t devices = from.machine.devices.size();
  if (number % 8 == 3) return SetSpeed(base, from, DeviceId(any(devices)), 0.5 + static_cast<double>(any(4)));
  if (number % 8 == 7) return SetBandwidth(base, from, 0, 1e9 * static_cast<double>(1 + any(9)));
  while (true) {
    std::string note;
    try {
      return MoveNodes(base, from, {NodeId(any(base.graph().num_nodes()))}, DeviceId(any(devices)), &note);
    } catch (const Error&) {  // it is there, or may not go there
    }
  }
}

void ExpectSame(const WhatIfBase& base, const WhatIfEdit& edit, const SimulatedStep& a,
                const SimulatedStep& b) {
  EXPECT_EQ(DumpSchedule(base.graph(), edit.machine, a.compiled->schedule),
            DumpSchedule(base.graph(), edit.machine, b.compiled->schedule));
  const sims::CommandEstimates &of_a = a.compiled->estimates, &of_b = b.compiled->estimates;
  EXPECT_EQ(of_a.costs.ns, of_b.costs.ns);
  EXPECT_EQ(of_a.costs.classes, of_b.costs.classes);
  EXPECT_EQ(of_a.costs.cores, of_b.costs.cores);
  EXPECT_EQ(of_a.spread_ns, of_b.spread_ns);
  EXPECT_EQ(of_a.basis, of_b.basis);
  EXPECT_EQ(of_a.kind, of_b.kind);
  EXPECT_EQ(a.prediction->step_ns, b.prediction->step_ns);
}

void ExpectSame(const RunData& a, const RunData& b) {
  EXPECT_EQ(a.step_ns, b.step_ns);
  EXPECT_EQ(a.signatures, b.signatures);
  EXPECT_EQ(a.successors, b.successors);
  EXPECT_EQ(a.slices_of_command, b.slices_of_command);
  ASSERT_EQ(a.lanes.size(), b.lanes.size());
  for (size_t l = 0; l < a.lanes.size(); ++l) {
    EXPECT_EQ(a.lanes[l].label, b.lanes[l].label);
    EXPECT_EQ(a.lanes[l].start_ns, b.lanes[l].start_ns);
    EXPECT_EQ(a.lanes[l].end_ns, b.lanes[l].end_ns);
    EXPECT_EQ(a.lanes[l].command, b.lanes[l].command);
    EXPECT_EQ(a.lanes[l].counter_value, b.lanes[l].counter_value);
  }
}

// Input: random moves and changes of the machine, each made on top of those before. Law: the step, its
// estimates and its run are to the bit what the same edit comes to as the first one of another base.
TEST(WhatIfEdits, EachIsAsIfItWereTheFirst) {
  const test::SampleTrace sample(200, {"single"});
  const PrepareRequest request{LoadTrace(sample.file.path(), nullptr, nullptr).front(), "", {}};
  const auto kept = PrepareWhatIf(request, kNever);
  auto edit = std::make_shared<const WhatIfEdit>(kept->start);
  std::mt19937 rng(1);
  for (int number = 0; number < 16; ++number) {
    edit = RandomEdit(*kept, *edit, number, &rng);
    const auto fresh = PrepareWhatIf(request, kNever);
    const SimulatedStep in_turn = SimulateEdit({kept, edit}, kNever);
    const SimulatedStep alone = SimulateEdit({fresh, edit}, kNever);
    ExpectSame(*kept, *edit, in_turn, alone);
    ExpectSame(*RunOfEdit({{kept, edit}, in_turn}, kNever).run,
               *RunOfEdit({{fresh, edit}, alone}, kNever).run);
  }
}

}  // namespace
}  // namespace lanescope::gui
