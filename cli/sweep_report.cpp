// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/line_width.h"
#include "cli/print.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "sims/predict/plot_svg.h"

namespace lanescope::cli {
namespace {

constexpr std::string_view kSweepKey = "link.bandwidth=";

}  // namespace

std::string CheckSweep(const std::string& sweep) {
  const size_t dots = sweep.find("..");
  const bool good = sweep.starts_with(kSweepKey) && dots != std::string::npos && dots > kSweepKey.size() &&
                    dots + 2 < sweep.size();
  return good ? "" : fmt::format("'{}' is not of the form {}0.1GB/s..100GB/s", sweep, kSweepKey);
}

sims::SweepRange ParseSweep(std::string_view text, const Machine& machine) {
  if (const std::string problem = CheckSweep(std::string(text)); !problem.empty()) {
    Throw(Code::kInvalidArgument, "--sweep: {}", problem);
  }
  const size_t dots = text.find("..");
  sims::SweepRange range;
  range.links = sims::LinksBetweenGpus(machine);
  if (range.links.empty())
    Throw(Code::kInvalidArgument, "--sweep varies the links between GPUs, and this machine has none");
  range.low = ParseBandwidth(text.substr(kSweepKey.size(), dots - kSweepKey.size()));
  range.high = ParseBandwidth(text.substr(dots + 2));
  if (!(range.low > 0) || !(range.high > range.low))
    Throw(Code::kInvalidArgument, "--sweep needs a range from a smaller to a larger bandwidth, not '{}'",
          text);
  return range;
}

namespace {

std::string BoundText(const sims::SweepCurve& curve) {
  return fmt::format("{} ({})", curve.bound_by, PercentText(curve.bound_share, 0));
}

// Columns of bandwidths that a line has room for: the ends of the range and what lies evenly between.
std::vector<size_t> ShownPoints(const sims::Sweep& sweep) {
  constexpr int kMost = 8, kLeast = 3, kColumn = 12, kOtherColumns = 56;
  const int room = LineWidth() == 0 ? kMost : (LineWidth() - kOtherColumns) / kColumn;
  const size_t points = sweep.bandwidth.size();
  const size_t shown = std::min(points, static_cast<size_t>(std::clamp(room, kLeast, kMost)));
  std::vector<size_t> result;
  for (size_t i = 0; i < shown; ++i) result.push_back(shown < 2 ? 0 : i * (points - 1) / (shown - 1));
  return result;
}

void PrintSweepTable(const sims::Sweep& sweep) {
  const std::vector<size_t> points = ShownPoints(sweep);
  TextTable table;
  table.Name("Row").Group("Step time by bandwidth of the links between GPUs, simulated");
  for (const size_t point : points) table.Number(FormatBandwidth(sweep.bandwidth[point]));
  table.Number("infinite").Group("").Name("Bound by");
  for (const sims::SweepCurve& curve : sweep.curves) {
    std::vector<std::string> row = {curve.name};
    for (const size_t point : points) row.push_back(TimeText(curve.step_ns[point]));
    row.push_back(TimeText(curve.asymptote_ns));
    row.push_back(BoundText(curve));
    table.Row(std::move(row));
  }
  PrintText(table.Take(LineWidth()));
}

}  // namespace

std::string LeadersText(const sims::Sweep& sweep) {
  const std::vector<sims::SweepLeader> leaders = sims::LeadersOf(sweep);
  std::string text = "fastest: ";
  for (const sims::SweepLeader& leader : leaders) {
    if (&leader != &leaders.front()) text += fmt::format("; from {} on ", FormatBandwidth(leader.bandwidth));
    text += sweep.curves[static_cast<size_t>(leader.curve)].name;
  }
  return text;
}

void PrintSweep(const sims::Sweep& sweep) {
  Print("\n");
  PrintSweepTable(sweep);
  Print("\n");
  if (sweep.curves.size() > 1) Print("{}\n", LeadersText(sweep));
  for (const sims::SweepCrossing& crossing : sweep.crossings) {
    if (crossing.below != 0 && crossing.above != 0) continue;  // JSON has all pairs
    Print("{} wins over {} above {}\n", sweep.curves[static_cast<size_t>(crossing.above)].name,
          sweep.curves[static_cast<size_t>(crossing.below)].name, FormatBandwidth(crossing.bandwidth));
  }
  const sims::SweepCurve& first = sweep.curves.front();
  for (size_t c = 1; c < sweep.curves.size(); ++c) {
    const sims::SweepCurve& curve = sweep.curves[c];
    const std::string limit = TimeText(curve.asymptote_ns);
    switch (sims::StandingOf(sweep, static_cast<int>(c), 0)) {
      case sims::SweepStanding::kWins:
        Print("{} beats {} at every bandwidth of the range\n", curve.name, first.name);
        break;
      case sims::SweepStanding::kWinsBeyond:
        Print("{} beats {} at no bandwidth of the range, only with still faster links: at best {}\n",
              curve.name, first.name, limit);
        break;
      case sims::SweepStanding::kNeverWins:
        Print("{} never beats {}: at infinite bandwidth it still takes {}, bound by {}\n", curve.name,
              first.name, limit, curve.bound_by);
        break;
      case sims::SweepStanding::kCrosses:
      case sims::SweepStanding::kEqual:
        break;
    }
  }
}

std::string CheckPlotPath(const std::string& path) {
  return path.ends_with(".svg") ? ""
                                : fmt::format("'{}' does not end in .svg; sweeps are drawn as SVG", path);
}

std::string PlotOf(const sims::Sweep& sweep, const std::string& title) {
  sims::PlotSpec plot;
  plot.title = title;
  plot.x_label = "bandwidth of the links between GPUs";
  plot.y_label = "step time, simulated";
  plot.x = sweep.bandwidth;
  for (const sims::SweepCurve& curve : sweep.curves) {
    sims::PlotSeries series;
    series.label = curve.name;
    for (const int64_t ns : curve.step_ns) series.y.push_back(static_cast<double>(ns));
    plot.series.push_back(std::move(series));
  }
  for (const sims::SweepCrossing& crossing : sweep.crossings)
    plot.marks.push_back({crossing.bandwidth, FormatBandwidth(crossing.bandwidth)});
  plot.x_text = [](double x) { return FormatBandwidth(x); };
  plot.y_text = [](double y) { return TimeText(y); };
  return sims::PlotSvg(plot);
}

void WritePlot(const std::string& file, const sims::Sweep& sweep, const std::string& title) {
  WriteFile(file, PlotOf(sweep, title));
}

}  // namespace lanescope::cli
