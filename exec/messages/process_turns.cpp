// SPDX-License-Identifier: Apache-2.0
#include "exec/messages/process_turns.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace lanescope::exec {

ProcessTurns::Ticket ProcessTurns::Begin(std::vector<int> members, int tag) {
  Meeting& meeting = meetings_.emplace_back();
  meeting.ticket = ++last_;
  meeting.members = std::move(members);
  meeting.tag = tag;
  const auto own = std::ranges::find(meeting.members, transport_.rank());
  LANESCOPE_CHECK(own != meeting.members.end());
  meeting.own = static_cast<size_t>(own - meeting.members.begin());
  if (meeting.own > 0) {
    Tell(meeting, meeting.members.front());
    Hear(&meeting, meeting.members[meeting.own - 1]);
  } else {
    for (size_t other = 1; other < meeting.members.size(); ++other) Hear(&meeting, meeting.members[other]);
  }
  return meeting.ticket;
}

void ProcessTurns::Hear(Meeting* meeting, int rank) {
  meeting->awaited.push_back(transport_.ReceivePosted(rank, meeting->tag, nullptr, 0));
}

void ProcessTurns::Tell(const Meeting& meeting, int rank) {
  transport_.Post(rank, meeting.tag, nullptr, 0);
  transport_.Nudge(rank);
}

bool ProcessTurns::HasHeard(Meeting* meeting) {
  std::erase_if(meeting->awaited, [this](Transport::Ticket ticket) { return transport_.Test(ticket); });
  return meeting->awaited.empty();
}

void ProcessTurns::Take(Meeting* meeting) {
  is_taken_ = true;
  if (meeting->own + 1 < meeting->members.size()) {
    meeting->stage = Stage::kAsked;
    Hear(meeting, meeting->members.back());
    Tell(*meeting, meeting->members[meeting->own + 1]);
    return;
  }
  meeting->stage = Stage::kGranted;
  for (const int member : meeting->members) {
    if (member != transport_.rank()) Tell(*meeting, member);
  }
}

void ProcessTurns::Poll() {
  for (Meeting& meeting : meetings_) {
    if (meeting.stage == Stage::kGathering && HasHeard(&meeting)) meeting.stage = Stage::kReady;
    if (meeting.stage == Stage::kReady && !is_taken_) Take(&meeting);
    if (meeting.stage == Stage::kAsked && HasHeard(&meeting)) meeting.stage = Stage::kGranted;
  }
}

bool ProcessTurns::IsGranted(Ticket ticket) const {
  const auto meeting = std::ranges::find(meetings_, ticket, &Meeting::ticket);
  return meeting != meetings_.end() && meeting->stage == Stage::kGranted;
}

void ProcessTurns::End(Ticket ticket) {
  const auto meeting = std::ranges::find(meetings_, ticket, &Meeting::ticket);
  LANESCOPE_CHECK(meeting != meetings_.end() && meeting->stage == Stage::kGranted);
  meetings_.erase(meeting);
  is_taken_ = false;
}

void ProcessTurns::Abandon() {
  for (const Meeting& meeting : meetings_) {
    for (const Transport::Ticket ticket : meeting.awaited) transport_.Cancel(ticket);
  }
  meetings_.clear();
  is_taken_ = false;
}

}  // namespace lanescope::exec
