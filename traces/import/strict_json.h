// SPDX-License-Identifier: Apache-2.0
// JSON as programs write it by hand, made JSON. Internal to traces.
#pragma once

#include <cstdint>
#include <functional>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

namespace lanescope::traces {

// Gives what another buffer gives, mended where that is no JSON and what is meant is plain:
// * A text with a backslash that begins no escape (a path of Windows): all its backslashes are itself.
// * A quote in a text that nothing follows which may stand behind one: itself.
// * A control character in a text, bytes that are no UTF-8, and half a pair of UTF-16: the character, and
//   U+FFFD.
// * NaN and the infinities, as any of C's libraries print them: null.
// * A comma behind the last value, and a list of events, or the object around it, that the file leaves open
//   behind a whole event: the format of trace events allows that. An event that is cut off is left out.
// Not thread-safe.
class StrictJson : public std::streambuf {
 public:
  // The source must outlive it. It says how long a text may get: one is held until it ends.
  // `has_events`: whether the list that is open at the end had events before what the source gives.
  explicit StrictJson(std::streambuf* source, std::function<bool()> has_events = {})
      : source_(*source), has_events_(std::move(has_events)) {}

  // Texts, words and commas that were mended.
  int64_t mended() const { return mended_; }
  // Whether the file ended within its list, or its object; not among those.
  bool closed() const { return closed_; }

 protected:
  int_type underflow() override;

 private:
  enum class State : uint8_t { kOutside, kText, kEscape, kAfterQuote, kAfterText, kWord };

  void Take(char c);
  void TakeOutside(char c);
  void TakeText(char c);
  void TakeAfterText(char c);
  void EndText();
  void EndWord();
  void EndComma();
  void End();
  bool AmongEvents() const;

  std::streambuf& source_;
  const std::function<bool()> has_events_;
  std::string given_, out_, text_, word_;
  std::string after_;                 // the blanks behind a quote that may end a text
  size_t event_ = std::string::npos;  // where in `out_` the event begins that is open
  int64_t events_ = 0;                // that have ended
  std::string comma_;                 // that may be one too many, and the blanks behind it
  std::vector<char> open_;            // brackets
  State state_ = State::kOutside;
  char last_ = 0;  // that is no space, outside of texts
  bool ended_ = false, closed_ = false;
  bool has_quotes_ = false;    // in the text, that are itself
  bool escapes_alone_ = true;  // all backslashes of the text begin escapes, so far
  int hex_left_ = 0;           // digits of the escape that has begun
  int64_t mended_ = 0;
};

}  // namespace lanescope::traces
