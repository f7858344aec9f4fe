// SPDX-License-Identifier: Apache-2.0
#include "gui/app/dialogs.h"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/base/units.h"
#include "gui/app/format.h"
#include "gui/app/widgets.h"
#include "gui/platform/input_adapter.h"

namespace lanescope::gui {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxEntries = 5000;

// By name alone: a folder may hold thousands of files.
bool LooksLikeTrace(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.ends_with(".run.json")) return false;
  constexpr std::string_view kEndings[] = {".db",      ".sqlite", ".sqlite3",      ".nvvp",      ".json",
                                           ".json.gz", ".csv",    ".run_metadata", ".xplane.pb", ".et"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

bool IsOfARank(const std::string& name) {
  return name.ends_with(".json") || name.ends_with(".json.gz") || name.ends_with(".xplane.pb") ||
         name.ends_with(".et");
}

// Begins a modal window in the middle. `wanted` opens it and is false again when it is closed; Escape closes
// it too, unless a field takes the key to undo what was typed.
bool BeginDialog(const Ui& ui, const char* title, ImVec2 nominal, bool* wanted) {
  if (*wanted && !ImGui::IsPopupOpen(title)) ImGui::OpenPopup(title);
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 size(std::min(ui.Px(nominal.x), display.x - ui.Px(20)),
                    nominal.y > 0 ? std::min(ui.Px(nominal.y), display.y - ui.Px(20)) : 0);
  ImGui::SetNextWindowSize(size);
  ImGui::SetNextWindowPos(ImVec2(display.x / 2, display.y / 2), ImGuiCond_Always, ImVec2(0.5f, 0.5f));
  constexpr ImGuiWindowFlags kFlags = ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoSavedSettings;
  if (!ImGui::BeginPopupModal(title, wanted, kFlags)) return false;
  if (!ImGui::IsAnyItemActive() && IsEscapePressed()) *wanted = false;
  return true;
}

void DrawProblem(const Ui& ui, const std::string& problem) {
  if (problem.empty()) return;
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.limit);
  ImGui::TextWrapped("%s", problem.c_str());
  ImGui::PopStyleColor();
}

}  // namespace

void OpenDialog::Enter(const std::string& folder) {
  entries_.clear();
  problem_.clear();
  std::error_code error;
  folder_ = fs::absolute(folder, error).lexically_normal().string();
  fs::directory_iterator entry(folder_, fs::directory_options::skip_permission_denied, error);
  if (error) problem_ = "cannot read this folder: " + error.message();
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    const bool is_folder = entry->is_directory(ignored);
    if (name.empty() || name[0] == '.' || (!is_folder && !LooksLikeTrace(entry->path()))) continue;
    const auto bytes = is_folder ? 0 : static_cast<int64_t>(entry->file_size(ignored));
    entries_.push_back({name, is_folder, bytes});
    if (entries_.size() >= kMaxEntries) break;
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.folder != b.folder ? a.folder : a.name < b.name; });
}

void OpenDialog::Choose(const Ui& ui, const Entry& entry) {
  const std::string path = (fs::path(folder_) / entry.name).string();
  if (entry.folder) {
    Enter(path);
    return;
  }
  ui.document.Open(path);
  ui.state.show_open = false;
}

