// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/print.h"
#include "core/base/error.h"
#include "profiler/program_capture.h"

namespace lanescope::cli {
namespace {

struct ProfileOptions {
  std::string trace = "trace.db", mode = "full", range;
  double delay_s = 0, duration_s = 0;
  std::vector<std::string> words;
};

profiler::ProgramCaptureOptions Parse(const ProfileOptions& options) {
  profiler::ProgramCaptureOptions capture;
  capture.words = options.words;
  capture.mode = options.mode == "kernels" ? CaptureMode::kKernels : CaptureMode::kFull;
  capture.delay_s = options.delay_s;
  capture.duration_s = options.duration_s;
  constexpr std::string_view kNvtx = "nvtx:";
  if (options.range.empty()) return capture;
  if (!options.range.starts_with(kNvtx) || options.range.size() == kNvtx.size()) {
    Throw(Code::kInvalidArgument, "--capture-range is nvtx:NAME, not '{}'", options.range);
  }
  capture.nvtx_range = options.range.substr(kNvtx.size());
  return capture;
}

// On standard error: standard output is the program's.
void PrintResult(const profiler::ProgramCaptureResult& result, const std::string& trace) {
  for (const std::string& note : result.notes) PrintNote("lanescope: {}\n", OneLine(note));
  if (!result.nothing.empty()) {
    PrintNote("lanescope: no GPU activity was captured: {}\n", OneLine(result.nothing));
  }
  PrintNote("lanescope: {} records of {} processes are run {} of {}\n", result.rows, result.processes,
            result.run, trace);
}

void ProfileProgram(const ProfileOptions& options) {
  const study::Cancellation::Watch in_order(&Interruption());
  const profiler::ProgramCaptureResult result =
      profiler::CaptureProgram(Parse(options), options.trace, Interruption().signal());
  PrintResult(result, options.trace);
  SetExitStatus(result.status);
}

}  // namespace

void AddProfile(CLI::App* app) {
  auto* command = app->add_subcommand("profile", "Run any program and record what it does on GPUs");
  auto options = std::make_shared<ProfileOptions>();
  command->add_option("-o,--trace", options->trace, "Trace file (SQLite); the run is appended")
      ->capture_default_str();
  command->add_option("--mode", options->mode, "kernels: kernels, copies, memory sets; full: API calls too")
      ->capture_default_str()
      ->check(CLI::IsMember({"kernels", "full"}));
  command->add_option("--delay", options->delay_s, "Seconds until recording begins")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--duration", options->duration_s, "Seconds of recording; the program runs on")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--capture-range", options->range, "Record only inside NVTX ranges: nvtx:NAME");
  command->add_option("program", options->words, "The program and its arguments, after --")->required();
  command->positionals_at_end();
  command->footer(
      "Exit status: the program's; 128 and the signal that ended it or lanescope. The program is found "
      "in PATH.");
  AddExample(command, "lanescope profile -o t.db --mode kernels -- ./program --its-own-option");
  command->callback([options] { ProfileProgram(*options); });
}

}  // namespace lanescope::cli
