// SPDX-License-Identifier: Apache-2.0
// The parts of the interface that need no frame.
#include <gtest/gtest.h>
#include <imgui.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "gui/app/bottom_height.h"
#include "gui/app/columns.h"
#include "gui/app/commands.h"
#include "gui/app/format.h"
#include "gui/app/recent_files.h"
#include "gui/app/sql_console.h"
#include "gui/app/theme.h"
#include "gui/app/view_options.h"
#include "gui/platform/png_file.h"
#include "gui/platform/software_raster.h"
#include "tests/gui/app/sample_trace.h"

namespace lanescope::gui {
namespace {

TEST(FormatTest, NumbersReadWell) {
  EXPECT_EQ(AxisText(12250000, 50000), "12.25 ms");
  EXPECT_EQ(AxisText(0, 1000000), "0 ms");
  EXPECT_EQ(CountText(1234567), "1,234,567");
  EXPECT_EQ(CountText(-1234), "-1,234");
  EXPECT_EQ(CountText(999), "999");
}

TEST(ViewOptionsTest, ParsesEveryKey) {
  const ViewOptions options = ParseViewOptions(
      "lanes=copies,runs=1+3,baseline=2,range=2ms..8ms,select=a/"
      "b,search=Mat,tab=diff,colour=device,critical=on,"
      "move=tower_1:GPU:1,fold=threads,set=launch.overhead=0us,set=GPU:0.speed=2,notes=off,help=off");
  EXPECT_EQ(options.runs, (std::vector<int>{1, 3}));
  EXPECT_EQ(options.baseline, 2);
  EXPECT_EQ(options.from_ns, 2000000);
  EXPECT_EQ(options.to_ns, 8000000);
  EXPECT_EQ(options.select, "a/b");
  EXPECT_EQ(options.search, "Mat");
  EXPECT_EQ(options.tab, "diff");
  EXPECT_EQ(options.colour, "device");
  EXPECT_EQ(options.lanes, "copies");
  EXPECT_TRUE(options.critical);
  EXPECT_EQ(options.move_name, "tower_1");
  EXPECT_EQ(options.move_device, "GPU:1");
  EXPECT_EQ(options.fold, "threads");
  EXPECT_EQ(options.changes, (std::vector<std::string>{"launch.overhead=0us", "GPU:0.speed=2"}));
  EXPECT_FALSE(options.notes);
  EXPECT_FALSE(options.help);
  // A name may have commas.
  const ViewOptions named =
      ParseViewOptions("select=void gemm<float, 128, 4>(a,b),set=kernel:f<1,2>.speed=2,tab=sql");
  EXPECT_EQ(named.select, "void gemm<float, 128, 4>(a,b)");
  EXPECT_EQ(named.changes, std::vector<std::string>{"kernel:f<1,2>.speed=2"});
  EXPECT_EQ(named.tab, "sql");
}

TEST(ViewOptionsTest, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"runs=0", "runs=x", "range=3ms", "range=8ms..2ms", "tab=none", "colour=red", "speed=3",
        "select=", "select", "tab=sql,tab=sql", "move=a", "baseline=99999999999", ","}) {
    EXPECT_THROW(ParseViewOptions(text), Error) << text;
  }
}

// Input: rooms from narrow to wide. Law: the parts fill the room, and the value is whole where there is room.
TEST(ColumnsTest, ASliderLeavesItsValueWhole) {
  for (const float room : {100.0f, 156.0f, 260.0f, 400.0f}) {
    const SliderColumns columns = FitSlider(room, 84, 8);
    EXPECT_EQ(columns.value, 84) << room;
    EXPECT_FLOAT_EQ(columns.label + columns.slider + columns.value + 16, room);
    EXPECT_GE(columns.label, columns.slider);
    EXPECT_GE(columns.slider, 0);
  }
  EXPECT_EQ(FitSlider(50, 84, 8).value, 50);
}

