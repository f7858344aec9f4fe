// SPDX-License-Identifier: Apache-2.0
#include "sims/predict/plot_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/base/markup.h"

namespace lanescope::sims {
namespace {

constexpr double kWidth = 960, kHeight = 480;
constexpr double kLeft = 90, kRight = 290, kTop = 50, kBottom = 60;
constexpr double kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;
constexpr int kYTicks = 6;
// Series whose values differ by more than this factor get a logarithmic axis: where they cross would be a
// flat line at the bottom else.
constexpr double kLinearRatio = 4;
constexpr double kLogMargin = 1.15;
constexpr size_t kMaxLabel = 34;
constexpr double kMarkWidth = 70, kMarkHeight = 14;
constexpr std::array<const char*, 7> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                 "#E69F00", "#56B4E9", "#000000"};
constexpr std::array<const char*, 3> kDashes = {"", "7 3", "2 3"};

// Cut at a character, not inside one (UTF-8).
std::string Shortened(const std::string& text) {
  if (text.size() <= kMaxLabel) return text;
  size_t cut = kMaxLabel - 1;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return text.substr(0, cut) + "…";
}

std::string PlainText(double value) { return fmt::format("{:.4g}", value); }

// 1, 2 or 5 times a power of ten, so that about `ticks` of them reach `highest`.
double NiceStep(double highest, int ticks) {
  const double rough = highest / ticks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= rough * (1 - 1e-9)) return power * factor;
  }
  return power * 10;
}

// 1, 2 and 5 times the powers of ten in [low, high]; only the powers over more than three decades.
std::vector<double> LogTicks(double low, double high) {
  constexpr double kRounding = 1e-4;
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high * (1 + kRounding);
       power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = power * factor;
      if (high / low > 1e3 && factor > 1) continue;
      if (value >= low * (1 - kRounding) && value <= high * (1 + kRounding)) ticks.push_back(value);
    }
  }
  return ticks;
}

void CheckSpec(const PlotSpec& spec) {
  if (spec.x.size() < 2)
    Throw(Code::kInvalidArgument, "a plot needs two points or more, got {}", spec.x.size());
  for (size_t i = 0; i < spec.x.size(); ++i) {
    const bool ascending = i == 0 || spec.x[i] > spec.x[i - 1];
    if (!(spec.x[i] > 0) || !std::isfinite(spec.x[i]) || !ascending) {
      Throw(Code::kInvalidArgument, "the x values of a logarithmic plot must be positive and ascending");
    }
  }
  for (const PlotSeries& series : spec.series) {
    if (series.y.size() != spec.x.size()) {
      Throw(Code::kInvalidArgument, "series '{}' has {} values for {} points", series.label, series.y.size(),
            spec.x.size());
    }
    for (const double y : series.y) {
      if (y < 0 || std::isinf(y)) {
        Throw(Code::kInvalidArgument, "series '{}' has a negative or infinite value", series.label);
      }
    }
  }
}

class Chart {
 public:
  explicit Chart(const PlotSpec& spec) : spec_(spec) {
    double highest = 0, lowest = std::numeric_limits<double>::infinity();
    for (const PlotSeries& series : spec.series) {
      for (const double y : series.y) {
        if (std::isnan(y)) continue;
        highest = std::max(highest, y);
        lowest = std::min(lowest, y);
      }
    }
    log_y_ = lowest > 0 && highest > kLinearRatio * lowest;
    if (log_y_) {
      y_min_ = lowest / kLogMargin;
      y_max_ = highest * kLogMargin;
    } else {
      y_step_ = NiceStep(highest > 0 ? highest : 1, kYTicks - 1);
      y_max_ = y_step_ * std::max(1.0, std::ceil(highest / y_step_ - 1e-9));
    }
  }

  std::string Draw() {
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<title>{2}</title>\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        kWidth, kHeight, MarkupText(spec_.title));
    Text(kLeft, kTop - 22, spec_.title, "start", "font-size=\"15\" font-weight=\"bold\"");
    DrawXAxis();
    DrawYAxis();
    std::vector<PlotMark> marks = spec_.marks;
    std::stable_sort(marks.begin(), marks.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    for (const PlotMark& mark : marks) DrawMark(mark);
    for (size_t i = 0; i < spec_.series.size(); ++i) DrawSeries(i);
    return svg_ + "</svg>\n";
  }

