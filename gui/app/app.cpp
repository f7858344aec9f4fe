// SPDX-License-Identifier: Apache-2.0
#include "gui/app/app.h"

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "gui/app/bottom_height.h"
#include "gui/app/recent_files.h"
#include "gui/app/samples.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

// Adds a character to UTF-8 text.
void Append(std::string* text, unsigned character) {
  if (character < 0x80) {
    *text += static_cast<char>(character);
  } else if (character < 0x800) {
    *text += static_cast<char>(0xC0 | (character >> 6));
    *text += static_cast<char>(0x80 | (character & 0x3F));
  } else {
    *text += static_cast<char>(0xE0 | ((character >> 12) & 0x0F));
    *text += static_cast<char>(0x80 | ((character >> 6) & 0x3F));
    *text += static_cast<char>(0x80 | (character & 0x3F));
  }
}

}  // namespace

App::App(std::function<void()> wake, std::string recent_list)
    : document_(wake), analysis_(wake), sql_(wake), recent_list_(std::move(recent_list)) {
  for (const std::string& folder : SampleGraphFolders()) document_.AddGraphFolder(folder);
  if (!recent_list_.empty()) recent_ = ReadRecentFiles(recent_list_);
}

void App::SetScale(float scale) {
  scale_ = scale;
  fonts_ = LoadFonts(scale);
  styled_ = state_.theme;
  ApplyTheme(ThemeOf(state_.theme), scale_);
}

void App::Open(const std::string& path) { document_.Open(path); }

void App::ThrowIfUnopened() const {
  for (const OpenFile& file : document_.files()) {
    if (file.state.phase == LoadState::Phase::kFailed) throw Error(file.state.code, file.state.message);
  }
}

bool App::busy() const { return document_.busy() || document_.loading() || analysis_.busy() || sql_.busy(); }

void App::HandleKeys(const std::vector<KeyPress>& presses) {
  // Text after "/" belongs to the search field, which gets the keyboard a frame later; until then its
  // characters are taken here.
  bool typing = state_.search_requested;
  for (const KeyPress& press : presses) {
    if (typing) {
      if (press.character >= ' ') Append(&state_.search, press.character);
      continue;
    }
    if (ImGui::GetIO().WantTextInput && press.mods == 0) continue;
    const auto command = CommandOf(press);
    if (!command) continue;
    Do(*command, {document_, state_, analysis_});
    typing = state_.search_requested;
  }
  if (typing) ImGui::GetIO().ClearInputCharacters();
}

void App::RememberFiles() {
  for (const OpenFile& file : document_.files()) {
    if (file.state.phase != LoadState::Phase::kDone) continue;
    if (std::find(remembered_.begin(), remembered_.end(), file.path) != remembered_.end()) continue;
    remembered_.push_back(file.path);
    AddRecentFile(recent_list_, file.path);
  }
}

void App::ApplyPendingView() {
  if (!pending_view_ || document_.loading() || document_.timeline().runs().empty()) return;
  // Actions look at the layout, which is computed for what is loaded now.
  const ViewOptions options = *pending_view_;
  pending_view_.reset();
  ApplyTheView(options);
}

void App::RefuseView(const char* key, const std::string& problem) {
  if (!view_problem_.empty()) return;
  view_problem_ = fmt::format("--view: {}: {}", key, problem);
  state_.message = view_problem_;
}

void App::ApplyRuns(const ViewOptions& options) {
  Timeline& timeline = document_.timeline();
  const auto key_of = [&](int number) -> RunKey {
    const auto& runs = timeline.runs();
    return number >= 1 && static_cast<size_t>(number) <= runs.size()
               ? runs[static_cast<size_t>(number - 1)].key
               : 0;
  };
  if (!options.runs.empty()) {
    for (const int number : options.runs) {
      if (key_of(number) == 0) RefuseView("runs", fmt::format("there is no run {}", number));
    }
    for (const ShownRun& run : timeline.runs()) state_.lanes.hidden_runs.insert(run.key);
    for (const int number : options.runs) state_.lanes.hidden_runs.erase(key_of(number));
  }
  if (options.baseline && key_of(*options.baseline) == 0) {
    RefuseView("baseline", fmt::format("there is no run {}", *options.baseline));
  } else if (options.baseline) {
    timeline.SetBaseline(key_of(*options.baseline));
  }
}

