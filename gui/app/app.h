// SPDX-License-Identifier: Apache-2.0
// The window's content: document, view state and panels. Knows neither windows nor graphics libraries.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gui/app/analysis.h"
#include "gui/app/colours.h"
#include "gui/app/dialogs.h"
#include "gui/app/sql_console.h"
#include "gui/app/view_options.h"
#include "gui/app/view_state.h"
#include "gui/document/document.h"
#include "gui/platform/fonts.h"
#include "gui/platform/input_adapter.h"

namespace lanescope::gui {

// Belongs to the thread of the ImGui context, which is the caller's. `wake` is called from other threads when
// another frame is due; it must be thread-safe.
class App {
 public:
  // `recent_list`: file of the recent traces; empty: none is kept.
  App(std::function<void()> wake, std::string recent_list);

  // Loads fonts and style for `scale` pixels per nominal pixel; the atlas' texture must be made anew after
  // it.
  void SetScale(float scale);
  void Open(const std::string& path);
  // Applied once all files are loaded. What names nothing is reported in state().message and view_problem().
  void Show(ViewOptions options) { pending_view_ = std::move(options); }
  // One frame, between ImGui::NewFrame and ImGui::Render.
  void Frame(const std::vector<KeyPress>& presses);

  // Something is being computed or read: the picture may change by itself.
  bool busy() const;
  // The background of the theme.
  ImU32 background() const { return ThemeOf(state_.theme).background; }
  // Names what of Show() there is not; empty: all of it is there, as far as it was applied.
  std::string view_problem() const;
  // Throws why a file could not be opened, of the first of them.
  void ThrowIfUnopened() const;
  bool wants_quit() const { return state_.quit; }

  Document& document() { return document_; }
  ViewState& state() { return state_; }
  const Analysis& analysis() const { return analysis_; }
  SqlConsole& sql() { return sql_; }
  const DrawPlan& plan() const { return plan_; }

 private:
  void HandleKeys(const std::vector<KeyPress>& presses);
  void ApplyPendingView();
  void ApplyTheView(const ViewOptions& options);
  void ApplyRuns(const ViewOptions& options);
  void ApplyColourAndLanes(const ViewOptions& options);
  void ApplyEdits(const ViewOptions& options);
  void ApplyTab(const std::string& name);
  // Remembers what of the view there is not, the first of it.
  void RefuseView(const char* key, const std::string& problem);
  void RememberFiles();
  void DrawWindow(const Ui& ui);
  void SizePanels();
  float BottomHeight(const Ui& ui, float room);
  void DrawMiddle(const Ui& ui, float height);

  Document document_;
  ViewState state_;
  Analysis analysis_;
  SqlConsole sql_;
  Colours colours_;
  Fonts fonts_;
  OpenDialog open_dialog_;
  SaveDialog save_dialog_;
  RunDialog run_dialog_;
  DrawPlan plan_;
  float scale_ = 1;
  bool sized_ = false;  // the panels got their first sizes
  ThemeName styled_ = ThemeName::kDark;
  std::string recent_list_;
  std::vector<std::string> recent_;
  std::vector<std::string> remembered_;  // opened in this session
  std::optional<ViewOptions> pending_view_;
  std::string view_problem_;
  bool view_moves_ = false;    // Show() asked for a move
  bool view_replays_ = false;  // Show() asked for changes of a trace
};

}  // namespace lanescope::gui
