// SPDX-License-Identifier: Apache-2.0
// A line chart as an SVG document.
#pragma once

#include <string>
#include <vector>

namespace lanescope::sims {

struct PlotSeries {
  std::string label;
  std::vector<double> y;  // by point of PlotSpec::x; NaN leaves a gap in the line
};

// A vertical mark with a text, for instance where two curves cross.
struct PlotMark {
  double x = 0;
  std::string label;
};

struct PlotSpec {
  std::string title, x_label, y_label;
  std::vector<double> x;  // positive and ascending: the axis is logarithmic
  std::vector<PlotSeries> series;
  std::vector<PlotMark> marks;
  // Texts of axis values, for instance with units; empty: plain numbers.
  std::string (*x_text)(double) = nullptr;
  std::string (*y_text)(double) = nullptr;
};

// The y axis is linear from zero, or logarithmic where the values differ by more than a factor of four.
// Colours are Okabe and Ito's, told apart by the colour-blind; beyond seven series dashes tell them apart.
// Throws InvalidArgument for fewer than two points, an x that is not positive and ascending, series of
// another length, or values that are negative or infinite.
std::string PlotSvg(const PlotSpec& spec);

}  // namespace lanescope::sims
