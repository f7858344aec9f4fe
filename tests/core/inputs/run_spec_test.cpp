// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/run_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "tests/core/base/expect_error.h"
#include "tests/support/paths.h"

namespace lanescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

RunSpec Parse(const std::string& json) { return ParseRunSpec(json, testing::TempDir()); }
std::string ParseError(const std::string& json) {
  return ErrorOf([&] { Parse(json); });
}
RunSpec WithFeed(const std::string& feed) { return Parse("{\"feeds\": {\"x\": " + feed + "}}"); }
std::string FeedError(const std::string& feed) {
  return ErrorOf([&] { WithFeed(feed); });
}
template <typename T>
std::vector<T> Values(const Tensor& tensor) {
  return std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.NumElements());
}

TEST(RunSpec, ReadsEveryKey) {
  const RunSpec spec = Parse(R"({"init": ["i"], "fetches": ["f:0"], "targets": ["t"], "loss": "f:0",
      "feeds": {"x": {"dtype": "int32", "values": [[1, 2], [3, 4]]}}, "batch_axis": {"x": 1},
      "trips": {"while": 7}})");
  EXPECT_THAT(spec.init, ElementsAre("i"));
  EXPECT_THAT(spec.fetches, ElementsAre("f:0"));
  EXPECT_THAT(spec.targets, ElementsAre("t"));
  EXPECT_EQ(spec.loss, "f:0");
  EXPECT_EQ(spec.batch_axis.at("x"), 1);
  EXPECT_EQ(spec.trips.at("while"), 7);
  EXPECT_EQ(spec.feeds.at("x").shape, (Shape{2, 2}));
  EXPECT_THAT(Values<int32_t>(spec.feeds.at("x").values), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(Parse("{}").fetches.empty());
}

