// SPDX-License-Identifier: Apache-2.0
// Which call launched what, and the ranges that colours go by. Part of run_builder.
#pragma once

#include "gui/model/run_data.h"

namespace lanescope::gui {

// Places of the calls and of what they launched, by what Lane::call says; the lanes stand where they stay.
void IndexCalls(RunData* run);

// OpEntry::range of every op. Needs IndexCalls.
void FillRanges(RunData* run);

}  // namespace lanescope::gui
