// SPDX-License-Identifier: Apache-2.0
// The messages of a step between tasks: what is sent and received while the devices compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/task_share.h"
#include "exec/messages/link_flows.h"
#include "exec/messages/message_tags.h"
#include "exec/messages/peer_transfers.h"
#include "exec/messages/transport.h"

namespace lanescope::exec {

class LoadedSchedule;
class PeerConnections;

// Any number of messages are under way at once, whatever the order in which the other ends come to them. A
// tensor whose shape is known only when the step runs, or of strings, has a header in front. What goes from
// GPU to GPU goes by their connection (PeerTransfers), everything else by the transport. Where links are
// emulated both ends pace it from when both are ready, since one knows what else leaves its task and the
// other what else comes. Each tells the other when it was ready, and the sender tells when the last byte is
// through, unless the message is small. A bus that is emulated carries messages as if there were no copies
// within the process. Used by one thread at a time; refers to what it is made of.
class MessageProgress {
 public:
  // Tags of this many steps differ; messages of one tag keep their order anyway.
  static constexpr int kStepsOfTags = 16;

  struct Done {
    CommandId command;
    int64_t start_ns = 0, end_ns = 0, bytes = 0;
  };

  // `loaded` is the share's schedule. `emulated`: the machine whose links are; null: the transport takes what
  // it takes. `connections`: null where no GPUs are joined.
  MessageProgress(LoadedSchedule* loaded, std::shared_ptr<const TaskShare> share, Transport* transport,
                  const Machine* emulated, const PeerConnections* connections = nullptr);
  ~MessageProgress();
  MessageProgress(const MessageProgress&) = delete;
  MessageProgress& operator=(const MessageProgress&) = delete;

  // `number`: of the steps that the job has run, the same in all processes.
  void BeginStep(int64_t number) {
    BeginStepAt(kFirstStepTag + static_cast<int>(number % kStepsOfTags) * share_->num_messages);
  }
  // The step's messages have the tags from `first_tag` on.
  void BeginStepAt(int first_tag) {
    first_tag_ = first_tag;
    EndJointLaunches(true);
  }
  // The other ends may begin theirs later. Throws what reading the tensor throws. What its device still does
  // before it is not waited for here.
  void Start(CommandId command);
  // Appends those that are complete now.
  void Poll(std::vector<Done>* done);
  // When to look again though no news has come.
  int64_t DueNs();
  bool idle() const { return messages_.empty(); }
  Transport* transport() const { return &transport_; }
  // From any thread: there is something to start.
  void Nudge() { transport_.Nudge(transport_.rank()); }
  // Forgets all that are under way, and names them.
  std::vector<CommandId> Abandon();
  // "'x' from rank 1 (node7)" of the message that waits longest; empty where none does.
  std::string Oldest() const;

 private:
  struct Header {
    int64_t bytes = 0;
    int32_t rank = 0;
    int64_t dims[16] = {};
  };
  struct Message {
    CommandId command;
    bool has_begun = false;  // its device has done what comes before it
    bool is_send = false, has_header = false;
    bool is_signal = false;  // that something has ended, or a meeting; else it carries a tensor
    int meeting = -1;        // not -1: of the share
    bool is_paced = false;   // over an emulated link
    bool is_small = false;   // is_paced: its content is posted, and nobody tells when it is through
    int peer = 0, tag = 0;
    bool is_in_header = false;  // the content comes after it
    Header header;
    char* data = nullptr;
    int64_t bytes = 0;
    std::vector<char> text;                    // of strings, as they are sent
    PeerChannel* channel = nullptr;            // of two GPUs; null: it goes by the transport
    PeerTransfers::Ticket transfer = 0;        // of the content; 0: it is through, or none
    std::vector<Transport::Ticket> tickets;    // of header or content
    Transport::Ticket ready = 0, through = 0;  // what the other end tells; 0: it has, or will not
    Route route;
    int flow = -1;  // on its links
    bool is_through = false;
    int64_t start_ns = 0, other_start_ns = 0;

    // Its sender, when the last byte is.
    bool TellsThrough() const { return is_paced && !is_small; }
  };

  void Begin(Message* message);
  void FindMemory(Message* message);
  void MakeContent(Message* message);
  void ExchangeReady(Message* message);
  void SendOrReceiveHeader(Message* message);
  void SendOrReceiveContent(Message* message);
  void TakeHeader(Message* message);
  void TakeContent(Message* message);
  bool Advance(Message* message);
  void BeginFlow(Message* message);
  bool IsThrough(Message* message);
  void TestTickets();
  void TestTransfers();
  void BeginMeeting(Message* message);
  void EndJointLaunches(bool all);
  void SendOrReceive(Message* message, void* data, int64_t bytes);

  LoadedSchedule& loaded_;
  const std::shared_ptr<const TaskShare> share_;
  Transport& transport_;
  std::optional<LinkFlows> flows_;  // of emulated links
  const PeerConnections* const connections_;
  ProcessTurns turns_;
  PeerTransfers transfers_;
  // Whose parts are launched or will be next: the turn, and one part.
  std::vector<std::pair<ProcessTurns::Ticket, CommandId>> joint_launches_;
  int first_tag_ = 0;
  std::list<Message> messages_;  // their memory stays where it is
  std::vector<Transport::Ticket> open_, done_;
  std::vector<PeerTransfers::Ticket> through_;
};

}  // namespace lanescope::exec