void App::ApplyColourAndLanes(const ViewOptions& options) {
  if (options.colour == "device") state_.colour = ColorMode::kDevice;
  if (options.colour == "kind") state_.colour = ColorMode::kKind;
  if (options.colour == "range") state_.colour = ColorMode::kRange;
  if (options.colour == "error") state_.colour = ColorMode::kError;
  if (!options.lanes.empty()) {
    state_.lanes.show_copies = options.lanes != "compute";
    state_.lanes.show_memory = state_.lanes.show_links = options.lanes == "all";
  }
}

void App::ApplyEdits(const ViewOptions& options) {
  if (!options.move_name.empty()) {
    const RunKey run = EditedRun(document_, state_);
    view_moves_ = run != 0;
    if (run == 0) {
      RefuseView("move", "runs of other tools have no graph to move ops of");
    } else if (document_.timeline().FindIdentity(options.move_name) >= 0) {
      document_.MoveOps(run, {options.move_name}, options.move_device);
    } else {
      document_.MoveScope(run, options.move_name, options.move_device);
    }
  }
  if (!options.changes.empty()) {
    const RunKey run = ReplayedRun(document_, state_);
    view_replays_ = run != 0;
    if (run == 0)
      RefuseView("set", "there is no run without a graph to change; move ops, or change its machine");
    if (run != 0) document_.BeginReplay(run);
    for (const std::string& change : options.changes) document_.SetKnobByText(change);
  }
}

void App::ApplyTab(const std::string& name) {
  constexpr std::pair<const char*, Tab> kTabs[] = {
      {"selection", Tab::kSelection}, {"statistics", Tab::kStatistics}, {"diff", Tab::kDiff},
      {"critical", Tab::kCritical},   {"search", Tab::kSearch},         {"sql", Tab::kSql}};
  for (const auto& [known, tab] : kTabs) {
    if (name != known) continue;
    state_.tab = tab;
    state_.tab_requested = true;
  }
}

void App::ApplyTheView(const ViewOptions& options) {
  const ActionContext context{document_, state_, analysis_};
  view_problem_.clear();
  view_moves_ = view_replays_ = false;
  ApplyRuns(options);
  state_.view.SetExtent(analysis_.extent().first, analysis_.extent().second);
  ShowOneStep(context);
  if (options.from_ns) {
    state_.view.Show(static_cast<double>(*options.from_ns), static_cast<double>(*options.to_ns));
  }
  ApplyColourAndLanes(options);
  if (!options.fold.empty()) FoldGroups(true, options.fold == "threads", context);
  state_.show_critical = options.critical;
  state_.show_help = options.help;
  for (const OpenFile& file : document_.files()) {
    if (!options.notes) state_.dismissed.insert(file.path);
  }
  state_.search = options.search;
  if (!options.select.empty()) {
    const OpIdentity op = document_.timeline().FindIdentity(options.select);
    if (op < 0 || !GoToOp(op, context))
      RefuseView("select", "no run has an op named '" + options.select + "'");
  }
  ApplyEdits(options);
  ApplyTab(options.tab);
}

std::string App::view_problem() const {
  if (!view_problem_.empty()) return view_problem_;
  if (view_replays_) {
    const std::string& problem = document_.replay().problem;
    return problem.empty() ? "" : "--view: set: " + problem;
  }
  if (!view_moves_) return "";
  // A move is refused later, when the graph is there; one that leaves something behind is none.
  const WhatIfView& what_if = document_.what_if();
  return what_if.edit == 0 && !what_if.problem.empty() ? "--view: move: " + what_if.problem : "";
}

void App::DrawMiddle(const Ui& ui, float height) {
  const ImVec2 spacing = ImGui::GetStyle().ItemSpacing;
  const float bar = std::round(ImGui::GetFontSize() * 0.35f);
  const float width = ImGui::GetContentRegionAvail().x;
  // The timeline keeps a third of a narrow window.
  const float left = std::min(std::round(ui.Px(state_.left_width)), std::floor(width / 3));
  const float right = std::min(std::round(ui.Px(state_.right_width)), std::floor(width / 3));
  const auto panel = [&](const char* id, float panel_width, ImGuiWindowFlags flags, const auto& draw) {
    ImGui::BeginChild(id, ImVec2(panel_width, height), false, flags);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, spacing);
    draw();
    ImGui::PopStyleVar();
    ImGui::EndChild();
    ImGui::SameLine(0, 0);
  };
  // The panels touch their bars.
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  panel("left", left, ImGuiWindowFlags_AlwaysUseWindowPadding, [&] { DrawRunsPanel(ui); });
  float pixels = left;
  Splitter("left bar", true, height, &pixels, ui.Px(150), width * 0.4f, false);
  state_.left_width = pixels / scale_;
  ImGui::SameLine(0, 0);
  panel("timeline", std::max(ui.Px(120), width - left - right - 2 * bar),
        ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse, [&] { DrawTimeline(ui, &plan_); });
  pixels = right;
  Splitter("right bar", true, height, &pixels, ui.Px(180), width * 0.4f, true);
  state_.right_width = pixels / scale_;
  ImGui::SameLine(0, 0);
  panel("right", 0, ImGuiWindowFlags_AlwaysUseWindowPadding, [&] { DrawInspector(ui); });
  ImGui::PopStyleVar();
}

