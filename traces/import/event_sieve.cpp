// SPDX-License-Identifier: Apache-2.0
#include "traces/import/event_sieve.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "traces/import/strict_json.h"

namespace lanescope::traces {
namespace {

constexpr size_t kPiece = size_t{1} << 16, kWindow = size_t{1} << 18, kLargest = size_t{1} << 20;
constexpr size_t kTriesInARow = 4, kSmallest = 256;
constexpr std::string_view kBlanks = " \t\r\n";

std::string Mended(const std::string& text, int64_t* faults) {
  std::stringbuf source(text);
  StrictJson strict(&source);
  std::string mended(std::istreambuf_iterator<char>(&strict), {});
  *faults = strict.closed() ? 0 : strict.mended();
  return mended;
}

}  // namespace

EventSieve::EventSieve(std::streambuf* source, EventList::OnEvent on_event, OnPassed on_passed)
    : source_(*source), on_event_(std::move(on_event)), on_passed_(std::move(on_passed)), text_("[") {}

EventSieve::int_type EventSieve::underflow() {
  given_.clear();
  while (given_.empty()) {
    if (state_ == State::kWithin) TakeEvents();
    if (text_.size() == 1 && !Fill(kPiece)) return traits_type::eof();
    const size_t end = state_ == State::kBefore ? EndOfHead() : text_.size();
    given_.assign(text_, 1, end - 1);
    text_.erase(1, end - 1);
  }
  on_passed_(std::ssize(given_));
  setg(given_.data(), given_.data(), given_.data() + given_.size());
  return traits_type::to_int_type(given_[0]);
}

bool EventSieve::Fill(size_t size) {
  const size_t had = text_.size();
  text_.resize(had + size);
  const std::streamsize count = source_.sgetn(text_.data() + had, static_cast<std::streamsize>(size));
  text_.resize(had + static_cast<size_t>(std::max<std::streamsize>(count, 0)));
  return count == static_cast<std::streamsize>(size) || text_.size() > had;
}

// The end of the part up to where the list of events begins: that is the file, or stands under "traceEvents"
// of the object that is the file.
size_t EventSieve::EndOfHead() {
  constexpr size_t kLongestKey = 64;
  for (size_t i = 1; i < text_.size(); ++i) {
    const char c = text_[i];
    if (in_text_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_text_ = false;
        if (depth_ == 1) key_ = last_text_;
        continue;
      }
      if (last_text_.size() < kLongestKey) last_text_ += c;
      continue;
    }
    if (c == '"') {
      in_text_ = true;
      last_text_.clear();
    } else if (c == '[' && ((depth_ == 0 && !begun_) || (depth_ == 1 && key_ == "traceEvents"))) {
      state_ = State::kWithin;
      return i + 1;
    } else if (c == '[' || c == '{') {
      begun_ = true;
      ++depth_;
    } else if ((c == ']' || c == '}') && depth_ > 0) {
      --depth_;
    } else if (c == ',' && depth_ == 1) {
      key_.clear();
    }
  }
  return text_.size();
}

// Leaves what is to pass in the text.
void EventSieve::TakeEvents() {
  size_t window = kWindow;
  for (bool more = true; more;) {
    more = text_.size() > window || Fill(window - text_.size() + 1);
    bool took = false;
    size_t end = LastEnd(text_.size());
    for (size_t tries = 0; end != std::string::npos && !took; ++tries) {
      took = Take(end);
      // One that lies within an event, or behind the list.
      if (!took)
        end = tries < kTriesInARow ? LastEnd(end) : end < kSmallest ? std::string::npos : LastEnd(end / 2);
    }
    if (!took && window >= kLargest) break;
    if (took) window = kWindow;
    if (!took) window *= 2;
    if (!took && !more) break;
    more = more || took;
  }
  state_ = State::kPassing;
}

// The last comma before a place that lies between a "}" and a "{". Most of these end an event; the reading
// of the list tells.
size_t EventSieve::LastEnd(size_t before) const {
  for (size_t comma = text_.rfind(',', before - 1); comma != std::string::npos && comma > 1;
       comma = text_.rfind(',', comma - 1)) {
    const size_t left = text_.find_last_not_of(kBlanks, comma - 1);
    const size_t right = text_.find_first_not_of(kBlanks, comma + 1);
    if (left != std::string::npos && text_[left] == '}' && right != std::string::npos && text_[right] == '{')
      return comma;
  }
  return std::string::npos;
}

// The events up to a comma; false: these are none.
bool EventSieve::Take(size_t end) {
  text_.reserve(text_.size() + EventList::kPadding);
  text_[0] = '[';
  text_[end] = ']';
  const bool read = ReadList(std::string_view(text_).substr(0, end + 1));
  text_[end] = ',';
  if (read) text_.erase(1, end);
  return read;
}

bool EventSieve::ReadList(std::string_view padded) {
  const auto give = [this](const ChromeEvent& event) {
    ++taken_;
    on_event_(event);
  };
  if (list_.Read(padded, give)) return true;
  int64_t faults = 0;
  std::string mended = Mended(std::string(padded), &faults);
  if (faults == 0) return false;
  mended.reserve(mended.size() + EventList::kPadding);
  if (!list_.Read(mended, give)) return false;
  mended_ += faults;
  return true;
}

}  // namespace lanescope::traces