// Law: the widest columns give way to one width, such that all fit; the least width stays.
TEST(ColumnsTest, TheWidestColumnsGiveWay) {
  EXPECT_EQ(FitColumns({30, 500, 60}, 600, 20), (std::vector<float>{30, 500, 60}));
  EXPECT_EQ(FitColumns({30, 500, 60}, 290, 20), (std::vector<float>{30, 200, 60}));
  EXPECT_EQ(FitColumns({300, 30, 500}, 230, 20), (std::vector<float>{100, 30, 100}));
  EXPECT_EQ(FitColumns({300, 30, 500}, 60, 25), (std::vector<float>{25, 25, 25}));
  EXPECT_EQ(FitColumns({}, 60, 25), (std::vector<float>{}));
}

// A panel that may be 250 high; what it shows takes 90. Law: it takes what it needs, and as much as it may
// where that is a table; but not while what would move is under the pointer or a button is down, and not once
// it was sized by hand.
TEST(BottomHeightTest, GivesItsRoomAwayUnderNoPointer) {
  BottomNeeds needs;
  needs.chosen = 250;
  needs.content = 90;
  needs.fixed = 30;
  EXPECT_EQ(NextBottomHeight(0, needs), 90);
  EXPECT_EQ(NextBottomHeight(250, needs), 90);
  needs.content = -1;
  EXPECT_EQ(NextBottomHeight(90, needs), 250);
  needs.pointer = 200;  // on a lane that the panel would cover
  EXPECT_EQ(NextBottomHeight(90, needs), 90);
  needs.pointer = 20;  // on a tab, which stays
  EXPECT_EQ(NextBottomHeight(90, needs), 250);
  needs.pointer = 400;
  needs.pressed = true;
  EXPECT_EQ(NextBottomHeight(90, needs), 90);
  needs.pressed = false;
  EXPECT_EQ(NextBottomHeight(90, needs), 250);
  needs.content = 200;  // less than a quarter: not worth it
  EXPECT_EQ(NextBottomHeight(250, needs), 250);
  needs.content = 20;
  needs.by_hand = true;
  EXPECT_EQ(NextBottomHeight(250, needs), 250);
  needs.by_hand = false;
  needs.chosen = 120;  // the window became lower
  needs.content = -1;
  EXPECT_EQ(NextBottomHeight(250, needs), 120);
}

TEST(RecentFilesTest, NewestFirstOnceAndOnlyWhatExists) {
  TestFolder folder;
  const std::string list = folder / "state/lanescope/recent";
  for (const char* name : {"a.db", "b.db"}) std::ofstream(folder / name) << "x";
  AddRecentFile(list, folder / "a.db");
  AddRecentFile(list, folder / "b.db");
  AddRecentFile(list, folder / "a.db");
  EXPECT_EQ(ReadRecentFiles(list), (std::vector<std::string>{folder / "a.db", folder / "b.db"}));
  std::filesystem::remove(folder / "a.db");
  EXPECT_EQ(ReadRecentFiles(list), (std::vector<std::string>{folder / "b.db"}));
  EXPECT_TRUE(ReadRecentFiles(folder / "none").empty());
}

TEST(SqlTest, QuestionsAreLimitedAndOthersStay) {
  EXPECT_EQ(WithLimit(" select 1 ; ", 5), "SELECT * FROM (select 1\n) LIMIT 5");
  EXPECT_EQ(WithLimit("WITH x AS (SELECT 1) SELECT * FROM x -- all", 5),
            "SELECT * FROM (WITH x AS (SELECT 1) SELECT * FROM x -- all\n) LIMIT 5");
  EXPECT_EQ(WithLimit("PRAGMA table_info(x);", 5), "PRAGMA table_info(x)");
}

TEST(CommandsTest, SignsGoByWhatIsWrittenOnTheKey) {
  EXPECT_EQ(CommandOf({.key = 0, .mods = 0, .character = '['}), Command::kFlowBack);
  EXPECT_EQ(CommandOf({.key = 0, .mods = 0, .character = 'F'}), Command::kFocus);
  EXPECT_EQ(CommandOf({.key = 'W', .mods = 0, .character = 0}), Command::kZoomIn);
  EXPECT_EQ(CommandOf({.key = 'F', .mods = 2, .character = 0}), Command::kSearch);
  EXPECT_EQ(CommandOf({.key = 'F', .mods = 0, .character = 0}), std::nullopt);
}