// In a small window the side panels take less.
void App::SizePanels() {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  if (sized_ || display.x <= 0) return;
  sized_ = true;
  state_.left_width = std::min(state_.left_width, 0.21f * display.x / scale_);
  state_.right_width = std::min(state_.right_width, 0.22f * display.x / scale_);
  state_.bottom_height = std::min(state_.bottom_height, 0.3f * display.y / scale_);
}

// The height of the panel below the lanes, in pixels.
float App::BottomHeight(const Ui& ui, float room) {
  const ImGuiIO& io = ImGui::GetIO();
  BottomNeeds needs;
  needs.chosen = std::min(std::round(ui.Px(state_.bottom_height)), room * 0.7f);
  needs.content = state_.bottom_content;
  needs.by_hand = state_.bottom_by_hand;
  if (ImGui::IsMousePosValid() && io.MousePos.y <= io.DisplaySize.y)
    needs.pointer = io.DisplaySize.y - io.MousePos.y;
  needs.pressed =
      std::any_of(std::begin(io.MouseDown), std::end(io.MouseDown), [](bool down) { return down; });
  needs.fixed = ImGui::GetFrameHeightWithSpacing() + ImGui::GetStyle().WindowPadding.y;
  return state_.bottom_shown = NextBottomHeight(state_.bottom_shown, needs);
}

void App::DrawWindow(const Ui& ui) {
  SizePanels();
  ImGui::SetNextWindowPos(ImVec2(0, 0));
  ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
  ImGui::Begin("Lanescope", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_MenuBar |
                   ImGuiWindowFlags_NoScrollWithMouse);
  DrawMenuBar(ui);
  if (document_.timeline().runs().empty()) {
    DrawFileMessages(ui);
    DrawStartPage(ui, recent_);
  } else {
    DrawToolbar(ui);
    DrawFileMessages(ui);
    const float room = ImGui::GetContentRegionAvail().y;
    const float bar = std::round(ImGui::GetFontSize() * 0.35f);
    float bottom = BottomHeight(ui, room);
    const ImVec2 corner = ImGui::GetCursorPos();
    DrawMiddle(ui, room - bottom - bar);
    ImGui::SetCursorPos(ImVec2(corner.x, corner.y + room - bottom - bar));
    Splitter("bottom bar", false, ImGui::GetContentRegionAvail().x, &bottom, ui.Px(60), room * 0.7f, true);
    ImGui::SetCursorPos(ImVec2(corner.x, corner.y + room - bottom));
    if (bottom != state_.bottom_shown) {
      state_.bottom_by_hand = true;
      state_.bottom_height = bottom / scale_;
      state_.bottom_shown = bottom;
    }
    ImGui::BeginChild("bottom", ImVec2(0, 0), false,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    DrawTabs(ui);
    ImGui::EndChild();
  }
  ImGui::End();
}

void App::Frame(const std::vector<KeyPress>& presses) {
  document_.Poll();
  RememberFiles();
  if (styled_ != state_.theme) {
    styled_ = state_.theme;
    ApplyTheme(ThemeOf(state_.theme), scale_);
  }
  HandleKeys(presses);
  colours_.Update(document_.timeline());
  analysis_.Update(document_, state_, MetricsFor(scale_));
  if (pending_view_) {
    ApplyPendingView();
    analysis_.Update(document_, state_, MetricsFor(scale_));
  }
  const Ui ui{document_, state_, analysis_, ThemeOf(styled_), fonts_, colours_, sql_, scale_};
  state_.hover = {};
  state_.hover_axis.reset();
  DrawWindow(ui);
  DrawHelpPage(ui);
  open_dialog_.Draw(ui);
  save_dialog_.Draw(ui);
  run_dialog_.Draw(ui);
}

}  // namespace lanescope::gui
