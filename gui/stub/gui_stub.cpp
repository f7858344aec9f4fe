// SPDX-License-Identifier: Apache-2.0
#include "core/base/error.h"
#include "gui/gui.h"

namespace lanescope::gui {

void RunGui(const GuiOptions&) {
  Throw(Code::kFailedPrecondition,
        "this lanescope was built without its timeline; install libimgui-dev, libglfw3-dev, libegl-dev and "
        "libpng-dev (scripts/install-packages.sh does) and build again");
}

}  // namespace lanescope::gui
