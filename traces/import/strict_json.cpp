// SPDX-License-Identifier: Apache-2.0
#include "traces/import/strict_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace lanescope::traces {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr int kHexDigits = 4;  // of an escape

constexpr size_t kEscape = 2, kEscapeOfUtf16 = 6;

bool IsHex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20; }

// The length of the UTF-8 character at the start of a text; 0: it is none. As RFC 3629 has it.
size_t LengthOfUtf8(std::string_view text) {
  const auto byte = [&](size_t i) -> unsigned { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && byte(1) < 0xa0, surrogate = first == 0xed && byte(1) > 0x9f;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && byte(1) < 0x90, beyond = first == 0xf4 && byte(1) > 0x8f;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

// The length of the escape at the start of a text, with the other half of a pair; 0: it is half of one alone.
size_t LengthOfEscape(std::string_view text) {
  const auto unit = [&](size_t at) -> unsigned {
    unsigned value = 0;
    if (text.size() < at + kEscapeOfUtf16 || text.substr(at, kEscape) != "\\u") return 0;
    std::from_chars(text.data() + at + kEscape, text.data() + at + kEscapeOfUtf16, value, 16);
    return value;
  };
  const unsigned first = unit(0), second = unit(kEscapeOfUtf16);
  if (first < 0xd800 || first > 0xdfff) return kEscape;
  return first <= 0xdbff && second >= 0xdc00 && second <= 0xdfff ? 2 * kEscapeOfUtf16 : 0;
}

// "nan", "-inf", and as libraries of Windows print them: "-nan(ind)", "1.#INF", "-1.#IND"; and what no double
// can be: "1e999".
bool IsNoNumber(std::string word) {
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word.starts_with('-') || word.starts_with('+')) word.erase(0, 1);
  return word == "nan" || word.starts_with("nan(") || word == "inf" || word == "infinity" ||
         word.starts_with("1.#") ||
         (!word.empty() && word.find_first_not_of("0123456789.e+-") == std::string::npos &&
          std::isinf(std::strtod(word.c_str(), nullptr)));
}

}  // namespace

StrictJson::int_type StrictJson::underflow() {
  std::array<char, size_t{1} << 14> piece{};
  given_.clear();
  while (given_.empty() && !ended_) {
    const std::streamsize count = source_.sgetn(piece.data(), piece.size());
    for (std::streamsize i = 0; i < count; ++i) Take(piece[static_cast<size_t>(i)]);
    if (count <= 0) End();
    // An event that may be cut off is not given.
    const size_t size = ended_ ? out_.size() : std::min(event_, out_.size());
    given_ = out_.substr(0, size);
    out_.erase(0, size);
    if (event_ != std::string::npos) event_ = 0;
  }
  if (given_.empty()) return traits_type::eof();
  setg(given_.data(), given_.data(), given_.data() + given_.size());
  return traits_type::to_int_type(given_[0]);
}

void StrictJson::Take(char c) {
  switch (state_) {
    case State::kOutside:
    case State::kWord:
      return TakeOutside(c);
    case State::kText:
    case State::kEscape:
    case State::kAfterQuote:
      return TakeText(c);
    case State::kAfterText:
      return TakeAfterText(c);
  }
}

// In the list that is the file, or in one of the object that is the file.
bool StrictJson::AmongEvents() const {
  const std::string_view open(open_.data(), open_.size());
  return open == "[" || open == "{[";
}

void StrictJson::TakeOutside(char c) {
  const bool ends_word = IsSpace(c) || std::string_view("{}[],:\"").find(c) != std::string_view::npos;
  if (!ends_word) {
    if (state_ != State::kWord) EndComma();
    state_ = State::kWord;
    word_ += c;
    last_ = c;
    return;
  }
  EndWord();
  if (IsSpace(c)) {
    (comma_.empty() ? out_ : comma_) += c;
    return;
  }
  if (c == ',' && comma_.empty()) {
    comma_ = c;
    return;
  }
  const bool closes = c == ']' || c == '}';
  if (closes && !comma_.empty() && last_ != '[' && last_ != '{' && last_ != ':') {
    comma_.front() = ' ';
    ++mended_;
  }
  if (c == '{' && AmongEvents()) event_ = out_.size();
  EndComma();
  if (c == '[' || c == '{') open_.push_back(c);
  if (closes && !open_.empty()) open_.pop_back();
  if (c == '"') state_ = State::kText;
  last_ = c;
  out_ += c;
  if (c != '}' || !AmongEvents()) return;
  event_ = std::string::npos;
  ++events_;
}