 private:
  double X(double x) const {
    const double low = std::log(spec_.x.front()), high = std::log(spec_.x.back());
    return kLeft + (std::log(x) - low) / (high - low) * kPlotWidth;
  }
  double Y(double y) const {
    const double share = log_y_ ? std::log(y / y_min_) / std::log(y_max_ / y_min_) : y / y_max_;
    return kTop + (1 - share) * kPlotHeight;
  }
  std::vector<double> YTicks() const {
    if (log_y_) return LogTicks(y_min_, y_max_);
    std::vector<double> ticks;
    for (double value = 0; value <= y_max_ * 1.0001; value += y_step_) ticks.push_back(value);
    return ticks;
  }

  void Text(double x, double y, const std::string& text, const char* anchor, const std::string& extra = "") {
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y, anchor,
                        extra, MarkupText(text));
  }
  void Line(double x1, double y1, double x2, double y2, const char* colour, const char* dash = "") {
    svg_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-dasharray=\"{}\"/>\n",
        x1, y1, x2, y2, colour, dash);
  }

  void DrawXAxis() {
    for (const double value : LogTicks(spec_.x.front(), spec_.x.back())) {
      Line(X(value), kTop, X(value), kTop + kPlotHeight, "#e4e4e4");
      Text(X(value), kTop + kPlotHeight + 18, (spec_.x_text ? spec_.x_text : PlainText)(value), "middle");
    }
    Line(kLeft, kTop + kPlotHeight, kLeft + kPlotWidth, kTop + kPlotHeight, "#444444");
    Text(kLeft + kPlotWidth / 2, kHeight - 16, spec_.x_label, "middle");
  }

  void DrawYAxis() {
    for (const double value : YTicks()) {
      Line(kLeft, Y(value), kLeft + kPlotWidth, Y(value), "#e4e4e4");
      Text(kLeft - 8, Y(value) + 4, (spec_.y_text ? spec_.y_text : PlainText)(value), "end");
    }
    Line(kLeft, kTop, kLeft, kTop + kPlotHeight, "#444444");
    const double middle = kTop + kPlotHeight / 2;
    Text(18, middle, spec_.y_label, "middle", fmt::format("transform=\"rotate(-90 18 {:.1f})\"", middle));
  }

  void DrawMark(const PlotMark& mark) {
    if (!(mark.x >= spec_.x.front() && mark.x <= spec_.x.back())) return;
    const double x = X(mark.x);
    Line(x, kTop, x, kTop + kPlotHeight, "#888888", "2 4");
    // The first row where it does not run into the label before.
    size_t row = 0;
    while (row < mark_ends_.size() && mark_ends_[row] > x) ++row;
    if (row == mark_ends_.size()) mark_ends_.push_back(0);
    mark_ends_[row] = x + kMarkWidth;
    Text(x + 4, kTop + kMarkHeight * static_cast<double>(row + 1), mark.label, "start",
         "fill=\"#555555\" font-size=\"11\"");
  }

  void DrawSeries(size_t index) {
    const PlotSeries& series = spec_.series[index];
    const char* colour = kColours[index % kColours.size()];
    const char* dash = kDashes[index / kColours.size() % kDashes.size()];
    std::string path;
    bool pen_down = false;
    for (size_t i = 0; i < series.y.size(); ++i) {
      const bool gap = std::isnan(series.y[i]);
      if (!gap) path += fmt::format("{}{:.1f} {:.1f} ", pen_down ? "L" : "M", X(spec_.x[i]), Y(series.y[i]));
      pen_down = !gap;
    }
    const std::string style =
        fmt::format("stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"", colour, dash);
    svg_ += fmt::format("<path d=\"{}\" fill=\"none\" {}/>\n", path, style);
    const double legend_x = kLeft + kPlotWidth + 18, legend_y = kTop + 10 + 20 * static_cast<double>(index);
    svg_ += fmt::format("<path d=\"M{0:.1f} {1:.1f} H{2:.1f}\" {3}/>\n", legend_x, legend_y, legend_x + 24,
                        style);
    Text(legend_x + 30, legend_y + 4, Shortened(series.label), "start");
  }

  const PlotSpec& spec_;
  bool log_y_ = false;
  double y_step_ = 1, y_min_ = 0, y_max_ = 1;
  std::vector<double> mark_ends_;  // by row of labels: where its last one ends
  std::string svg_;
};

}  // namespace

std::string PlotSvg(const PlotSpec& spec) {
  CheckSpec(spec);
  return Chart(spec).Draw();
}

}  // namespace lanescope::sims
