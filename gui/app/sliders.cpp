// SPDX-License-Identifier: Apache-2.0
#include "gui/app/sliders.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "gui/app/columns.h"
#include "gui/app/widgets.h"

namespace lanescope::gui {

bool DrawSlider(const Ui& ui, const SliderLine& line, float* value, bool* let_go) {
  const float gap = ImGui::GetStyle().ItemSpacing.x, begin = ImGui::GetCursorPosX();
  const SliderColumns columns = FitSlider(ImGui::GetContentRegionAvail().x,
                                          std::max(TextWidth(line.value_text), TextWidth(line.widest)), gap);
  ImGui::AlignTextToFramePadding();
  const std::string label = Shorten(line.label, columns.label);
  DimText(ui.theme, label);
  if (label != line.label) Tooltip(line.label);
  ImGui::SameLine(begin + columns.label + gap);
  ImGui::SetNextItemWidth(std::max(columns.slider, 1.0f));  // 0 is a default
  ImGuiSliderFlags flags = ImGuiSliderFlags_NoInput;
  if (line.logarithmic) flags |= ImGuiSliderFlags_Logarithmic;
  const bool changed = ImGui::SliderFloat(line.id, value, line.low, line.high, "", flags);
  if (ImGui::IsItemDeactivated() && let_go != nullptr) *let_go = true;
  ImGui::SameLine();
  ImGui::TextUnformatted(Shorten(line.value_text, columns.value).c_str());
  return changed;
}

bool FactorSlider(const Ui& ui, const char* id, const std::string& label, const std::string& value_text,
                  double* factor, bool* let_go) {
  auto shown = static_cast<float>(*factor);
  const SliderLine line{id, label, value_text, FormatBandwidth(888.88e9), 0.1f, 10.0f, true};
  if (!DrawSlider(ui, line, &shown, let_go)) return false;
  *factor = std::abs(shown - 1) < 0.03f ? 1 : shown;
  return true;
}

}  // namespace lanescope::gui
