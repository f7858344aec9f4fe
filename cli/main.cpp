// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "cli/command.h"
#include "cli/commit.h"
#include "cli/interrupt.h"
#include "cli/print.h"
#include "core/base/edit_distance.h"
#include "core/base/error.h"
#include "study/job/mpi.h"

namespace lanescope::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kSignalled = 128;
constexpr char kNoMemory[] = "the host has no memory left for this; use a smaller graph or batch";
int exit_status = 0;

// A command that a signal ended ends with the signal's status, whatever else it has to say.
int StatusOr(int status) {
  const int number = Interruption().signal().load();
  return number != 0 ? kSignalled + number : status;
}

// A file opened while a standard stream is closed would take its number, and what is printed would land in
// it.
void OpenStandardStreams() {
  for (int stream = 0; stream <= 2; ++stream) {
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != stream) _exit(kFailed);
  }
}

int Fail(std::string_view code, std::string_view message) {
  std::fflush(stdout);
  const std::string rank = study::RankName();
  // mpirun ends what a failed rank leaves: that one has said why.
  if (!rank.empty() && Interruption().signal().load() == SIGTERM) return StatusOr(kFailed);
  if (rank.empty()) {
    PrintNote("error: {}: {}\n", code, OneLine(message));
  } else {
    PrintNote("error: {}: {}: {} [{}]\n", code, rank, OneLine(message), study::OwnCommand());
  }
  return StatusOr(kFailed);
}

// Fails where standard output took not everything; a reader that has seen enough is no failure.
int FailToPrint(int error) {
  if (error == EPIPE) return 0;
  return Fail(CodeName(Code::kDataLoss),
              fmt::format("cannot write to standard output: {}", std::strerror(error)));
}

int FailUsage(const CLI::App& app, std::string_view problem) {
  std::string command = app.get_name();
  for (const CLI::App* subcommand : app.get_subcommands()) command += " " + subcommand->get_name();
  PrintNote("error: InvalidArgument: {} (see {} --help)\n", OneLine(problem), command);
  return kUsage;
}

// "; did you mean 'compare'?" where one command has at least half of its letters; else empty.
std::string LikelyCommand(const CLI::App& app, std::string_view wanted) {
  std::string likely;
  size_t best = wanted.size() / 2 + 1;
  for (const CLI::App* command : app.get_subcommands({})) {
    const size_t distance = EditDistance(wanted, command->get_name(), best);
    if (distance >= best) continue;
    best = distance;
    likely = fmt::format("; did you mean '{}'?", command->get_name());
  }
  return likely;
}

// Lists the commands, for a call that names none.
int ListCommands(const CLI::App& app) {
  PrintNote("Usage: lanescope COMMAND ...\n\n");
  for (const CLI::App* command : app.get_subcommands({}))
    PrintNote("  {:<12} {}\n", command->get_name(), command->get_description());
  PrintNote("\nWhat a command takes: lanescope COMMAND --help\n");
  return kUsage;
}

// An option that is given has a value: `--cost "$COST"` with the variable unset is a mistake, not a default.
void RequireValues(CLI::App* app) {
  for (CLI::App* command : app->get_subcommands({})) {
    for (CLI::Option* option : command->get_options()) {
      if (option->get_positional() || option->get_items_expected_max() == 0) continue;
      option->check(
          [](const std::string& value) { return value.empty() ? "needs a value; it is empty" : ""; });
    }
  }
}

int Finish() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return FailToPrint(errno);
  return StatusOr(exit_status);
}

int Main(int argc, char** argv) {
  CLI::App app("Where should each operator of a graph run, and what would any other placement cost?",
               "lanescope");
  const std::string commit(Commit());
  app.set_version_flag("--version", LANESCOPE_VERSION + (commit.empty() ? "" : " (commit " + commit + ")"));
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  AddDevices(&app);
  AddPlace(&app);
  AddRun(&app);
  AddServe(&app);
  AddSimulate(&app);
  AddSearch(&app);
  AddMake(&app);
  AddCompare(&app);
  AddCalibrate(&app);
  AddSummary(&app);
  AddQuery(&app);
  AddGui(&app);
  AddDiff(&app);
  AddExplain(&app);
  AddGate(&app);
  AddImport(&app);
  AddExport(&app);
  AddReport(&app);
  AddProfile(&app);
  AddManual(&app);
  AddCompletions(&app);
  // Last: subcommands begin with the footer that the program has when they are added.
  AddExample(&app, "lanescope compare samples/graphs/polynomial.pbtxt:single,alternating");
  if (argc < 2) return ListCommands(app);
  const auto named = [&](const CLI::App* subcommand) { return subcommand->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty()) {
    return FailUsage(app, fmt::format("there is no subcommand '{}'{}", argv[1], LikelyCommand(app, argv[1])));
  }
  RequireValues(&app);
  try {
    app.parse(argc, argv);
    return Finish();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return FailUsage(app, error.what());
    app.exit(error);
    return Finish();
  } catch (const Error& error) {
    return Fail(CodeName(error.code()), error.message());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return FailToPrint(error.code().value());
    return Fail(CodeName(Code::kInternal), error.what());
  } catch (const std::exception& error) {
    return Fail(CodeName(Code::kInternal), error.what());
  }
}

// The line that a process of a job prints when there is no memory; empty elsewhere.
std::string MemoryErrorOfRank() {
  const std::string rank = study::RankName();
  if (rank.empty()) return "";
  return fmt::format("error: ResourceExhausted: {}: {} [{}]\n", rank, kNoMemory, study::OwnCommand());
}

// Takes no memory itself.
int FailForMemory(const std::string& of_rank) {
  std::fflush(stdout);
  if (of_rank.empty()) {
    PrintLiteralNote("error: ResourceExhausted: ");
    PrintLiteralNote(kNoMemory);
    PrintLiteralNote("\n");
  } else {
    PrintLiteralNote(of_rank.c_str());
  }
  return StatusOr(kFailed);
}

}  // namespace

void AddExample(CLI::App* command, const std::string& example) {
  const std::string before = command->get_footer();
  command->footer(fmt::format("{}{}Example\n  {}", before, before.empty() ? "" : "\n", example));
}

void SetExitStatus(int status) { exit_status = status; }

}  // namespace lanescope::cli

int main(int argc, char** argv) {
  lanescope::cli::OpenStandardStreams();
  std::string memory_error;  // made before there is need of it
  try {
    lanescope::cli::CatchSignals();
    memory_error = lanescope::cli::MemoryErrorOfRank();
    return lanescope::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    return lanescope::cli::FailForMemory(memory_error);
  }
}