TEST(RunSpec, ErrorsNameTheKey) {
  EXPECT_THAT(ParseError("{\"feeds\": "), AllOf(HasSubstr("InvalidArgument"), HasSubstr("line 1")));
  EXPECT_THAT(ParseError("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(ParseError(R"({"fetchs": []})"), HasSubstr("'fetchs'"));
  EXPECT_THAT(ParseError(R"({"init": [1]})"), HasSubstr("'init'"));
  EXPECT_THAT(ParseError(R"({"init": "a"})"), HasSubstr("'init'"));
  EXPECT_THAT(ParseError(R"({"loss": 1})"), HasSubstr("'loss'"));
  EXPECT_THAT(ParseError(R"({"feeds": []})"), HasSubstr("feeds"));
  EXPECT_THAT(ParseError(R"({"batch_axis": {"x": 0}})"), HasSubstr("'x'"));
  EXPECT_THAT(ParseError(R"({"trips": {"while": -1}})"), HasSubstr("'while'"));
  EXPECT_THAT(ParseError(R"({"feeds": {"x": {"values": [1]}}, "batch_axis": {"x": 1}})"),
              HasSubstr("from 0 to 0"));
  EXPECT_THAT(ParseError(R"({"feeds": {"x": {"values": 1}}, "batch_axis": {"x": 0}})"),
              HasSubstr("without axes"));
}

TEST(RunSpec, FixedValuesOfEveryType) {
  const auto values = [](const std::string& feed) { return WithFeed(feed).feeds.at("x").values; };
  EXPECT_THAT(Values<float>(values(R"({"values": [1, 2.5]})")), ElementsAre(1.0f, 2.5f));
  EXPECT_THAT(Values<double>(values(R"({"dtype": "float64", "values": 0.1})")), ElementsAre(0.1));
  EXPECT_THAT(Values<int64_t>(values(R"({"dtype": "int64", "values": [-9223372036854775808]})")),
              ElementsAre(std::numeric_limits<int64_t>::min()));
  EXPECT_THAT(Values<bool>(values(R"({"dtype": "bool", "values": [true, 0]})")), ElementsAre(true, false));
  EXPECT_THAT(Values<std::string>(values(R"({"dtype": "string", "values": ["a"]})")), ElementsAre("a"));
  EXPECT_EQ(values(R"({"values": [1, 2, 3, 4], "shape": [2, 2]})").shape(), (Shape{2, 2}));
  EXPECT_EQ(values(R"({"values": [], "shape": [0, 2]})").shape(), (Shape{0, 2}));
}

TEST(RunSpec, WrongValuesAreRefused) {
  EXPECT_THAT(FeedError(R"({"values": [1, 2], "shape": [3]})"), HasSubstr("2 values"));
  EXPECT_THAT(FeedError(R"({"values": [[1, 2], [3]]})"), HasSubstr("rectangular"));
  EXPECT_THAT(FeedError(R"({"values": [1, [2]]})"), HasSubstr("rectangular"));
  EXPECT_THAT(FeedError(R"({"values": [[[[[[[[[1]]]]]]]]]})"), HasSubstr("8 deep"));
  EXPECT_THAT(FeedError(R"({"values": ["a"]})"), HasSubstr("numbers"));
  EXPECT_THAT(FeedError(R"({"values": {}})"), HasSubstr("numbers"));
  EXPECT_THAT(FeedError(R"({"dtype": "int32", "values": [2147483648]})"), HasSubstr("integers of its dtype"));
  EXPECT_THAT(FeedError(R"({"dtype": "uint8", "values": [-1]})"), HasSubstr("integers of its dtype"));
  EXPECT_THAT(FeedError(R"({"dtype": "int64", "values": [9223372036854775808]})"), HasSubstr("integers"));
  EXPECT_THAT(FeedError(R"({"dtype": "bool", "values": [2]})"), HasSubstr("true and false"));
  EXPECT_THAT(FeedError(R"({"dtype": "complex64", "values": [2]})"), HasSubstr("'dtype'"));
  EXPECT_THAT(FeedError(R"({"values": [1], "shape": [1e3]})"), HasSubstr("'shape'"));
  EXPECT_THAT(FeedError(R"({"values": [1], "shape": [99999999999, 99999999999]})"), HasSubstr("'shape'"));
  EXPECT_THAT(FeedError(R"({"values": [1], "seed": 1})"), HasSubstr("'seed' is not known here"));
  EXPECT_THAT(FeedError(R"({"dtype": "float32"})"), HasSubstr("one of them only"));
  EXPECT_THAT(FeedError(R"({"values": [1], "file": "x.npy"})"), HasSubstr("one of them only"));
}

TEST(RunSpec, ASeedMayBeLeftToTheRun) {
  const RunSpec spec = ParseRunSpec(R"({"feeds": {
      "a": {"dtype": "float32", "shape": [2], "generator": "uniform", "low": 0, "high": 1},
      "b": {"dtype": "float32", "shape": [2], "generator": "uniform", "low": 0, "high": 1, "seed": 5}}})",
                                    "");
  EXPECT_FALSE(spec.feeds.at("a").has_seed);
  EXPECT_TRUE(spec.feeds.at("b").has_seed);
}

TEST(RunSpec, WrongGeneratorsAreRefused) {
  const std::string uniform = R"("shape": [2], "generator": "uniform", "low": 0, )";
  EXPECT_THAT(FeedError("{" + uniform + R"("high": 1, "seed": -1})"), HasSubstr("'seed'"));
  EXPECT_THAT(FeedError("{" + uniform + R"("high": -1, "seed": 1})"), HasSubstr("'high'"));
  EXPECT_THAT(FeedError("{" + uniform + R"("high": "x", "seed": 1})"), HasSubstr("'high' must be a number"));
  EXPECT_THAT(FeedError("{" + uniform + R"("high": 1, "seed": 1, "dtype": "string"})"), HasSubstr("'dtype'"));
  EXPECT_THAT(FeedError(R"({"generator": "uniform", "low": 0, "high": 1, "seed": 1})"), HasSubstr("'shape'"));
  EXPECT_THAT(FeedError(R"({"generator": "normal", "shape": []})"), HasSubstr("'generator'"));
  EXPECT_THAT(FeedError(R"({"generator": "integers", "shape": [1], "low": 0, "high": 0.5, "seed": 1})"),
              HasSubstr("whole number"));
  EXPECT_THAT(FeedError(R"({"generator": "polynomial", "shape": [1], "of": "y", "coefficients": [1]})"),
              HasSubstr("'of'"));
  EXPECT_THAT(FeedError(R"({"generator": "polynomial", "shape": [1], "of": "x", "coefficients": [1]})"),
              HasSubstr("no polynomial"));
  EXPECT_THAT(FeedError(R"({"generator": "review_rating", "shape": [1], "classes": 1, "seed": 1})"),
              HasSubstr("'classes'"));
  EXPECT_THAT(FeedError(R"({"generator": "review", "shape": [2], "dtype": "string", "vocabulary": 9,
      "classes": 2, "block": 3, "signal": 0.5, "tower": 0, "seed": 1})"),
              HasSubstr("'shape'"));
}

