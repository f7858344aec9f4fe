// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/batch_rule.h"

#include <algorithm>
#include <numeric>

namespace lanescope {
std::vector<size_t> BatchRule::All() const {
  std::vector<size_t> all(num_inputs());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

void BatchRule::Take(size_t i, int degree) {
  const BatchPart& given = in(i);
  if (!given.is_known) return;
  BatchPart& taken = choice_.inputs[i];
  taken.layout = given.is_terms() ? kWhole : given.layout;
  taken.degree = degree;
}

void BatchRule::TakeAllPlain() {
  for (size_t i = 0; i < num_inputs(); ++i) TakePlain(i);
}

BatchPart BatchRule::TakeAlike(const std::vector<size_t>& inputs) {
  const auto counts = [&](size_t i) { return query_.is_zero[i] == 0 && in(i).is_known; };
  bool rows = false, terms = false, known = false;
  for (const size_t i : inputs) {
    rows = rows || in(i).layout.parts();
    terms = terms || in(i).is_terms();
    known = known || counts(i);
  }
  BatchPart made;
  made.is_known = known || std::ranges::all_of(inputs, [&](size_t i) { return in(i).is_known; });
  const bool mixed =
      terms && std::ranges::any_of(inputs, [&](size_t i) { return counts(i) && in(i).is_same(); });
  if (mixed && !HasShares(info(inputs[0]).dtype)) {  // no integer is a share of itself
    for (const size_t i : inputs) TakePlain(i);
    return made;
  }
  // A tensor that is the same in n parts is n times its own term.
  const auto degree_of = [&](size_t i) { return in(i).degree + (terms && !rows && in(i).is_same() ? 1 : 0); };
  bool first = true;
  for (const size_t i : inputs) {
    if (!counts(i)) continue;
    made.degree = first ? degree_of(i) : std::max(made.degree, degree_of(i));
    made.counts_rows = made.counts_rows || in(i).counts_rows;
    first = false;
  }
  for (const size_t i : inputs) {
    if (!counts(i)) continue;
    if (rows) {
      Take(i, made.degree);
    } else if (degree_of(i) != made.degree) {
      choice_.inputs[i].degree = made.degree;
      if (terms) choice_.inputs[i].layout = kTerms;
    }
  }
  if (terms && !rows) made.layout = kTerms;
  return made;
}

BatchPart BatchRule::TakeFactors(const std::vector<size_t>& inputs) {
  const bool rows = std::ranges::any_of(inputs, [&](size_t i) { return in(i).layout.parts(); });
  // One factor may stay in terms: one that cannot be had of the feeds, and else the largest.
  size_t kept = num_inputs();
  const auto rank = [&](size_t i) {
    const Shape& shape = info(i).shape;
    return std::pair(query_.is_fed[i] == 0, shape.known_rank() && shape.IsExact() ? shape.NumElements() : 0);
  };
  for (const size_t i : inputs) {
    if (!rows && in(i).is_terms() && (kept == num_inputs() || rank(i) > rank(kept))) kept = i;
  }
  BatchPart made;
  for (const size_t i : inputs) {
    made.is_known = made.is_known && in(i).is_known;
    made.counts_rows = made.counts_rows || in(i).counts_rows;
    if (in(i).is_terms() && i != kept) {
      // Their mean is as good as their sum, and a loss of many parts then has it as its own degree.
      Take(i, HasShares(info(i).dtype) ? in(i).degree - 1 : 0);
    }
    made.degree += choice_.inputs[i].degree;
  }
  if (kept != num_inputs()) made.layout = kTerms;
  return made;
}

bool BatchRule::AnyRows() const {
  return std::ranges::any_of(query_.parts, [](const BatchPart& part) { return part.layout.parts(); });
}

// As the inputs' rows have them, those at the same axis first.
int64_t BatchRule::SegmentsAt(int axis) const {
  int64_t segments = 0;
  for (const BatchPart& part : query_.parts) {
    if (!part.layout.parts()) continue;
    if (part.layout.axis == axis) return part.layout.segments;
    if (segments == 0) segments = part.layout.segments;
  }
  return std::max<int64_t>(segments, 1);
}

std::optional<int> BatchRule::AxisOfRows(size_t k) {
  const auto& cut = query_.cut[k];
  if (!cut || cut->empty()) return std::nullopt;
  if (cut->size() > 1) Fail("sets rows of the batch against each other");
  return cut->front();
}

bool BatchRule::AllAlike() const {
  return std::ranges::all_of(query_.parts,
                             [](const BatchPart& part) { return part.is_same() || part.is_alike; });
}

void BatchRule::Give(size_t k, const BatchPart& made, Vanishing vanishing) {
  BatchPart& out = choice_.outputs[k];
  out = made;
  if (!query_.cut[k]) {  // the shape is not known
    out.is_known = out.is_known && !AnyRows();
    return;
  }
  if (const auto axis = AxisOfRows(k)) {
    if (made.is_terms() && !AnyRows()) Fail("spreads a part of a sum over rows of the batch");
    out.layout = InParts(*axis, SegmentsAt(*axis));
    out.is_known = true;
    out.is_alike = AllAlike();
    return;
  }
  out.counts_rows = false;
  out.is_alike = false;
  if (!AnyRows()) return;
  if (AllAlike()) {  // every part has the same sum, an n-th of the batch's
    out.layout = kWhole;
    if (vanishing == Vanishing::kAddsUp) --out.degree;
    return;
  }
  if (vanishing == Vanishing::kIsProblem) Fail("takes some rows of the batch");
  out.layout = kTerms;
}

void BatchRule::GiveAll(const BatchPart& made, Vanishing vanishing) {
  for (size_t k = 0; k < num_outputs(); ++k) Give(k, made, vanishing);
}

}  // namespace lanescope