// A quote behind a backslash ends a text all the same where that has a backslash of its own already, and what
// comes behind a text comes next.
void StrictJson::TakeText(char c) {
  if (state_ == State::kAfterQuote) {
    state_ = State::kText;
    if (std::string_view(",:}]\r\n").find(c) != std::string_view::npos && !escapes_alone_) {
      text_.pop_back();
      EndText();
      return TakeOutside(c);
    }
  }
  if (state_ == State::kText && c == '"') {
    state_ = State::kAfterText;
    return;
  }
  text_ += c;
  if (hex_left_ > 0) {
    --hex_left_;
    escapes_alone_ = escapes_alone_ && IsHex(c);
  }
  if (state_ == State::kEscape) {
    state_ = c == '"' ? State::kAfterQuote : State::kText;
    escapes_alone_ = escapes_alone_ && std::string_view("\"\\/bfnrtu").find(c) != std::string_view::npos;
    if (c == 'u') hex_left_ = kHexDigits;
  } else if (c == '\\') {
    state_ = State::kEscape;
  }
}

// Behind a quote.
void StrictJson::TakeAfterText(char c) {
  if (IsSpace(c)) {
    after_ += c;
    return;
  }
  if (std::string_view(",:}]").find(c) != std::string_view::npos) {
    EndText();
    return TakeOutside(c);
  }
  text_ += '"' + std::exchange(after_, {});
  has_quotes_ = true;
  state_ = State::kText;
  TakeText(c);
}

void StrictJson::EndText() {
  state_ = State::kOutside;
  const bool escaped = escapes_alone_ && hex_left_ == 0;
  escapes_alone_ = true;
  hex_left_ = 0;
  bool changed = std::exchange(has_quotes_, false);
  const auto ordinary = [](char c) { return c >= 0x20 && c != '\\' && c != '"'; };  // ASCII
  for (std::string_view rest = text_; !rest.empty();) {
    const auto run = std::ranges::find_if_not(rest, ordinary) - rest.begin();
    if (run > 0) {
      out_ += rest.substr(0, static_cast<size_t>(run));
      rest.remove_prefix(static_cast<size_t>(run));
      continue;
    }
    size_t length = rest[0] == '\\' && escaped ? LengthOfEscape(rest) : LengthOfUtf8(rest);
    if (length == 0 && rest[0] == '\\') {
      out_ += "\\ufffd";
      length = kEscapeOfUtf16;
      changed = true;
    } else if (rest[0] == '\\' && !escaped) {
      out_ += "\\\\";
      changed = true;
    } else if (rest[0] == '"') {  // that is itself
      out_ += "\\\"";
    } else if (IsControl(rest[0])) {
      out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<uint8_t>(rest[0])));
      changed = true;
    } else if (length == 0) {
      out_ += "\\ufffd";
      length = 1;
      changed = true;
    } else {
      out_ += rest.substr(0, length);
    }
    rest.remove_prefix(length);
  }
  out_ += '"' + std::exchange(after_, {});
  text_.clear();
  mended_ += changed ? 1 : 0;
}

void StrictJson::EndWord() {
  if (state_ != State::kWord) return;
  state_ = State::kOutside;
  const bool mend = IsNoNumber(word_);
  out_ += mend ? "null" : word_;
  mended_ += mend ? 1 : 0;
  word_.clear();
}

void StrictJson::EndComma() { out_ += std::exchange(comma_, {}); }

void StrictJson::End() {
  ended_ = true;
  EndWord();
  if (state_ == State::kAfterText) EndText();
  const size_t depth = !open_.empty() && open_.front() == '{' ? 2 : 1;  // of the list of events
  const bool cut =
      event_ != std::string::npos && open_.size() > depth && (events_ > 0 || (has_events_ && has_events_()));
  if (cut) {
    out_.erase(event_);
    comma_.clear();
    open_.resize(depth);
  } else if (state_ != State::kOutside) {
    out_ += text_;
  }
  const bool whole = last_ == '}' && AmongEvents();
  const bool behind = last_ == ']' && open_.size() == 1 && open_.front() == '{';
  if (!cut && (state_ != State::kOutside || !(whole || behind))) return EndComma();
  if (!comma_.empty()) comma_.front() = ' ';
  EndComma();
  for (; !open_.empty(); open_.pop_back()) out_ += open_.back() == '[' ? ']' : '}';
  closed_ = true;
}

}  // namespace lanescope::traces