TEST(Feeds, HashedValuesAreThoseOfThePublishedArithmetic) {
  const RunSpec spec = Parse(R"({"feeds": {
      "x": {"dtype": "float32", "shape": [4], "generator": "uniform", "low": -10.0, "high": 10.0, "seed": 7},
      "y": {"dtype": "float32", "shape": [4], "generator": "polynomial", "of": "x", "coefficients": [3, 0, 5]},
      "i": {"dtype": "int64", "shape": [2, 3], "generator": "integers", "low": -3, "high": 9, "seed": 11},
      "j": {"dtype": "int32", "shape": [6], "generator": "integers", "low": 0, "high": 10,
            "seed": 18446744073709551615},
      "d": {"dtype": "float64", "shape": [3], "generator": "uniform", "low": -1.5, "high": 2.25, "seed": 5},
      "r": {"dtype": "string", "shape": [2, 5], "generator": "review", "vocabulary": 90000, "classes": 5,
            "signal": 0.2, "block": 100, "tower": 1, "seed": 20180429},
      "l": {"dtype": "float32", "shape": [4, 1], "generator": "review_rating", "classes": 5,
            "seed": 20180429}}})");
  const std::map<std::string, Tensor> feeds = MakeFeeds(spec, 3);
  EXPECT_THAT(Values<float>(feeds.at("x")),
              ElementsAre(-0x1.766926p+2f, 0x1.374a8ap+0f, -0x1.37df3p+1f, 0x1.95038ep+2f));
  EXPECT_THAT(Values<float>(feeds.at("y")),
              ElementsAre(0x1.5c3eap+7f, 0x1.4c93dep+3f, 0x1.057606p+5f, 0x1.967aa8p+7f));
  EXPECT_THAT(Values<int64_t>(feeds.at("i")), ElementsAre(7, -2, 3, 2, 5, 4));
  EXPECT_THAT(Values<int32_t>(feeds.at("j")), ElementsAre(2, 5, 0, 7, 5, 7));
  EXPECT_THAT(Values<double>(feeds.at("d")),
              ElementsAre(0x1.1f3d1aaadc9c1p+1, 0x1.62571f687c702p+0, 0x1.543e528f06cp-1));
  EXPECT_THAT(Values<std::string>(feeds.at("r")),
              ElementsAre("7298", "445", "3", "145", "5596", "423", "15050", "605", "147", "29474"));
  EXPECT_THAT(Values<float>(feeds.at("l")), ElementsAre(1.75f, 3.0f, 1.25f, 1.0f));
  EXPECT_EQ(feeds.at("l").shape(), (Shape{4, 1}));
}

TEST(Feeds, ConversionsStayInsideTheType) {
  const RunSpec spec = WithFeed(R"({"dtype": "uint8", "shape": [100], "generator": "uniform", "low": -1000,
                                    "high": 1000, "seed": 1})");
  const std::vector<uint8_t> values = Values<uint8_t>(MakeFeeds(spec, 0).at("x"));
  EXPECT_THAT(values, testing::Contains(0));
  EXPECT_THAT(values, testing::Contains(255));
}

class RunFiles : public testing::Test {
 protected:
  RunFiles() {
    std::filesystem::create_directories(directory_ / "sub");
    WriteNpy(Tensor::FromValues<float>({2}, {1, 2}), (directory_ / "sub/x.npy").string());
    WriteNpy(Tensor::FromValues<float>({2}, {1, 2}), (directory_.parent_path() / outside_).string());
  }
  ~RunFiles() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::remove(directory_.parent_path() / outside_);
  }
  RunSpec Read(const std::string& feed) const {
    return ParseRunSpec("{\"feeds\": {\"x\": " + feed + "}}", directory_.string());
  }

  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) / ("run_files." + std::to_string(getpid()));
  const std::string outside_ = "outside." + std::to_string(getpid()) + ".npy";
};

