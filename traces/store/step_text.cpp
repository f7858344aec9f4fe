// SPDX-License-Identifier: Apache-2.0
#include "traces/store/step_text.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace lanescope::traces {
namespace {

constexpr std::string_view kWords[] = {"step", "iteration", "iter", "batch"};
constexpr size_t kMaxText = 60;  // longer ones are messages
constexpr size_t kMaxDigits = 9;
constexpr std::string_view kBeforeNumber = " \t_-#:=.[(", kAfterNumber = " \t\r\n)]}>:;,.#";

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

void DropLast(std::string_view any_of, std::string_view* text) {
  while (!text->empty() && any_of.find(text->back()) != std::string_view::npos) text->remove_suffix(1);
}

// Takes the number that a text ends in off it.
std::string_view TakeNumber(std::string_view* text) {
  size_t digits = 0;
  while (digits < text->size() && IsDigit((*text)[text->size() - 1 - digits])) ++digits;
  const std::string_view number = text->substr(text->size() - digits);
  text->remove_suffix(digits);
  return number;
}

// The second number of "step 3/100" and "step 3 of 100".
void DropTotal(std::string_view* text) {
  std::string_view before = *text;
  if (TakeNumber(&before).empty()) return;
  DropLast(" ", &before);
  if (before.ends_with(" of")) {
    before.remove_suffix(3);
  } else if (before.ends_with('/')) {
    before.remove_suffix(1);
  } else {
    return;
  }
  DropLast(" ", &before);
  if (!before.empty() && IsDigit(before.back())) *text = before;
}

// A character that may stand before a word without a number: "optimizer.step" is a part of one.
bool IsOfTraining(std::string_view before) {
  DropLast(" _", &before);
  return before.empty() || before == "train" || before == "training";
}

// The number that follows `key`; -1: none.
int64_t NumberAfter(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return -1;
  text.remove_prefix(at + key.size());
  size_t digits = 0;
  while (digits < text.size() && digits <= kMaxDigits && IsDigit(text[digits])) ++digits;
  return digits == 0 || digits > kMaxDigits ? -1 : std::stoll(std::string(text.substr(0, digits)));
}

int64_t SumOfKnown(int64_t a, int64_t b) { return a < 0 || b < 0 ? -1 : a + b; }

// "context_0(sq0sk0)_generation_32(sq32sk4096)": of both sides requests, and tokens in brackets, with their
// lengths or alone.
std::optional<StepText> StepOfVllm(std::string_view text) {
  constexpr std::string_view kExecute = "execute_", kContext = "context_", kGeneration = "_generation_";
  constexpr int kIteration = 1;
  if (!text.starts_with(kExecute)) return std::nullopt;
  StepText step{kIteration, -1};
  const size_t middle = text.find(kGeneration);
  if (middle == std::string_view::npos) {
    step.work.prefill = NumberAfter(text, "new_");
    step.work.decode = NumberAfter(text, "cached_");
    return step.work.known() ? std::optional(step) : std::nullopt;
  }
  const auto tokens = [](std::string_view side) {
    const int64_t plain = NumberAfter(side, "(");
    return plain >= 0 ? plain : NumberAfter(side, "(sq");
  };
  const std::string_view context = text.substr(0, middle), generation = text.substr(middle);
  step.work.prefill = NumberAfter(context, kContext);
  step.work.decode = NumberAfter(generation, kGeneration);
  step.work.tokens = SumOfKnown(tokens(context), tokens(generation));
  return step.work.prefill >= 0 && step.work.decode >= 0 ? std::optional(step) : std::nullopt;
}

// "step[EXTEND bs=3 toks=1536]": one mode for all requests of the batch.
std::optional<StepText> StepOfSglang(std::string_view text) {
  constexpr std::string_view kStep = "step[";
  if (!text.starts_with(kStep) || !text.ends_with(']')) return std::nullopt;
  const int64_t requests = NumberAfter(text, " bs=");
  if (requests < 0) return std::nullopt;
  const std::string_view mode = text.substr(kStep.size(), text.find(' ') - kStep.size());
  StepText step{0, -1};
  if (mode == "DECODE") {
    step.work = {0, requests, requests};
  } else if (mode == "EXTEND" || mode == "PREFILL") {
    step.work = {requests, 0, -1};
  }
  if (const int64_t tokens = NumberAfter(text, " toks="); tokens >= 0) step.work.tokens = tokens;
  return step;
}

}  // namespace

std::optional<StepText> ParseStepText(std::string_view text) {
  if (const auto step = StepOfVllm(text)) return step;
  if (const auto step = StepOfSglang(text)) return step;
  if (text.size() > kMaxText) return std::nullopt;
  DropLast(kAfterNumber, &text);
  DropTotal(&text);
  const std::string_view number = TakeNumber(&text);
  if (number.size() > kMaxDigits) return std::nullopt;
  DropLast(kBeforeNumber, &text);
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (size_t rank = 0; rank < std::size(kWords); ++rank) {
    if (!lower.ends_with(kWords[rank])) continue;
    // "Timestep" is another word than "step"; "ProfilerStep" is two.
    const size_t at = lower.size() - kWords[rank].size();
    if (at > 0 && IsLetter(text[at - 1]) && std::isupper(static_cast<unsigned char>(text[at])) == 0) continue;
    if (number.empty() && !IsOfTraining(std::string_view(lower).substr(0, at))) continue;
    StepText result{static_cast<int>(rank), -1};
    if (!number.empty()) result.number = std::stoll(std::string(number));
    return result;
  }
  return std::nullopt;
}

}  // namespace lanescope::traces
