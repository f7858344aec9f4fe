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

}  // namespace

std::optional<StepText> ParseStepText(std::string_view text) {
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
