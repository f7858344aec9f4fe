// SPDX-License-Identifier: Apache-2.0
// The keys: one table for the shortcuts, the help page and the tests.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "gui/platform/input_adapter.h"

namespace lanescope::gui {

enum class Command {
  kPanLeft,
  kPanRight,
  kZoomIn,
  kZoomOut,
  kScrollUp,
  kScrollDown,
  kFocus,
  kFitAll,
  kUndoView,
  kMark,
  kRange,
  kPrevious,
  kNext,
  kFlowBack,
  kFlowForward,
  kPin,
  kSearch,
  kClear,
  kUndo,
  kRedo,
  kOpen,
  kSave,
  kTheme,
  kHelp,
  kQuit,
};

struct CommandHelp {
  std::string_view keys;
  std::string_view text;
};

// In the order of the help page, for keys and for the mouse.
std::span<const CommandHelp> KeyHelp();
std::span<const CommandHelp> MouseHelp();

// W, A, S, D go by the place of the key, other signs by what is written on it, so that every keyboard layout
// can type them.
std::optional<Command> CommandOf(const KeyPress& press);

}  // namespace lanescope::gui
