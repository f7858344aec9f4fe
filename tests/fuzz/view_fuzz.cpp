// SPDX-License-Identifier: Apache-2.0
// Hostile text as --view: it is refused, or the timeline shows it, whatever it asks for. Frames are laid out
// and drawn into ImGui's lists, without a display.
#include <cstdint>
#include <string_view>

#include "gui/app/view_options.h"
#include "tests/fuzz/hostile.h"
#include "tests/gui/app/robot.h"
#include "tests/gui/app/synthetic_runs.h"

namespace lanescope::gui {
namespace {

// Enough for what one frame asks of the next.
constexpr int kFrames = 3;

void TryView(std::string_view text) {
  ViewOptions options;
  if (!Try([&] { options = ParseViewOptions(text); })) return;
  static Robot* const robot = [] {
    auto* made = new Robot(640, 400);
    made->document().timeline().Add(MeasuredRun());
    made->document().timeline().Add(PredictedRun());
    made->Settle();
    return made;
  }();
  robot->app().Show(options);
  robot->Frames(kFrames);
  robot->Settle();
}

}  // namespace
}  // namespace lanescope::gui

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::gui::TryView({reinterpret_cast<const char*>(data), size});
  return 0;
}
