// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.h"

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "cli/command.h"
#include "cli/option_tables.h"
#include "cli/print.h"
#include "core/base/error.h"
#include "core/base/output_file.h"

namespace lanescope::cli {
namespace {

// The day of SOURCE_DATE_EPOCH, which makes builds repeatable; else today.
std::string Date() {
  std::time_t now = std::time(nullptr);
  if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH")) {
    char* end = nullptr;
    const long long seconds = std::strtoll(epoch, &end, 10);
    if (end == epoch || *end != '\0' || seconds < 0 || seconds > 253402300799)
      Throw(Code::kInvalidArgument, "SOURCE_DATE_EPOCH is no number of seconds since 1970: '{}'", epoch);
    now = static_cast<std::time_t>(seconds);
  }
  std::tm day{};
  gmtime_r(&now, &day);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d", &day)};
}

void WritePage(const std::filesystem::path& folder, const std::string& name, const std::string& page) {
  OutputFile file((folder / (name + ".1")).string());
  file.Write(page);
  file.Commit();
}

void WriteManual(const CommandText& program, const std::string& folder) {
  const ManualEdition edition{Date(), LANESCOPE_VERSION};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) Throw(Code::kNotFound, "cannot make the folder {}: {}", folder, error.message());
  WritePage(folder, program.name, ProgramPage(program, edition));
  for (const CommandText& command : program.commands)
    WritePage(folder, program.name + "-" + command.name, CommandPage(program, command, edition));
  Print("{}: {} pages\n", folder, program.commands.size() + 1);
}

}  // namespace

void AddManual(CLI::App* app) {
  auto* command = app->add_subcommand("manual", "Write manual pages of the program and of each command");
  auto folder = std::make_shared<std::string>();
  auto* pages = command->add_option("folder", *folder, "Folder for the pages; made where it is missing");
  auto options = std::make_shared<bool>(false);
  command
      ->add_flag("--options", *options, "Print the options of all commands as one page of Markdown instead")
      ->excludes(pages);
  AddExample(command, "lanescope manual man/man1");
  command->callback([app, folder, options] {
    if (*options) return PrintText(OptionsPage(DescribeCommand(*app)));
    if (folder->empty()) Throw(Code::kInvalidArgument, "say a folder for the pages, or --options");
    WriteManual(DescribeCommand(*app), *folder);
  });
}

}  // namespace lanescope::cli
