// SPDX-License-Identifier: Apache-2.0
// Actions of shortcuts and menus, without any drawing.
#pragma once

#include <string>

#include "gui/app/analysis.h"
#include "gui/app/commands.h"
#include "gui/app/view_state.h"
#include "gui/document/document.h"

namespace lanescope::gui {

// The state that an action works on.
struct ActionContext {
  Document& document;
  ViewState& state;
  const Analysis& analysis;
};

void Do(Command command, const ActionContext& context);

// Selects a slice and its op, and scrolls and moves the view only if the slice is not in it.
void GoTo(const SliceRef& slice, const ActionContext& context);
// Selects the op and goes to its slice nearest to the view, in the baseline or in the first run that has it.
// False: no run has it.
bool GoToOp(OpIdentity op, const ActionContext& context);
// The op's slice of a run that is nearest to the middle of the view; invalid: none.
SliceRef NearestToView(RunKey run, OpIdentity op, const ActionContext& context);
// Shows the slice, whether it was in view or not.
void Focus(const ActionContext& context);
// The first view: one step of every run, since steps are what is compared; everything, where a run has no
// steps. Waits for runs: state.fit_requested stays until there are some.
void ShowOneStep(const ActionContext& context);
void GoToHit(size_t hit, const ActionContext& context);
// The run that was clicked last where it is in view, else the topmost one in view; 0: none.
RunKey RunInView(const ActionContext& context);
// The next hit of the search (not `forward`: the one before) in the run in view.
void GoToNextHit(bool forward, const ActionContext& context);

// Folds every group of lanes of these kinds (`threads_alone`: those of threads), or unfolds all.
void FoldGroups(bool fold, bool threads_alone, const ActionContext& context);

// The run whose what-if an edit belongs to: the one that is edited, else the clicked one, else the baseline.
RunKey EditedRun(const Document& document, const ViewState& state);
// The run without a graph that a what-if changes, or would; 0: none, as that of a placement is open or
// chosen.
RunKey ReplayedRun(const Document& document, const ViewState& state);
// The changes of the replay as a command line; empty: there is none.
std::string ReplayCommand(const Document& document);
// Asks the document to move the selected ops of a run; `scope` (may be empty): all of this name scope.
void MoveSelection(RunKey run, const std::string& scope, const std::string& device,
                   const ActionContext& context);

// Side effects of running a placement from here: "records into t.db; keeps this machine busy".
std::string RunItText(const WhatIfView& what_if);

}  // namespace lanescope::gui
