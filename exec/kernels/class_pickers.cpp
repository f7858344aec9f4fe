// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/class_pickers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "exec/kernels/random_words.h"

namespace lanescope::exec {
namespace {

constexpr size_t kMaxVocabularyBytes = size_t{1} << 30;
// TensorFlow counts in 32 bits.
constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();

class UniformPicker final : public ClassPicker {
 public:
  explicit UniformPicker(int64_t range) : range_(static_cast<uint64_t>(range)) {}
  int64_t Next(PhiloxWords& words) override { return static_cast<int64_t>(NextBelow(words, range_)); }
  float LikelihoodOf(int64_t) const override { return 1.0f / static_cast<float>(range_); }
  int64_t possible() const override { return static_cast<int64_t>(range_); }

 private:
  uint64_t range_;
};

// The likelihood falls as the logarithm's slope does.
class LogUniformPicker final : public ClassPicker {
 public:
  explicit LogUniformPicker(int64_t range)
      : range_(range), log_range_(std::log1p(static_cast<double>(range))) {}
  int64_t Next(PhiloxWords& words) override {
    return (static_cast<int64_t>(std::exp(NextUnitDouble(words) * log_range_)) - 1) % range_;
  }
  float LikelihoodOf(int64_t number) const override {
    const auto at = static_cast<double>(number);
    return static_cast<float>(std::log((at + 2) / (at + 1)) / log_range_);
  }
  int64_t possible() const override { return range_; }

 private:
  int64_t range_;
  double log_range_;
};

// As often as each class has come up, and once more. Counts are summed in a tree: node i has the counts of
// its low bit's many classes below i.
class LearnedPicker final : public ClassPicker {
 public:
  explicit LearnedPicker(int64_t range)
      : counts_(static_cast<size_t>(range), 1), sums_(static_cast<size_t>(range) + 1, 0), total_(range) {
    for (size_t i = 1; i < sums_.size(); ++i) sums_[i] = static_cast<int64_t>(i & (~i + 1));
  }

  int64_t Next(PhiloxWords& words) override {
    int64_t left = NextBelow(words, static_cast<uint32_t>(total_));
    size_t at = 0, step = 1;
    while (2 * step < sums_.size()) step *= 2;
    for (; step > 0; step /= 2) {
      if (at + step >= sums_.size() || sums_[at + step] > left) continue;
      at += step;
      left -= sums_[at];
    }
    return static_cast<int64_t>(at);
  }
  float LikelihoodOf(int64_t number) const override {
    if (number < 0 || number >= static_cast<int64_t>(counts_.size())) return 0;
    return static_cast<float>(counts_[static_cast<size_t>(number)]) / static_cast<float>(total_);
  }
  int64_t possible() const override { return static_cast<int64_t>(counts_.size()); }
  void Learn(std::span<const int64_t> classes) override {
    for (const int64_t number : classes) {
      if (total_ >= kMaxCount) return;
      if (number < 0 || number >= static_cast<int64_t>(counts_.size())) continue;
      ++counts_[static_cast<size_t>(number)];
      ++total_;
      for (size_t i = static_cast<size_t>(number) + 1; i < sums_.size(); i += i & (~i + 1)) ++sums_[i];
    }
  }

 private:
  std::vector<int64_t> counts_, sums_;
  int64_t total_;
};

// By given weights, with Walker's table: a class is drawn evenly, and stays, or gives way to its alternative.
class FixedPicker final : public ClassPicker {
 public:
  FixedPicker(const Node& node, int64_t range) {
    ReadWeights(node);
    if (static_cast<int64_t>(weights_.size()) != range) {
      Throw(Code::kInvalidArgument, "node '{}': there are weights for {} classes, but range_max is {}",
            node.name, weights_.size(), range);
    }
    if (!(total_ > 0)) Throw(Code::kInvalidArgument, "node '{}': no class has a weight above 0", node.name);
    MakeTable();
  }

  int64_t Next(PhiloxWords& words) override {
    const float chance = UnitFloat(words.Next());
    const auto at = static_cast<size_t>(NextBelow(words, static_cast<uint32_t>(weights_.size())));
    return chance < stays_[at] ? static_cast<int64_t>(at) : alternative_[at];
  }
  float LikelihoodOf(int64_t number) const override {
    if (number < 0 || number >= static_cast<int64_t>(weights_.size())) return 0;
    return weights_[static_cast<size_t>(number)] / total_;
  }
  int64_t possible() const override {
    return std::ranges::count_if(weights_, [](float weight) { return weight > 0; });
  }