void OpenDialog::Draw(const Ui& ui) {
  if (!ui.state.show_open) return;
  if (folder_.empty()) Enter(".");
  if (!BeginDialog(ui, "Open a trace", ImVec2(640, 460), &ui.state.show_open)) return;
  if (ImGui::Button("Up")) Enter(fs::path(folder_).parent_path().string());
  ImGui::SameLine();
  if (std::ranges::any_of(entries_,
                          [](const Entry& entry) { return !entry.folder && IsOfARank(entry.name); })) {
    if (ImGui::Button("Open all as ranks")) {
      ui.document.Open(folder_);
      ui.state.show_open = false;
    }
    Tooltip("all profiles in this folder, as one job of several ranks");
    ImGui::SameLine();
  }
  ImGui::AlignTextToFramePadding();
  CutText(folder_);
  ImGui::BeginChild("entries", ImVec2(0, -ImGui::GetFrameHeightWithSpacing() * 2.4f), true);
  const std::vector<Entry> entries = entries_;
  for (const Entry& entry : entries) {
    const std::string text = entry.folder ? entry.name + "/" : entry.name;
    if (NameItem(text, false, ImGuiSelectableFlags_DontClosePopups)) Choose(ui, entry);
    if (!entry.folder) {
      ImGui::SameLine(ImGui::GetContentRegionMax().x - ui.Px(90));
      DimText(ui.theme, FormatBytes(entry.bytes));
    }
  }
  if (entries.empty()) DimText(ui.theme, "no traces (.db, .sqlite, .json, .json.gz, …) here");
  ImGui::EndChild();
  DrawProblem(ui, problem_);
  ImGui::SetNextItemWidth(-ui.Px(160));
  const bool entered =
      ImGui::InputTextWithHint("##path", "or type a path", &typed_, ImGuiInputTextFlags_EnterReturnsTrue);
  ImGui::SameLine();
  if ((ImGui::Button("Open") || entered) && !typed_.empty()) {
    std::error_code error;
    const fs::path path = fs::path(folder_) / typed_;
    if (fs::is_directory(path, error)) {
      Enter(path.string());
    } else {
      ui.document.Open(path.string());
      ui.state.show_open = false;
    }
  }
  ImGui::SameLine();
  if (ImGui::Button("Cancel")) ui.state.show_open = false;
  if (!ui.state.show_open) {
    folder_.clear();
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
}

void SaveDialog::Save(const Ui& ui) {
  std::string existing;
  for (const std::string& file : {placement_, machine_}) {
    std::error_code error;
    if (!file.empty() && fs::exists(file, error)) existing += (existing.empty() ? "" : " and ") + file;
  }
  if (replaced_ != existing) {
    replaced_ = existing;
    problem_.clear();
    focus_ = true;
    return;
  }
  try {
    ui.document.SavePlacement(placement_);
    if (!machine_.empty()) ui.document.SaveMachine(machine_);
    ui.state.message = "saved " + placement_ + (machine_.empty() ? "" : " and " + machine_);
    ui.state.show_save = false;
  } catch (const Error& error) {
    problem_ = error.message();
  }
}

void SaveDialog::Draw(const Ui& ui) {
  if (!ui.state.show_save) return;
  if (ui.document.what_if().base == 0) {
    ui.state.show_save = false;
    ui.state.message = "change a placement first; then it can be saved";
    return;
  }
  if (!BeginDialog(ui, "Save the placement", ImVec2(520, 0), &ui.state.show_save)) return;
  const auto field = [this](const char* title, const char* id, std::string* file) {
    ImGui::TextUnformatted(title);
    ImGui::SetNextItemWidth(-1);
    const std::string before = *file;
    const bool entered =
        ImGui::InputText(id, file, ImGuiInputTextFlags_AutoSelectAll | ImGuiInputTextFlags_EnterReturnsTrue);
    if (*file != before) replaced_.clear();
    return entered;
  };
  if (ImGui::IsWindowAppearing()) {
    problem_.clear();
    replaced_.clear();
    focus_ = true;
  }
  if (std::exchange(focus_, false)) ImGui::SetKeyboardFocusHere();
  bool save = field("Placement (for --strategy @FILE)", "##placement", &placement_);
  save |= field("Machine (for --machine FILE); empty: not saved", "##machine", &machine_);
  DrawProblem(ui, problem_);
  if (!replaced_.empty()) DrawProblem(ui, "There is already " + replaced_ + ". Replace?");
  save |= ImGui::Button(replaced_.empty() ? "Save" : "Replace");
  if (save) Save(ui);
  ImGui::SameLine();
  if (ImGui::Button("Cancel")) ui.state.show_save = false;
  if (!ui.state.show_save) ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
}

void RunDialog::Draw(const Ui& ui) {
  if (!ui.state.show_run) return;
  if (!BeginDialog(ui, "Run the placement", ImVec2(420, 0), &ui.state.show_run)) return;
  MeasureOptions& options = ui.state.run_options;
  if (ImGui::IsWindowAppearing() || std::exchange(focus_, false)) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(ui.Px(140));
  const bool entered = ImGui::InputTextWithHint(
      "seed", "none", &seed_, ImGuiInputTextFlags_CharsDecimal | ImGuiInputTextFlags_EnterReturnsTrue);
  Tooltip("of random ops and generated feeds that have none of their own");
  uint64_t seed = 0;
  const char* end = seed_.data() + seed_.size();
  const auto [stop, error] = std::from_chars(seed_.data(), end, seed);
  const bool is_seed = error == std::errc() && stop == end;
  options.settings.seed = is_seed ? std::optional(seed) : std::nullopt;
  const auto number = [&](const char* title, int* value, int least, int most) {
    ImGui::SetNextItemWidth(ui.Px(140));
    ImGui::InputInt(title, value);
    *value = std::clamp(*value, least, most);
  };
  number("steps", &options.steps, 1, study::kMaxSteps);
  number("steps before that, to warm up", &options.warmup, 0, study::kMaxWarmup);
  auto timeout_ms = static_cast<int>(options.settings.timeout_ns / 1'000'000);
  number("milliseconds a step may take; 0: any", &timeout_ms, 0, static_cast<int>(study::kMaxTimeoutMs));
  options.settings.timeout_ns = int64_t{timeout_ms} * 1'000'000;
  ImGui::Spacing();
  DimText(ui.theme, "On GPUs");
  ImGui::SetNextItemWidth(ui.Px(140));
  if (ImGui::BeginCombo("recorded beside commands",
                        std::string(kCaptureModeNames[static_cast<size_t>(options.profile)]).c_str())) {
    for (size_t p = 0; p < kCaptureModeNames.size(); ++p) {
      const auto profile = static_cast<CaptureMode>(p);
      if (ImGui::Selectable(std::string(kCaptureModeNames[p]).c_str(), options.profile == profile))
        options.profile = profile;
    }
    ImGui::EndCombo();
  }
  Tooltip("kernels: kernels, copies, memory sets; full: API calls, synchronizations and overheads too");
  ImGui::Checkbox("replay what stays the same as one CUDA graph", &options.settings.devices.graphs);
  ImGui::Checkbox("round the factors of float32 products to TF32", &options.settings.devices.allow_tf32);
  ImGui::Checkbox("allow convolutions whose sums come in changing orders",
                  &options.settings.devices.any_algorithm);
  ImGui::Checkbox("take memory as it is needed", &options.settings.devices.memory_growth);
  ImGui::Spacing();
  const bool typed_badly = !seed_.empty() && !is_seed;
  if (typed_badly) DrawProblem(ui, "The seed must be a whole number from 0 on.");
  if (typed_badly && entered) focus_ = true;
  const bool ready = !typed_badly && !ui.document.what_if().measuring;
  ImGui::BeginDisabled(!ready);
  if (ImGui::Button("Run") || (entered && ready)) {
    ui.document.RunIt(options);
    ui.state.show_run = false;
  }
  ImGui::EndDisabled();
  ImGui::SameLine();
  if (ImGui::Button("Close")) ui.state.show_run = false;
  Tooltip("what is chosen here also holds for `Run it on this machine`");
  if (!ui.state.show_run) ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
}

}  // namespace lanescope::gui
