// SPDX-License-Identifier: Apache-2.0
#include "traces/import/chrome_events.h"

#include <fmt/core.h>

#include <istream>
#include <vector>

#include "core/base/json_object.h"
#include "traces/import/event_list.h"
#include "traces/import/event_sieve.h"
#include "traces/import/strict_json.h"

namespace lanescope::traces {
namespace {

using Json = nlohmann::json;

// Builds the value that is being read, and gives events away as soon as they are whole. Of a list of events
// that is the whole file, the list lies at depth 0; else under "traceEvents" at depth 1. The times of an
// event
// ("ts", "dur") that are no whole numbers are texts of their digits: a double loses the last ones of times
// since 1970.
class EventBuilder : public nlohmann::json_sax<Json> {
 public:
  EventBuilder(const ChromeReading& reading, EventList::OnEvent on_event, ChromeFile* file)
      : reading_(reading), on_event_(std::move(on_event)), file_(*file) {}

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(int64_t value) override { return Add(value); }
  bool number_unsigned(uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string& digits) override {
    return IsTime() ? Add(digits) : Add(value);
  }
  bool string(std::string& value) override { return Add(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }

  bool start_object(size_t) override { return Begin(Json::object()); }
  bool start_array(size_t) override {
    const bool holds_events = depth_ == 0 || (depth_ == 1 && key_ == "traceEvents" && !in_list_);
    if (!holds_events) return Begin(Json::array());
    reading_.limits->Begin(depth_++);
    in_list_ = depth_ == 1;
    in_events_ = file_.has_events = true;
    events_depth_ = depth_;
    return true;
  }
  bool key(std::string& name) override {
    if (!open_.empty()) {
      key_of_open_ = name;
    } else if (depth_ == 1) {
      key_ = name;
      kept_ = reading_.keeps(name);
    }
    return true;
  }
  bool end_object() override { return End(); }
  bool end_array() override { return End(); }

  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    file_.problem = JsonErrorText(error);
    return false;
  }

 private:
  bool IsTime() const {
    return in_events_ && open_.size() == 1 && open_.back()->is_object() &&
           (key_of_open_ == "ts" || key_of_open_ == "dur");
  }
  // Whether a value that begins here is built: an event, what is of use beside events, or within these.
  bool IsBuilt() const {
    return !open_.empty() || (in_events_ ? depth_ == events_depth_ : depth_ == 1 && kept_);
  }

  Json* Place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_of_open_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool Add(Json value) {
    reading_.limits->Begin(depth_);
    if (!IsBuilt()) return true;
    const bool whole = open_.empty();
    Place(std::move(value));
    return !whole || Give();
  }

  bool Begin(Json value) {
    reading_.limits->Begin(depth_);
    if (IsBuilt()) open_.push_back(Place(std::move(value)));
    ++depth_;
    return true;
  }

  bool End() {
    --depth_;
    if (!open_.empty()) {
      open_.pop_back();
      if (open_.empty()) return Give();
    } else if (in_events_ && depth_ + 1 == events_depth_) {
      in_events_ = false;
    }
    return true;
  }

  // The value that is whole.
  bool Give() {
    if (!in_events_) {
      file_.rest[key_] = std::move(root_);
    } else if (root_.is_object()) {
      std::string text = "[" + root_.dump() + "]";
      text.reserve(text.size() + EventList::kPadding);
      if (!list_.Read(text, on_event_)) file_.problem = "an event that is none";
    }
    root_ = nullptr;
    return file_.problem.empty();
  }

  const ChromeReading& reading_;
  const EventList::OnEvent on_event_;
  EventList list_;
  ChromeFile& file_;
  Json root_;
  std::vector<Json*> open_;  // values within `root_` that are being built, the innermost last
  std::string key_, key_of_open_;
  int depth_ = 0, events_depth_ = 0;
  bool in_list_ = false, in_events_ = false, kept_ = false;
};

}  // namespace

// Most events never come to the slower reading behind the sieve, which knows all else of the file.
ChromeFile ReadChromeEvents(std::streambuf* file, const ChromeReading& reading) {
  ChromeFile read;
  const auto on_event = [&reading](const ChromeEvent& event) {
    reading.limits->EndEvent();
    reading.event(event);
  };
  EventSieve sieve(file, on_event, [&reading](int64_t bytes) { reading.limits->Read(bytes); });
  StrictJson strict(&sieve, [&sieve] { return sieve.taken() > 0; });
  std::istream text(&strict);
  EventBuilder builder(reading, on_event, &read);
  if (!Json::sax_parse(text, &builder) && read.problem.empty()) read.problem = "unexpected contents";
  // Lines and columns are of what the sieve left.
  const size_t place = read.problem.find(": ");
  if (sieve.taken() > 0 && place != std::string::npos)
    read.problem = fmt::format("behind {} events: {}", sieve.taken(), read.problem.substr(place + 2));
  read.mended = sieve.mended() + strict.mended();
  read.cut_short = strict.closed();
  return read;
}

}  // namespace lanescope::traces
