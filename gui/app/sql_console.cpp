// SPDX-License-Identifier: Apache-2.0
#include "gui/app/sql_console.h"

#include <fmt/core.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "gui/app/columns.h"
#include "gui/app/format.h"
#include "gui/app/ui.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {
namespace {

constexpr int kMaxRows = 10000;
constexpr int kMaxColumns = 60;  // ImGui's tables take 64
// The width of a column, nominal pixels.
constexpr float kMinWidth = 48, kMaxWidth = 640;

constexpr std::string_view kFirstText =
    "SELECT value AS kernel, COUNT(*) AS calls, SUM(\"end\" - start) / 1e6 AS total_ms\n"
    "FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName\n"
    "GROUP BY kernel ORDER BY total_ms DESC";

std::string CellText(const traces::QueryValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:.6g}", *real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "";
}

// The width of every column's widest text, header included, among the first rows.
std::vector<float> WantedWidths(const traces::QueryResult& result, size_t columns, float most) {
  constexpr size_t kMeasuredRows = 500, kMeasuredText = 400;
  std::vector<float> widths;
  for (size_t i = 0; i < columns; ++i) {
    float width = TextWidth(result.columns[i]);
    for (size_t row = 0; row < std::min(result.rows.size(), kMeasuredRows); ++row) {
      width = std::max(width, TextWidth(CellText(result.rows[row][i]).substr(0, kMeasuredText)));
    }
    widths.push_back(std::min(width, most));
  }
  return widths;
}

bool BeginsWith(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  return std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
    return a == static_cast<char>(std::toupper(static_cast<unsigned char>(b)));
  });
}

}  // namespace

std::string WithLimit(const std::string& sql, int rows) {
  std::string_view text = sql;
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && (is_blank(text.back()) || text.back() == ';')) text.remove_suffix(1);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  // The line break ends a comment at the end of the text.
  if (BeginsWith(text, "SELECT") || BeginsWith(text, "WITH")) {
    return fmt::format("SELECT * FROM ({}\n) LIMIT {}", text, rows);
  }
  return std::string(text);
}

SqlConsole::SqlConsole(std::function<void()> wake)
    : text_(kFirstText),
      worker_(
          [](const Request& request, const std::atomic<bool>& cancelled) {
            return traces::RunQuery(request.path, WithLimit(request.sql, kMaxRows), &cancelled);
          },
          std::move(wake)) {}

void SqlConsole::Run(const std::string& path) {
  path_ = path;
  error_.clear();
  worker_.Submit({path, text_});
}

void SqlConsole::TakeResult() {
  if (auto result = worker_.Take()) {
    result_ = std::move(*result);
    ++result_number_;
    widths_.clear();
    error_.clear();
  }
  if (std::string error = worker_.TakeError(); !error.empty()) {
    error_ = std::move(error);
    result_ = {};
  }
}

void SqlConsole::Draw(const Ui& ui) {
  TakeResult();
  TakeAllRoom(ui);
  // A file that failed to open cannot be asked, nor one that is still being imported.
  std::vector<OpenFile> files = ui.document.files();
  std::erase_if(files, [](const OpenFile& file) { return file.state.file.empty(); });
  if (files.empty()) return;
  const bool known =
      std::any_of(files.begin(), files.end(), [&](const OpenFile& file) { return file.path == path_; });
  if (!known) path_ = files.front().path;
  ImGui::PushFont(ui.fonts.mono);
  const float height = ImGui::GetFontSize() * 4.6f;
  const bool entered = ImGui::InputTextMultiline(
      "##sql", &text_, ImVec2(ImGui::GetContentRegionAvail().x - ui.Px(190), height),
      ImGuiInputTextFlags_EnterReturnsTrue);
  ImGui::PopFont();
  const bool active = ImGui::IsItemActive();
  // Ctrl+Enter leaves the field, which the next word is for.
  if (entered) ImGui::SetKeyboardFocusHere(-1);
  ImGui::SameLine();
  ImGui::BeginGroup();
  ImGui::SetNextItemWidth(-1);
  if (BeginNameCombo("##file", std::filesystem::path(path_).filename().string())) {
    for (const OpenFile& file : files) {
      if (NameItem(file.path, file.path == path_)) path_ = file.path;
    }
    ImGui::EndCombo();
  }
  const bool enter = entered || (active && IsSubmitPressed());
  if (worker_.busy()) {
    if (ImGui::Button("Cancel")) worker_.Cancel();
  } else if (ImGui::Button("Run  (Ctrl+Enter)") || enter) {
    const auto asked =
        std::find_if(files.begin(), files.end(), [&](const OpenFile& file) { return file.path == path_; });
    Run(asked->state.file);
  }
  if (!result_.columns.empty()) {
    const auto rows = static_cast<int64_t>(result_.rows.size());
    DimText(ui.theme, CountText(rows) + (rows >= kMaxRows ? " rows (first)" : " rows"));
  }
  ImGui::EndGroup();
  if (!error_.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.limit);
    ImGui::TextWrapped("%s", error_.c_str());
    ImGui::PopStyleColor();
  }
  DrawResult(ui);
}

void SqlConsole::DrawResult(const Ui& ui) {
  const int columns = static_cast<int>(std::min<size_t>(result_.columns.size(), kMaxColumns));
  if (columns == 0) return;
  if (widths_.empty()) widths_ = WantedWidths(result_, static_cast<size_t>(columns), ui.Px(kMaxWidth));
  const float padding = 2 * ImGui::GetStyle().CellPadding.x + 1;
  const std::vector<float> widths =
      FitColumns(widths_,
                 ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize -
                     padding * static_cast<float>(columns),
                 ui.Px(kMinWidth));
  if (!ImGui::BeginTable(("result " + std::to_string(result_number_)).c_str(), columns,
                         ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_Resizable |
                             ImGuiTableFlags_ScrollY | ImGuiTableFlags_ScrollX |
                             ImGuiTableFlags_SizingFixedFit)) {
    return;
  }
  ImGui::TableSetupScrollFreeze(0, 1);
  for (size_t i = 0; i < widths.size(); ++i) {
    ImGui::TableSetupColumn("##column", ImGuiTableColumnFlags_WidthFixed, widths[i]);
  }
  NameHeadersRow({result_.columns.begin(), result_.columns.begin() + columns});
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(result_.rows.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      ImGui::TableNextRow();
      for (int column = 0; column < columns; ++column) {
        ImGui::TableNextColumn();
        const traces::QueryValue& value = result_.rows[static_cast<size_t>(i)][static_cast<size_t>(column)];
        if (const auto* text = std::get_if<std::string>(&value)) {
          CutText(*text);
        } else {
          RightText(CellText(value));
        }
      }
    }
  }
  ImGui::EndTable();
}

}  // namespace lanescope::gui
