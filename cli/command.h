// SPDX-License-Identifier: Apache-2.0
// The subcommands of the program.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lanescope::cli {

// Each file cli/NAME.cpp adds one subcommand. What it sets as callback runs after parsing; it throws Error.
void AddDevices(CLI::App* app);
void AddPlace(CLI::App* app);
void AddRun(CLI::App* app);
void AddServe(CLI::App* app);
void AddSimulate(CLI::App* app);
void AddSearch(CLI::App* app);
void AddMake(CLI::App* app);
void AddCompare(CLI::App* app);
void AddCalibrate(CLI::App* app);
void AddSummary(CLI::App* app);
void AddQuery(CLI::App* app);
void AddGui(CLI::App* app);
void AddDiff(CLI::App* app);
void AddExplain(CLI::App* app);
void AddGate(CLI::App* app);
void AddImport(CLI::App* app);
void AddExport(CLI::App* app);
void AddReport(CLI::App* app);
void AddProfile(CLI::App* app);
// These describe all commands of the program, `app`.
void AddManual(CLI::App* app);
void AddCompletions(CLI::App* app);

// The end of the command's help, after what it ends with so far. `example` works at the root of the sources.
void AddExample(CLI::App* command, const std::string& example);

// The exit status when nothing goes wrong here; of a program that was run. 0 where nobody says.
void SetExitStatus(int status);

}  // namespace lanescope::cli
