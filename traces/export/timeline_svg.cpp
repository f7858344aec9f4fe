// SPDX-License-Identifier: Apache-2.0
#include "traces/export/timeline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/markup.h"
#include "core/base/units.h"
#include "traces/export/timeline.h"

namespace lanescope::traces {
namespace {

constexpr int kRowHeight = 18, kGap = 4, kTop = 22, kAxis = 18;
constexpr int kLabelWidth = 190, kLabelCharacters = 28;
constexpr double kLeastWidth = 0.6;  // pixels; what is narrower is drawn with its neighbours
constexpr double kOutlined = 3;      // pixels; wider ones are told from their neighbours
constexpr int kTicks = 5;

// By SliceKind, as the report's page has them.
constexpr std::array<std::string_view, 8> kSvgColours = {"#999999", "#0072b2", "#d55e00", "#009e73",
                                                         "#cc79a7", "#e69f00", "#56b4e9", "#009e73"};

// The step of that number, or of the median time; those that others disturbed only where all are.
std::optional<TraceStep> StepToDraw(const TraceRun& run, int number) {
  std::vector<TraceStep> steps;
  for (const TraceStep& step : run.steps) {
    if (number >= 0 ? step.step == number : step.counts) steps.push_back(step);
  }
  if (steps.empty() && number < 0) steps = run.steps;
  if (steps.empty()) return std::nullopt;
  const auto middle = steps.begin() + static_cast<ptrdiff_t>((steps.size() - 1) / 2);
  std::nth_element(steps.begin(), middle, steps.end(), [](const TraceStep& a, const TraceStep& b) {
    return a.end_ns - a.start_ns < b.end_ns - b.start_ns;
  });
  return *middle;
}

class TimelinePicture {
 public:
  TimelinePicture(const Timeline& timeline, const Timeline::Slice& step, const TimelineSvgOptions& options)
      : timeline_(timeline),
        step_(step),
        width_(std::max(300, options.width)),
        scale_((width_ - kLabelWidth) /
               static_cast<double>(std::max<int64_t>(
                   1, options.span_ns > 0 ? options.span_ns : step.end_ns - step.start_ns))) {}

  std::string Draw(const std::string& title) {
    for (const Timeline::Track& track : timeline_.tracks) AddRow(track);
    if (rows_ == 0) return "";
    const int rows_end = TopOf(rows_);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\" font-size=\"11\" role=\"img\"><rect width=\"100%\" height=\"100%\" "
        "fill=\"#ffffff\"/><text x=\"0\" y=\"14\" font-weight=\"bold\" "
        "fill=\"#222222\">{2}</text>{3}{4}</svg>",
        width_, rows_end + kAxis, MarkupText(title), body_, Axis(rows_end));
  }

 private:
  double At(int64_t ns) const { return kLabelWidth + static_cast<double>(ns - step_.start_ns) * scale_; }

  bool IsOfStep(const Timeline::Slice& slice) const {
    return slice.end_ns > step_.start_ns && slice.start_ns < step_.end_ns;
  }

  static int TopOf(int row) { return kTop + row * (kRowHeight + kGap); }

  void AddLabel(std::string label, int row, bool heading) {
    if (!heading && label.size() > kLabelCharacters) {
      size_t end = kLabelCharacters;
      while (end > 0 && (static_cast<unsigned char>(label[end]) & 0xc0) == 0x80) --end;  // no part of one
      label = label.substr(0, end) + "..";
    }
    body_ += fmt::format("<text x=\"0\" y=\"{}\" fill=\"#444444\"{}>{}</text>", TopOf(row) + 13,
                         heading ? " font-weight=\"bold\"" : "", MarkupText(label));
  }

  // The first row of a task stands below its name.
  void AddRow(const Timeline::Track& track) {
    std::string row;
    double drawn_to = 0;
    const Timeline::Process& process = timeline_.processes[static_cast<size_t>(track.process)];
    const bool first_of_task = process.is_task() && track.process != task_;
    const int y = TopOf(rows_ + (first_of_task ? 1 : 0));
    for (const int number : track.slices) {
      const Timeline::Slice& slice = timeline_.slices[static_cast<size_t>(number)];
      if (slice.kind == SliceKind::kStep || !IsOfStep(slice)) continue;
      const double x = At(std::max(slice.start_ns, step_.start_ns));
      const double end = std::min(At(std::min(slice.end_ns, step_.end_ns)), static_cast<double>(width_));
      if (end - drawn_to < kLeastWidth && end - x < kLeastWidth) continue;
      drawn_to = std::max(end, x + kLeastWidth);
      row += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"{}><title>{} ({})</title>"
          "</rect>",
          x, y, drawn_to - x, kRowHeight, kSvgColours[static_cast<size_t>(slice.kind)],
          drawn_to - x > kOutlined ? " stroke=\"#ffffff\" stroke-width=\"0.5\"" : "",
          MarkupText(timeline_.Name(slice)), TimeText(slice.end_ns - slice.start_ns));
    }
    if (row.empty()) return;
    if (first_of_task) AddLabel(process.name, rows_++, true);
    task_ = process.is_task() ? track.process : -1;
    AddLabel(process.is_task() ? track.name : process.name + " " + track.name, rows_++, false);
    body_ += row;
  }

  std::string Axis(int y) const {
    std::string axis;
    const double span = (width_ - kLabelWidth) / scale_;
    for (int tick = 0; tick < kTicks; ++tick) {
      const double ns = span * tick / kTicks;
      const double x = kLabelWidth + ns * scale_;
      axis += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#8884\"/><text x=\"{3:.1f}\" "
          "y=\"{4}\" fill=\"#666666\">{5}</text>",
          x, kTop, y, x + 2, y + 12, TimeText(ns));
    }
    return axis;
  }

  const Timeline& timeline_;
  const Timeline::Slice& step_;
  const int width_;
  const double scale_;  // pixels a nanosecond
  std::string body_;
  int rows_ = 0;
  int task_ = -1;  // whose rows these are
};

}  // namespace

std::string TimelineSvg(const TraceRun& run, const TimelineSvgOptions& options) {
  const std::optional<TraceStep> wanted = StepToDraw(run, options.step);
  if (!wanted) return "";
  const Timeline timeline = MakeTimeline(run);
  const auto step =
      std::find_if(timeline.slices.begin(), timeline.slices.end(), [&](const Timeline::Slice& slice) {
        return slice.kind == SliceKind::kStep && slice.step == wanted->step;
      });
  if (step == timeline.slices.end()) return "";
  std::string title = options.title;
  if (title.empty()) {
    title = fmt::format("{} {}{}: step {}, {}", run.info.graph, run.info.strategy,
                        run.info.simulated  ? ", simulated"
                        : run.info.laid_out ? ", laid out"
                                            : "",
                        wanted->step, TimeText(wanted->end_ns - wanted->start_ns));
  }
  return TimelinePicture(timeline, *step, options).Draw(title);
}

int64_t TimelineSvgStepNs(const TraceRun& run, int step) {
  const std::optional<TraceStep> wanted = StepToDraw(run, step);
  return wanted ? wanted->end_ns - wanted->start_ns : 0;
}

}  // namespace lanescope::traces
