// SPDX-License-Identifier: Apache-2.0
#include "traces/import/event_list.h"

#include <simdjson.h>

#include <new>

#include "traces/import/json_limits.h"

namespace lanescope::traces {
namespace {

namespace ondemand = simdjson::ondemand;

std::string_view Trimmed(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t')) {
    token.remove_suffix(1);
  }
  return token;
}

JsonValue ReadValue(ondemand::value value) {
  switch (value.type().value()) {
    case ondemand::json_type::string:
      return {JsonValue::Kind::kText, value.get_string().value()};
    case ondemand::json_type::array:
      return {JsonValue::Kind::kNested, Trimmed(value.get_array().value().raw_json().value())};
    case ondemand::json_type::object:
      return {JsonValue::Kind::kNested, Trimmed(value.get_object().value().raw_json().value())};
    default:
      return {JsonValue::Kind::kPlain, Trimmed(value.raw_json_token())};
  }
}

void ReadFields(ondemand::object object, JsonFields* fields) {
  fields->Clear();
  for (auto field : object) fields->Add(field.unescaped_key().value(), ReadValue(field.value()));
}

void ReadEvent(ondemand::object object, ChromeEvent* event) {
  event->Clear();
  event->args.Clear();
  event->has_args = false;
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    ondemand::value value = field.value();
    if (key == "args" && value.type() == ondemand::json_type::object) {
      event->has_args = true;
      ReadFields(value.get_object(), &event->args);
    } else {
      event->Add(key, ReadValue(value));
    }
  }
}

// simdjson tells by a code of its own that there is no memory.
bool Succeeds(simdjson::error_code error) {
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  return error == simdjson::SUCCESS;
}

}  // namespace

const size_t EventList::kPadding = simdjson::SIMDJSON_PADDING;

struct EventList::Parsers {
  // Walking alone looks at nothing that is not asked for; parsing alone loses digits of times.
  simdjson::dom::parser strict;
  ondemand::parser walk;
  ChromeEvent event;
};

EventList::EventList() : parsers_(std::make_unique<Parsers>()) {}
EventList::~EventList() = default;

bool EventList::Read(std::string_view padded, const OnEvent& on_event) {
  if (parsers_->strict.capacity() < padded.size() &&
      !Succeeds(parsers_->strict.allocate(padded.size(), kDeepestJson)))
    return false;
  if (!Succeeds(parsers_->strict.parse(padded.data(), padded.size(), false).error())) return false;
  ondemand::document list;
  if (!Succeeds(
          parsers_->walk.iterate(simdjson::padded_string_view(padded, padded.size() + kPadding)).get(list)))
    return false;
  for (auto element : list.get_array()) {
    ondemand::value value = element.value();
    if (value.type() != ondemand::json_type::object) continue;
    ReadEvent(value.get_object(), &parsers_->event);
    on_event(parsers_->event);
  }
  return true;
}

std::string MinifiedJson(std::string_view json) {
  std::string minified(json.size() + simdjson::SIMDJSON_PADDING, 0);
  size_t size = 0;
  if (simdjson::minify(json.data(), json.size(), minified.data(), size) != simdjson::SUCCESS) size = 0;
  minified.resize(size);
  return minified;
}

}  // namespace lanescope::traces
