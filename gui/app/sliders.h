// SPDX-License-Identifier: Apache-2.0
// Sliders with their label before and their value behind them, in one line of a narrow panel.
#pragma once

#include <string>

#include "gui/app/ui.h"

namespace lanescope::gui {

// A value on a slider; true: it was moved. `let_go` (not null) becomes true when the drag ends. `value_text`
// stands behind it and is never cut; `widest` is the widest that it usually is, so that the slider stays.
struct SliderLine {
  const char* id = "";
  std::string label, value_text, widest;
  float low = 0, high = 1;
  bool logarithmic = false;
};
bool DrawSlider(const Ui& ui, const SliderLine& line, float* value, bool* let_go);

// A factor from a tenth to ten; what is near to 1 is meant to be 1.
bool FactorSlider(const Ui& ui, const char* id, const std::string& label, const std::string& value_text,
                  double* factor, bool* let_go);

}  // namespace lanescope::gui
