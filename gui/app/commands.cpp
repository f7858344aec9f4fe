// SPDX-License-Identifier: Apache-2.0
#include "gui/app/commands.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

namespace lanescope::gui {
namespace {

constexpr CommandHelp kKeyHelp[] = {
    {"W  S", "zoom in and out at the pointer"},
    {"A  D", "move left and right"},
    {"↑  ↓", "scroll the runs"},
    {"F", "show the selection; again: show everything"},
    {"Home", "show everything"},
    {"Backspace", "back to the view before"},
    {"M", "mark the time under the pointer, or remove the mark there"},
    {"R", "make the selected slice the selected time range"},
    {",  .", "the slice before and after, in the same lane"},
    {"[  ]", "along the data: what this slice waited for, what waited for it; call and kernel"},
    {"P", "pin the lane under the pointer to the top, or unpin it"},
    {"/  Ctrl+F", "search"},
    {"Esc", "clear the selection, close what is open"},
    {"Ctrl+Z  Ctrl+Y", "undo and redo a change of the placement"},
    {"Ctrl+O", "open a trace"},
    {"Ctrl+S", "save the edited placement"},
    {"T", "light or dark"},
    {"?", "this page"},
    {"Ctrl+Q", "quit"},
};

constexpr CommandHelp kMouseHelp[] = {
    {"wheel", "zoom at the pointer; with Shift: move; with Ctrl: scroll the runs"},
    {"right drag", "move the view"},
    {"left click", "select a slice; in every run it lights up"},
    {"Ctrl + click", "add a slice's op to the selection, or take it away"},
    {"left drag", "select a time range and lanes: sums below"},
    {"drag the selected slice",
     "to the lane of another device: what if its op ran there? With Shift: its name scope"},
    {"Alt + left drag", "the same for a slice that is not selected"},
    {"double click", "show the slice"},
    {"minimap", "drag to move, wheel to zoom"},
};

std::optional<Command> OfCharacter(unsigned character) {
  switch (character) {
    case 'f':
    case 'F':
      return Command::kFocus;
    case 'm':
    case 'M':
      return Command::kMark;
    case 'r':
    case 'R':
      return Command::kRange;
    case 'p':
    case 'P':
      return Command::kPin;
    case 't':
    case 'T':
      return Command::kTheme;
    case ',':
      return Command::kPrevious;
    case '.':
      return Command::kNext;
    case '[':
      return Command::kFlowBack;
    case ']':
      return Command::kFlowForward;
    case '/':
      return Command::kSearch;
    case '?':
      return Command::kHelp;
    default:
      return std::nullopt;
  }
}

std::optional<Command> OfControlKey(int key, bool shift) {
  switch (key) {
    case GLFW_KEY_F:
      return Command::kSearch;
    case GLFW_KEY_Z:
      return shift ? Command::kRedo : Command::kUndo;
    case GLFW_KEY_Y:
      return Command::kRedo;
    case GLFW_KEY_O:
      return Command::kOpen;
    case GLFW_KEY_S:
      return Command::kSave;
    case GLFW_KEY_Q:
      return Command::kQuit;
    default:
      return std::nullopt;
  }
}

std::optional<Command> OfKey(int key) {
  switch (key) {
    case GLFW_KEY_W:
      return Command::kZoomIn;
    case GLFW_KEY_S:
      return Command::kZoomOut;
    case GLFW_KEY_A:
    case GLFW_KEY_LEFT:
      return Command::kPanLeft;
    case GLFW_KEY_D:
    case GLFW_KEY_RIGHT:
      return Command::kPanRight;
    case GLFW_KEY_UP:
      return Command::kScrollUp;
    case GLFW_KEY_DOWN:
      return Command::kScrollDown;
    case GLFW_KEY_HOME:
      return Command::kFitAll;
    case GLFW_KEY_BACKSPACE:
      return Command::kUndoView;
    case GLFW_KEY_ESCAPE:
      return Command::kClear;
    case GLFW_KEY_F1:
      return Command::kHelp;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::span<const CommandHelp> KeyHelp() { return kKeyHelp; }
std::span<const CommandHelp> MouseHelp() { return kMouseHelp; }

std::optional<Command> CommandOf(const KeyPress& press) {
  if (press.character != 0) return OfCharacter(press.character);
  if ((press.mods & (GLFW_MOD_CONTROL | GLFW_MOD_SUPER)) != 0) {
    return OfControlKey(press.key, (press.mods & GLFW_MOD_SHIFT) != 0);
  }
  return OfKey(press.key);
}

}  // namespace lanescope::gui
