// SPDX-License-Identifier: Apache-2.0
#include "gui/gui.h"

#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "core/base/error.h"

namespace lanescope::cli {
namespace {

struct GuiOptions {
  gui::GuiOptions gui;
  std::string size;
};

constexpr int kMinSide = 200, kMaxSide = 16384;

void ParseSize(const std::string& text, gui::GuiOptions* options) {
  int width = 0, height = 0, used = 0;
  const bool parsed = std::sscanf(text.c_str(), "%5dx%5d%n", &width, &height, &used) == 2;
  if (!parsed || static_cast<size_t>(used) != text.size() || width < kMinSide || height < kMinSide ||
      width > kMaxSide || height > kMaxSide) {
    Throw(Code::kInvalidArgument,
          "--size is '{}'; give WIDTHxHEIGHT in pixels, each from {} to {}, e.g. 1600x900", text, kMinSide,
          kMaxSide);
  }
  options->width = width;
  options->height = height;
}

}  // namespace

void AddGui(CLI::App* app) {
  auto* command =
      app->add_subcommand("gui", "Show traces on a timeline: compare, explain, and change placements");
  auto options = std::make_shared<GuiOptions>();
  command->add_option("trace", options->gui.files,
                      "Traces of lanescope or Nsight Systems (SQLite), files and folders that `import` "
                      "takes; none: the start page");
  command->add_option("--screenshot", options->gui.screenshot, "Write a PNG instead of opening a window");
  command->add_option("--size", options->size, "Size in pixels, WIDTHxHEIGHT (default 1600x900)");
  command->add_option(
      "--view", options->gui.view,
      "What to show, e.g. runs=1+3,range=2ms..8ms,select=NODE,tab=diff (docs/reference/gui.md lists all)");
  command->add_option("--theme", options->gui.theme, "dark or light")
      ->check(CLI::IsMember({"dark", "light"}))
      ->capture_default_str();
  command
      ->add_option("--scale", options->gui.scale, "Pixels per nominal pixel (default: as the desktop says)")
      ->check(CLI::Range(0.5, 4.0));
  AddExample(command, "lanescope gui t.db --view runs=1+2,tab=diff --screenshot diff.png");
  command->callback([options] {
    if (!options->size.empty()) ParseSize(options->size, &options->gui);
    const study::Cancellation::Watch in_order(&Interruption());
    options->gui.interrupted = &Interruption().flag();
    gui::RunGui(options->gui);
  });
}

}  // namespace lanescope::cli