// Law: WCAG asks for a contrast of 4.5 between text and what is behind it.
TEST(ThemeTest, TextHasContrast) {
  const auto luminance = [](ImU32 colour) {
    const ImVec4 c = ImGui::ColorConvertU32ToFloat4(colour);
    const auto linear = [](double v) {
      return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(c.x) + 0.7152 * linear(c.y) + 0.0722 * linear(c.z);
  };
  const auto contrast = [&](ImU32 a, ImU32 b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
  };
  for (const ThemeName name : {ThemeName::kDark, ThemeName::kLight}) {
    const Theme& theme = ThemeOf(name);
    for (const ImU32 colour : {theme.text, theme.text_dim, theme.simulated, theme.emulated, theme.hardware,
                               theme.what_if, theme.good, theme.bad, theme.limit}) {
      EXPECT_GE(contrast(colour, theme.panel), 4.5) << std::hex << colour;
    }
  }
  for (int i = 0; i < 12; ++i) EXPECT_GE(contrast(CategoryColour(i), TextOn(CategoryColour(i))), 4.5) << i;
}

// Input: two triangles that share an edge, half transparent. Law: every pixel of their union is drawn exactly
// once, none outside.
TEST(SoftwareRasterTest, SharedEdgesAreDrawnOnce) {
  ImGui::CreateContext();
  {
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
    io.DisplaySize = ImVec2(40, 40);
    ImGui::NewFrame();
    ImDrawList* list = ImGui::GetBackgroundDrawList();
    list->Flags &= ~ImDrawListFlags_AntiAliasedFill;
    const ImU32 colour = IM_COL32(255, 0, 0, 128);
    const ImVec2 corners[] = {{5.5f, 5.5f}, {30.5f, 8.5f}, {25.5f, 33.5f}, {3.5f, 20.5f}};
    list->AddTriangleFilled(corners[0], corners[1], corners[2], colour);
    list->AddTriangleFilled(corners[0], corners[2], corners[3], colour);
    ImGui::Render();
    const Image image = Rasterize(*ImGui::GetDrawData(), IM_COL32(0, 0, 0, 255));
    int64_t drawn = 0;
    for (int y = 0; y < 40; ++y) {
      for (int x = 0; x < 40; ++x) {
        const uint8_t red = image.pixel(x, y)[0];
        EXPECT_TRUE(red == 0 || red == 128) << x << ", " << y << ": " << int{red};
        drawn += red != 0 ? 1 : 0;
      }
    }
    // The quadrilateral's area by the shoelace formula, up to its boundary pixels.
    double area = 0;
    for (size_t i = 0; i < 4; ++i) {
      const ImVec2 a = corners[i], b = corners[(i + 1) % 4];
      area += (double{a.x} * b.y - double{b.x} * a.y) / 2;
    }
    EXPECT_NEAR(static_cast<double>(drawn), area, 30);
  }
  ImGui::DestroyContext();
}

TEST(PngTest, PicturesSurviveAndBadFilesAreRefused) {
  TestFolder folder;
  Image image(3, 2);
  for (size_t i = 0; i < image.rgba.size(); ++i)
    image.rgba[i] = static_cast<uint8_t>(i % 4 == 3 ? 255 : i * 9);
  WritePng(folder / "a.png", image);
  EXPECT_EQ(ReadPng(folder / "a.png").rgba, image.rgba);
  EXPECT_THROW(ReadPng(folder / "none.png"), Error);
  std::ofstream(folder / "b.png") << "no picture";
  EXPECT_THROW(ReadPng(folder / "b.png"), Error);
  EXPECT_THROW(WritePng(folder / "no/such/folder.png", image), Error);
}

}  // namespace
}  // namespace lanescope::gui
