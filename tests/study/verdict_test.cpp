#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/comparison.h"

namespace lanescope::study {
namespace {

using testing::HasSubstr;
using testing::Not;

ComparisonRow Predicted(const std::string& strategy, int64_t step_ns, int64_t low_ns, int64_t high_ns) {
  ComparisonRow row;
  row.graph = "g.pbtxt";
  row.strategy = strategy;
  PredictedRow& predicted = row.predicted.emplace();
  predicted.prediction.step_ns = step_ns;
  predicted.prediction.low_ns = low_ns;
  predicted.prediction.high_ns = high_ns;
  return row;
}

ComparisonRow Measured(const std::string& strategy, double step_ns, double noise) {
  ComparisonRow row;
  row.graph = "g.pbtxt";
  row.strategy = strategy;
  MeasuredRow& measured = row.measured.emplace();
  measured.statistics.step_ns.emplace().median = step_ns;
  measured.noise = noise;
  return row;
}

std::string VerdictOn(ComparisonRow a, ComparisonRow b) {
  Comparison comparison;
  comparison.rows.push_back(std::move(a));
  comparison.rows.push_back(std::move(b));
  return Verdict(comparison);
}

// Ranges 95 to 115 and 98 to 125 overlap by 17; the rows differ by 10.
TEST(VerdictTest, CannotTellWhereIntervalsOverlapMoreThanTheyDiffer) {
  EXPECT_THAT(VerdictOn(Predicted("a", 100'000, 95'000, 115'000), Predicted("b", 110'000, 98'000, 125'000)),
              HasSubstr("cannot tell which row is faster"));
}

// They overlap by 5 and differ by 20.
TEST(VerdictTest, TellsWhereTheyDifferMore) {
  EXPECT_THAT(VerdictOn(Predicted("a", 100'000, 90'000, 110'000), Predicted("b", 120'000, 105'000, 130'000)),
              HasSubstr("g b loses 20% against g a"));
}

// Measured rows lie within their noise: 97 to 103 and 99 to 105 overlap by 4 and differ by 2; with a tenth of
// the noise they do not meet.
TEST(VerdictTest, MeasuredRowsLieWithinTheirNoise) {
  EXPECT_THAT(VerdictOn(Measured("a", 100'000, 0.03), Measured("b", 102'000, 0.03)),
              HasSubstr("cannot tell which row is faster"));
  EXPECT_THAT(VerdictOn(Measured("a", 100'000, 0.003), Measured("b", 102'000, 0.003)),
              Not(HasSubstr("cannot tell")));
}

}  // namespace
}  // namespace lanescope::study