 private:
  void Add(const Node& node, float weight) {
    if (!(weight >= 0) || !std::isfinite(weight))
      Throw(Code::kInvalidArgument, "node '{}': a class has the weight {}", node.name, weight);
    weights_.push_back(weight);
    total_ += weight;
  }

  // Reads the weights of a shard alone; reserved classes come first and are never drawn.
  void ReadWeights(const Node& node) {
    const int64_t shards = node.IntAttr("num_shards", 1), shard = node.IntAttr("shard", 0);
    const int64_t reserved = node.IntAttr("num_reserved_ids", 0);
    if (shards < 1 || shard < 0 || shard >= shards || reserved < 0 || reserved > kMaxCount) {
      Throw(Code::kInvalidArgument, "node '{}': shard {} of {}, {} reserved classes", node.name, shard,
            shards, reserved);
    }
    const float distortion = node.FloatAttr("distortion", 1);
    for (int64_t i = 0; i < reserved; ++i) {
      if (i % shards == shard) weights_.push_back(0);
    }
    auto id = static_cast<int64_t>(weights_.size());
    const auto add = [&](float weight) {
      if (id++ % shards == shard) Add(node, std::pow(weight, distortion));
    };
    const std::string file = node.StringAttr("vocab_file", "");
    std::vector<float> unigrams;
    if (const AttrValue* given = node.FindAttr("unigrams")) {
      if (const auto* floats = std::get_if<std::vector<float>>(given)) unigrams = *floats;
    }
    if (file.empty() == unigrams.empty()) {
      Throw(Code::kInvalidArgument, "Must provide either vocab_file or unigrams, but not both.");
    }
    for (const float weight : unigrams) add(weight);
    if (!file.empty()) ReadVocabulary(file, add);
  }

  // Lines of fields between commas, the last of which is a weight.
  template <typename Add>
  static void ReadVocabulary(const std::string& file, const Add& add) {
    const std::string text = ReadFile(file, kMaxVocabularyBytes);
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line(text.data() + at, end - at);
      at = end + 1;
      if (line.ends_with('\r')) line.remove_suffix(1);
      const size_t comma = line.rfind(',');
      const std::string_view field = comma == std::string_view::npos ? line : line.substr(comma + 1);
      float weight = 0;
      const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), weight);
      if (error != std::errc() || stop != field.data() + field.size())
        Throw(Code::kInvalidArgument, "Wrong vocabulary format at line: {}", line);
      add(weight);
    }
  }

  void MakeTable() {
    const size_t n = weights_.size();
    double sum = 0;
    for (const float weight : weights_) sum += static_cast<double>(weight);
    std::vector<double> shares;
    std::vector<size_t> low, high;
    for (size_t i = 0; i < n; ++i) {
      shares.push_back(static_cast<double>(weights_[i] * static_cast<float>(n)) / sum);
      (shares[i] < 1 ? low : high).push_back(i);
    }
    alternative_.assign(n, -1);
    while (!high.empty() && !low.empty()) {
      const size_t l = low.back(), h = high.back();
      low.pop_back();
      high.pop_back();
      alternative_[l] = static_cast<int64_t>(h);
      shares[h] -= 1 - shares[l];
      (shares[h] < 1 ? low : high).push_back(h);
    }
    stays_.assign(shares.begin(), shares.end());
    // Entries that rounding has left over stay.
    for (const std::vector<size_t>& rest : {high, low}) {
      for (const size_t i : rest) {
        stays_[i] = 1;
        alternative_[i] = static_cast<int64_t>(i);
      }
    }
  }

  std::vector<float> weights_;
  float total_ = 0;
  std::vector<float> stays_;
  std::vector<int64_t> alternative_;
};

}  // namespace

std::unique_ptr<ClassPicker> MakeClassPicker(const Node& node, int64_t range) {
  if (node.op == "UniformCandidateSampler") return std::make_unique<UniformPicker>(range);
  if (node.op == "LogUniformCandidateSampler") return std::make_unique<LogUniformPicker>(range);
  if (range >= kMaxCount)
    Throw(Code::kInvalidArgument, "node '{}': a range of {} classes is too large to be counted", node.name,
          range);
  if (node.op == "FixedUnigramCandidateSampler") return std::make_unique<FixedPicker>(node, range);
  return std::make_unique<LearnedPicker>(range);
}

}  // namespace lanescope::exec
