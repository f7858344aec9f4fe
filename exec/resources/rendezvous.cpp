// SPDX-License-Identifier: Apache-2.0
#include "exec/resources/rendezvous.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "core/machine/device_name.h"

namespace lanescope::exec {
namespace {

constexpr size_t kDigits = 16;  // of an incarnation

template <typename T>
bool ReadNumber(std::string_view text, int base, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool IsDevice(std::string_view text) {
  DeviceName name;
  return ParseDeviceName(text, &name) && name.has_type && name.has_id;
}

}  // namespace

std::string RendezvousKey::ToString() const {
  return fmt::format("{};{:016x};{};{};{}:{}", source, incarnation, destination, tensor, frame, iteration);
}

RendezvousKey RendezvousKey::Parse(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  RendezvousKey key;
  const auto read = [&] {
    if (parts.size() != 5 || !IsDevice(parts[0]) || !IsDevice(parts[2]) || parts[3].empty()) return false;
    if (parts[1].size() != kDigits || !ReadNumber(parts[1], 16, &key.incarnation)) return false;
    const size_t colon = parts[4].find(':');
    return colon != std::string_view::npos && ReadNumber(parts[4].substr(0, colon), 10, &key.frame) &&
           ReadNumber(parts[4].substr(colon + 1), 10, &key.iteration);
  };
  if (!read()) Throw(Code::kInvalidArgument, "Invalid  rendezvous key: {}", text);
  key.source = parts[0];
  key.destination = parts[2];
  key.tensor = parts[3];
  return key;
}

void Rendezvous::Send(const std::string& key, Tensor tensor) {
  Received received;
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) throw Error(*aborted_);
    Meeting& meeting = meetings_[key];
    if (meeting.waiting.empty()) {
      meeting.sent.push_back(std::move(tensor));
      return;
    }
    received = std::move(meeting.waiting.front().second);
    meeting.waiting.pop_front();
    if (meeting.waiting.empty()) meetings_.erase(key);
  }
  received(nullptr, std::move(tensor));
}

std::shared_ptr<Rendezvous> Rendezvous::Of(ResourceManager* resources) {
  return resources->LookupOrCreate<Rendezvous>(kDefaultContainer, "rendezvous",
                                               [] { return std::make_shared<Rendezvous>(); });
}

Rendezvous::AttemptNumber Rendezvous::Receive(const std::string& key, Received received) {
  Tensor tensor;
  std::optional<Error> error;
  AttemptNumber attempt = 0;
  {
    const std::lock_guard lock(mutex_);
    attempt = ++last_attempt_;
    error = aborted_;
    if (!error) {
      Meeting& meeting = meetings_[key];
      if (meeting.sent.empty()) {
        meeting.waiting.emplace_back(attempt, std::move(received));
        return attempt;
      }
      tensor = std::move(meeting.sent.front());
      meeting.sent.pop_front();
      if (meeting.sent.empty()) meetings_.erase(key);
    }
  }
  received(error ? &*error : nullptr, std::move(tensor));
  return attempt;
}

bool Rendezvous::Cancel(AttemptNumber attempt) {
  Received received;
  {
    const std::lock_guard lock(mutex_);
    for (auto meeting = meetings_.begin(); meeting != meetings_.end() && !received; ++meeting) {
      auto& waiting = meeting->second.waiting;
      const auto found =
          std::find_if(waiting.begin(), waiting.end(), [&](const auto& one) { return one.first == attempt; });
      if (found == waiting.end()) continue;
      received = std::move(found->second);
      waiting.erase(found);
      if (waiting.empty()) meetings_.erase(meeting);
      break;
    }
  }
  if (!received) return false;
  const Error error(Code::kCancelled, "the receive was cancelled");
  received(&error, Tensor());
  return true;
}

void Rendezvous::Abort(const Error& error) {
  std::map<std::string, Meeting> meetings;
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) return;
    aborted_ = error;
    meetings = std::exchange(meetings_, {});
  }
  for (auto& [key, meeting] : meetings) {
    for (auto& [attempt, received] : meeting.waiting) received(&error, Tensor());
  }
}

}  // namespace lanescope::exec
