// SPDX-License-Identifier: Apache-2.0
#include "traces/import/chrome_events.h"

#include <vector>

namespace lanescope::traces {
namespace {

using Json = nlohmann::json;

// Builds the value that is being read, and gives events away as soon as they are whole. Of a list of events
// that is the whole file, the list lies at depth 0; else under "traceEvents" at depth 1.
class EventBuilder : public nlohmann::json_sax<Json> {
 public:
  EventBuilder(const ChromeReading& reading, ChromeFile* file) : reading_(reading), file_(*file) {}

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
    file_.problem = error.what();
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
    if (whole) Give();
    return true;
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
      if (open_.empty()) Give();
    } else if (in_events_ && depth_ + 1 == events_depth_) {
      in_events_ = false;
    }
    return true;
  }

  // The value that is whole.
  void Give() {
    if (!in_events_) {
      file_.rest[key_] = std::move(root_);
    } else if (root_.is_object()) {
      reading_.limits->EndEvent();
      reading_.event(root_);
    }
    root_ = nullptr;
  }

  const ChromeReading& reading_;
  ChromeFile& file_;
  Json root_;
  std::vector<Json*> open_;  // values within `root_` that are being built, the innermost last
  std::string key_, key_of_open_;
  int depth_ = 0, events_depth_ = 0;
  bool in_list_ = false, in_events_ = false, kept_ = false;
};

}  // namespace

ChromeFile ReadChromeEvents(std::istream& file, const ChromeReading& reading) {
  ChromeFile read;
  EventBuilder builder(reading, &read);
  if (!Json::sax_parse(file, &builder) && read.problem.empty()) read.problem = "unexpected contents";
  return read;
}

}  // namespace lanescope::traces
