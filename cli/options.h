// SPDX-License-Identifier: Apache-2.0
// Options that several commands share: machine, step, strategies, GPUs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"
#include "exec/device/device_options.h"
#include "study/job/this_machine.h"
#include "study/workload/placing.h"
#include "study/workload/workload.h"

namespace lanescope::cli {

// Options that every command with a machine has.
struct MachineOptions : study::MachineChoice {
  void Add(CLI::App* command);
  // Notes of LoadMachine on GPUs are printed. With a cluster, processes that mpirun started must run on its
  // hosts, and load it together.
  Machine Load() const;
};

// Options that override the run configuration beside the graph.
struct StepOptions : study::WorkloadOptions {
  // `unconfigured`: what the command makes of a graph whose step is not configured.
  void Add(CLI::App* command, study::Unconfigured unconfigured);
  // Does that with all-reduces as they are done on this machine, which must outlive the reading of the graph.
  study::WorkloadOptions On(const Machine& here) const;

 private:
  void NoteTrips(const std::vector<std::string>& given);  // --trips
};

// Throws InvalidArgument where the file to write is one of those that are read, under whatever name. Empty
// names stand for none.
void RequireNotRead(const std::string& output, const std::vector<std::string>& inputs);

// How steps run on GPUs, for commands that run them.
void AddGpuOptions(CLI::App* command, exec::DeviceOptions* devices);

// --profile: how much of what GPUs do is captured, by CaptureWishOf.
void AddProfileOption(CLI::App* command, std::string* profile);

// The files that are taken for a graph, for the option's description.
inline constexpr char kGraphHelp[] = "GraphDef file (.pb, .pbtxt), SavedModel folder or ONNX model (.onnx)";

// The names that --strategy takes, for the option's description.
std::string StrategyNames();
// A line for each strategy, at the end of the help.
void AddStrategyTable(CLI::App* command);

struct PlaceOptions : study::PlaceOptions {
  PlaceOptions();
  // --strategy-timeout, and where it is said what each strategy does.
  void Add(CLI::App* command);
  // --wire, for commands that place to run or to predict.
  void AddWire(CLI::App* command);
};

// "a,b,c" -> a, b, c.
std::vector<std::string> SplitAtCommas(std::string_view text);

}  // namespace lanescope::cli