TEST_F(RunFiles, FeedsComeFromFilesBesideTheConfiguration) {
  const FeedSpec feed = Read(R"({"file": "sub/x.npy"})").feeds.at("x");
  EXPECT_EQ(feed.shape, Shape{2});
  EXPECT_EQ(feed.dtype, DataType::kFloat);
  EXPECT_THAT(ErrorOf([&] { Read(R"({"file": "sub/x.npy", "dtype": "int32"})"); }), HasSubstr("'dtype'"));
  EXPECT_THAT(ErrorOf([&] { Read(R"({"file": "sub/x.npy", "shape": [3]})"); }), HasSubstr("'shape'"));
  EXPECT_THAT(ErrorOf([&] { Read(R"({"file": "sub/none.npy"})"); }), HasSubstr("NotFound"));
}

TEST_F(RunFiles, NoFileOutsideTheFolderIsOpened) {
  std::filesystem::create_symlink(directory_.parent_path() / outside_, directory_ / "link.npy");
  for (const std::string& file : {"../" + outside_, (directory_ / "sub/x.npy").string(),
                                  "sub/../../" + outside_, std::string("link.npy")}) {
    EXPECT_THAT(ErrorOf([&] { Read("{\"file\": \"" + file + "\"}"); }),
                AllOf(HasSubstr("InvalidArgument"), HasSubstr("'file'")))
        << file;
  }
}

TEST_F(RunFiles, TheConfigurationStandsBesideTheGraph) {
  WriteFile((directory_ / "g.run.json").string(),
            R"({"fetches": ["f"], "feeds": {"x": {"file": "sub/x.npy"}}})");
  EXPECT_THAT(ReadRunSpecBeside((directory_ / "g.pbtxt").string()).fetches, ElementsAre("f"));
  EXPECT_TRUE(ReadRunSpecBeside((directory_ / "other.pbtxt").string()).fetches.empty());
  WriteFile((directory_ / "bad.run.json").string(), "{");
  EXPECT_THAT(ErrorOf([&] { ReadRunSpecBeside((directory_ / "bad.pb").string()); }),
              HasSubstr("bad.run.json"));
}

double AsDouble(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DataType::kFloat:
      return tensor.data<float>()[i];
    case DataType::kString:
      return std::stod(tensor.data<std::string>()[i]);
    default:
      return static_cast<double>(tensor.IntAt(i));
  }
}

// The sample configurations, against values that the Python implementation of the same arithmetic recorded.
TEST(Feeds, SampleConfigurationsGiveTheRecordedValues) {
  const std::filesystem::path root(test::SourceDir());
  const auto golden = nlohmann::json::parse(ReadFile((root / "tests/golden/feeds.json").string()));
  for (const auto& record : golden.at("records")) {
    const std::string file = record.at("run").get<std::string>();
    SCOPED_TRACE(file);
    const RunSpec spec = ParseRunSpec(ReadFile((root / "samples/graphs" / file).string()), "");
    const std::map<std::string, Tensor> feeds = MakeFeeds(spec, record.at("step").get<int64_t>());
    ASSERT_EQ(feeds.size(), record.at("feeds").size());
    for (const auto& [name, expected] : record.at("feeds").items()) {
      const Tensor& tensor = feeds.at(name);
      EXPECT_EQ(NumpyName(tensor.dtype()), expected.at("dtype").get<std::string>());
      for (size_t i = 0; i < expected.at("indices").size(); ++i) {
        const auto& value = expected.at("values")[i];
        const double wanted = value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
        const double got = AsDouble(tensor, expected.at("indices")[i].get<int64_t>());
        // Nine digits, as recorded, tell every float from its neighbours.
        EXPECT_EQ(static_cast<float>(got), static_cast<float>(wanted)) << name;
      }
      double sum = 0;
      for (int64_t i = 0; i < tensor.NumElements(); ++i) sum += AsDouble(tensor, i);
      const auto wanted = expected.at("sum").get<double>();
      EXPECT_NEAR(sum, wanted, 1e-9 * std::max(1.0, std::abs(wanted))) << name;
    }
  }
}

}  // namespace
}  // namespace lanescope
