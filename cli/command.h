// What the subcommands of the program share: the list of them, and what Ctrl-C does.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>

namespace lanescope::cli {

// Each file cli/NAME.cpp adds one subcommand. What it sets as callback runs after parsing; it throws Error.
void AddDevices(CLI::App* app);
void AddPlace(CLI::App* app);
void AddRun(CLI::App* app);
void AddSimulate(CLI::App* app);
void AddCompare(CLI::App* app);
void AddCalibrate(CLI::App* app);
void AddSummary(CLI::App* app);
void AddQuery(CLI::App* app);
void AddGui(CLI::App* app);
void AddDiff(CLI::App* app);
void AddExplain(CLI::App* app);
void AddImport(CLI::App* app);
void AddProfile(CLI::App* app);

// The exit status when nothing goes wrong here; of a program that was run. 0 where nobody says.
void SetExitStatus(int status);
// True after Ctrl-C. Commands that take time look at it and end with Cancelled, keeping what they have.
const std::atomic<bool>& Interrupted();
// Called on Ctrl-C, from the signal handler: must be async-signal-safe. Null: nothing.
void OnInterrupt(void (*handler)());

}  // namespace lanescope::cli
