// SPDX-License-Identifier: Apache-2.0
// Summaries: serialized messages of named numbers (TensorFlow's Summary), and several of them joined.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "core/base/protobuf_wire.h"
#include "exec/kernels/string_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Fields of Summary and of Summary.Value.
constexpr int kValueField = 1, kTagField = 1, kSimpleValueField = 2, kHistogramField = 5;

// To the next field of what a summary holds.
bool NextField(WireReader* message) {
  const bool found = message->Next();
  if (message->is_damaged()) Throw(Code::kInvalidArgument, "Could not parse one of the summary inputs");
  return found;
}

// The tags of a summary's values.
std::vector<std::string> TagsOf(std::string_view message) {
  std::vector<std::string> tags;
  WireReader summary(message);
  while (NextField(&summary)) {
    if (summary.field() != kValueField) continue;
    std::string tag;
    WireReader value(summary.bytes());
    while (NextField(&value)) {
      if (value.field() == kTagField) tag = value.bytes();
    }
    tags.push_back(std::move(tag));
  }
  return tags;
}

float FloatAt(const TensorRef& values, int64_t i) {
  float value = 0;
  DispatchNumber("ScalarSummary", values.dtype,
                 [&]<typename T>(T) { value = static_cast<float>(values.as<T>()[i]); });
  return value;
}

void ScalarSummary(KernelContext& context) {
  const TensorRef &tags = context.input(0), &values = context.input(1);
  const bool one = tags.NumElements() == 1 && values.NumElements() == 1;
  if (tags.shape != values.shape && !one) {
    Throw(Code::kInvalidArgument, "tags and values are not the same shape: {} != {}{}", tags.shape.ToString(),
          values.shape.ToString(),
          tags.NumElements() == 1 ? fmt::format(" (tag '{}')", *tags.as<std::string>()) : std::string());
  }
  WireWriter summary;
  for (int64_t i = 0; i < tags.NumElements(); ++i) {
    summary.Nested(kValueField, WireWriter()
                                    .Bytes(kTagField, tags.as<std::string>()[i])
                                    .Fixed32(kSimpleValueField, std::bit_cast<uint32_t>(FloatAt(values, i))));
  }
  ShapeOutput(context, 0, {});
  *context.output().as<std::string>() = summary.bytes();
}

void AppendDouble(std::string& out, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(bits >> shift & 0xFF);
}

// How many values lie below each of TensorFlow's limits, which grow by a tenth from 1e-12 on to both sides.
class Histogram {
 public:
  Histogram() : counts_(Limits().size(), 0.0) {}

  void Add(double value) {
    const auto above = std::ranges::upper_bound(Limits(), value);
    const auto at = std::min<ptrdiff_t>(above - Limits().begin(), std::ssize(counts_) - 1);
    ++counts_[static_cast<size_t>(at)];
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
    ++count_;
    sum_ += value;
    squares_ += value * value;
  }

  // HistogramProto: least, most, count, sum, sum of squares, limits, counts; runs of nothing are one.
  WireWriter Serialized() const {
    WireWriter out;
    const double figures[] = {least_, most_, count_, sum_, squares_};
    for (int i = 0; i < 5; ++i) {
      if (std::bit_cast<uint64_t>(figures[i]) == 0) continue;  // the default, which is not written
      out.Fixed(i + 1, std::bit_cast<uint64_t>(figures[i]));
    }
    std::string limits, counts;
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] == 0) {
        while (i + 1 < counts_.size() && counts_[i + 1] == 0) ++i;
      }
      AppendDouble(limits, Limits()[i]);
      AppendDouble(counts, counts_[i]);
    }
    return out.Bytes(6, limits).Bytes(7, counts);
  }

 private:
  static const std::vector<double>& Limits() {
    static const std::vector<double> limits = [] {
      std::vector<double> positive, all;
      for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
      positive.push_back(std::numeric_limits<double>::max());
      for (size_t i = positive.size(); i-- > 0;) all.push_back(-positive[i]);
      all.push_back(0);
      all.insert(all.end(), positive.begin(), positive.end());
      return all;
    }();
    return limits;
  }

  std::vector<double> counts_;
  double least_ = std::numeric_limits<double>::max(), most_ = std::numeric_limits<double>::lowest();
  double count_ = 0, sum_ = 0, squares_ = 0;
};

class HistogramSummaryKernel final : public Kernel {
 public:
  explicit HistogramSummaryKernel(const Node& node) : name_(node.name) {}

  void Compute(KernelContext& context) override {
    const TensorRef &tag = context.input(0), &values = context.input(1);
    if (tag.NumElements() != 1) Throw(Code::kInvalidArgument, "tag must be scalar");
    Histogram histogram;
    DispatchNumber("HistogramSummary", values.dtype, [&]<typename T>(T) {
      for (int64_t i = 0; i < values.NumElements(); ++i) {
        const auto value = static_cast<double>(values.as<T>()[i]);
        if (!std::isfinite(value)) {
          Throw(Code::kInvalidArgument, "{} in summary histogram for: {}",
                std::isnan(value) ? "Nan" : "Infinity", name_);
        }
        histogram.Add(value);
      }
    });
    WireWriter value, summary;
    value.Bytes(kTagField, *tag.as<std::string>()).Nested(kHistogramField, histogram.Serialized());
    summary.Nested(kValueField, value);
    ShapeOutput(context, 0, {});
    *context.output().as<std::string>() = summary.bytes();
  }

 private:
  std::string name_;
};

void MergeSummary(KernelContext& context) {
  std::string merged;
  std::set<std::string> tags;
  for (int input = 0; input < context.num_inputs(); ++input) {
    const TensorRef& summaries = context.input(input);
    for (int64_t i = 0; i < summaries.NumElements(); ++i) {
      const std::string& summary = summaries.as<std::string>()[i];
      for (const std::string& tag : TagsOf(summary)) {
        if (!tag.empty() && !tags.insert(tag).second) {
          Throw(Code::kInvalidArgument, "Duplicate tag {} found in summary inputs", tag);
        }
      }
      merged += summary;
    }
  }
  ShapeOutput(context, 0, {});
  *context.output().as<std::string>() = std::move(merged);
}

}  // namespace

void RegisterSummaryKernels(KernelRegistry& registry) {
  registry.Register("ScalarSummary", MakeFunctionKernel<ScalarSummary>);
  registry.Register("HistogramSummary", MakeKernel<HistogramSummaryKernel>);
  registry.Register("MergeSummary", MakeFunctionKernel<MergeSummary>);
}

}  // namespace lanescope::exec
