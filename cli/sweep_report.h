// SPDX-License-Identifier: Apache-2.0
// Sweeps over link bandwidths: what the command line says of them, and their report.
#pragma once

#include <string>
#include <string_view>

#include "core/machine/machine.h"
#include "sims/predict/sweep.h"

namespace lanescope::cli {

// Checks of options before anything runs: empty where the text has the right form, else what is wrong.
std::string CheckSweep(const std::string& sweep);
std::string CheckPlotPath(const std::string& path);
// "link.bandwidth=0.1GB/s..100GB/s". Throws InvalidArgument.
sims::SweepRange ParseSweep(std::string_view text, const Machine& machine);

// The bandwidths at which rows cross and what binds them at an infinitely fast link.
void PrintSweep(const sims::Sweep& sweep);
// "fastest: A; from 4.2GB/s on B".
std::string LeadersText(const sims::Sweep& sweep);
// An SVG document.
std::string PlotOf(const sims::Sweep& sweep, const std::string& title);
// Writes the sweep as FILE.svg. After everything else is printed: a disk that is full takes nothing else
// away.
void WritePlot(const std::string& file, const sims::Sweep& sweep, const std::string& title);

}  // namespace lanescope::cli
