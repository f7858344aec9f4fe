#include <signal.h>

#include <atomic>
#include <cstdio>
#include <exception>

#include "cli/command.h"
#include "core/error.h"

namespace lanescope::cli {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<void (*)()> interrupt_handler{nullptr};

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kInterrupted = 130;

void HandleSignal(int) {
  interrupted.store(true, std::memory_order_relaxed);
  if (void (*handler)() = interrupt_handler.load()) handler();
}

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = HandleSignal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second Ctrl-C ends the program at once
  sigaction(SIGINT, &action, nullptr);
}

int Fail(std::string_view code, const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "error: {}: {}\n", code, message);
  return interrupted.load() ? kInterrupted : kFailed;
}

int Main(int argc, char** argv) {
  CLI::App app("Where should each operator of a graph run, and what would any other placement cost?",
               "lanescope");
  app.set_version_flag("--version", LANESCOPE_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  AddDevices(&app);
  AddPlace(&app);
  AddRun(&app);
  AddSimulate(&app);
  AddCompare(&app);
  AddCalibrate(&app);
  AddSummary(&app);
  AddQuery(&app);
  CatchInterrupts();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "error: InvalidArgument: {} (see lanescope --help)\n", error.what());
    return kUsage;
  } catch (const Error& error) {
    return Fail(CodeName(error.code()), error.message());
  } catch (const std::bad_alloc&) {
    return Fail(CodeName(Code::kResourceExhausted),
                "the host has no memory left for this; use a smaller graph or batch");
  } catch (const std::exception& error) {
    return Fail(CodeName(Code::kInternal), error.what());
  }
  return interrupted.load() ? kInterrupted : 0;
}

}  // namespace

const std::atomic<bool>& Interrupted() { return interrupted; }
void OnInterrupt(void (*handler)()) { interrupt_handler.store(handler); }

}  // namespace lanescope::cli

int main(int argc, char** argv) { return lanescope::cli::Main(argc, argv); }
