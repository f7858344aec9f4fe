// SPDX-License-Identifier: Apache-2.0
// Pictures of the whole interface against recorded ones.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/error.h"
#include "gui/platform/png_file.h"
#include "tests/gui/app/robot.h"
#include "tests/gui/app/synthetic_runs.h"
#include "tests/support/paths.h"

namespace lanescope::gui {
namespace {

constexpr char kRecordedVersion[] = "1.86";
constexpr double kMeanTolerance = 0.5;     // of 255, over all channels
constexpr double kPixelTolerance = 0.004;  // share of pixels that differ visibly
constexpr int kVisible = 48;

// With LANESCOPE_RECORD_GOLDEN=1 in the environment the pictures are written instead.
bool IsRecording() { return std::getenv("LANESCOPE_RECORD_GOLDEN") != nullptr; }

void ExpectLike(const Image& picture, const std::string& name) {
  const std::string path = lanescope::test::SourceDir() + "/tests/golden/gui/" + name + ".png";
  if (IsRecording()) return WritePng(path, picture);
  const Image golden = ReadPng(path);
  ASSERT_EQ(picture.width, golden.width);
  ASSERT_EQ(picture.height, golden.height);
  double sum = 0;
  int64_t visible = 0;
  for (size_t i = 0; i < picture.rgba.size(); i += 4) {
    int largest = 0;
    for (size_t channel = 0; channel < 3; ++channel) {
      const int difference = std::abs(int{picture.rgba[i + channel]} - int{golden.rgba[i + channel]});
      sum += difference;
      largest = std::max(largest, difference);
    }
    visible += largest > kVisible ? 1 : 0;
  }
  const double pixels = static_cast<double>(picture.rgba.size()) / 4;
  const bool alike =
      sum / (pixels * 3) <= kMeanTolerance && static_cast<double>(visible) / pixels <= kPixelTolerance;
  if (alike) return;
  const std::string seen = ::testing::TempDir() + "/" + name + ".png";
  WritePng(seen, picture);
  ADD_FAILURE() << name << ": mean difference " << sum / (pixels * 3) << " of 255, " << visible
                << " pixels differ visibly; what was drawn is in " << seen;
}

class GoldenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Other versions place text a pixel elsewhere, other fonts have other letters.
    if (std::string(IMGUI_VERSION) != kRecordedVersion) {
      GTEST_SKIP() << "recorded with ImGui " << kRecordedVersion << ", this is " << IMGUI_VERSION;
    }
    ASSERT_STREQ(ImGui::GetFont()->GetDebugName(), "DejaVuSans.ttf, 15px") << "install fonts-dejavu-core";
    robot_.document().timeline().Add(MeasuredRun());
    robot_.document().timeline().Add(PredictedRun());
    robot_.Move(2, 2);
    ASSERT_TRUE(robot_.Settle());
  }
  Robot robot_{960, 600};
};

TEST_F(GoldenTest, Dark) { ExpectLike(robot_.Picture(), "dark"); }

TEST_F(GoldenTest, LightWithSelectionAndDiff) {
  robot_.state().theme = ThemeName::kLight;
  robot_.state().selection.SelectOp(robot_.timeline().FindIdentity("tower_1/matmul"));
  robot_.state().show_critical = true;
  robot_.state().tab = Tab::kDiff;
  robot_.state().tab_requested = true;
  ASSERT_TRUE(robot_.Settle());
  ExpectLike(robot_.Picture(), "light_diff");
}

// Law: OpenGL without a display and the software rasteriser draw the same, up to rounding and the edges of
// slanted lines.
TEST_F(GoldenTest, OpenGlDrawsWhatSoftwareDraws) {
  const Image software = robot_.Picture();
  Image opengl;
  try {
    opengl = RenderOffscreen(ImGui::GetDrawData(), robot_.app().background(), Renderer::kOpenGl);
  } catch (const Error& error) {
    GTEST_SKIP() << "no OpenGL without a display here: " << error.what();
  }
  ASSERT_EQ(opengl.rgba.size(), software.rgba.size());
  int64_t visible = 0;
  for (size_t i = 0; i < software.rgba.size(); ++i) {
    visible += std::abs(int{software.rgba[i]} - int{opengl.rgba[i]}) > kVisible ? 1 : 0;
  }
  EXPECT_LT(static_cast<double>(visible), 0.002 * static_cast<double>(software.rgba.size()));
}

// Law: the same input gives the same bits.
TEST_F(GoldenTest, PicturesAreDeterministic) { EXPECT_EQ(robot_.Picture().rgba, robot_.Picture().rgba); }

}  // namespace
}  // namespace lanescope::gui
