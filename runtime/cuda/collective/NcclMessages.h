//===- NcclMessages.h - Messages between GPUs --------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Activations and gradients between the stages of a pipeline, without the host. As on
// processors a message is copied and the sender goes on; it waits only while as many
// messages to that member are under way as were reserved. Here the copy stands in memory of
// the sender's GPU, and a stream of its own for each member that is sent to waits for the
// receiver; the stream that computes waits only for room.
//
// The receiver has memory for the messages of one action, and a stream of its own for each
// member that sends. Messages that are expected (Device::expect) come there while the action
// before computes, and their receives copy them. They do not come sooner: the kernel of NCCL
// that waits for the sender has multiprocessors.
//
// No stream waits longer than the compiler's check of schedules assumes (a channel of so
// many messages for each pair), and a schedule that passed it ends here. That needs a
// communicator of two for each direction of a channel. NCCL runs what stands on one
// communicator in the order in which the host issued it, whatever the streams: sends and
// receives on one, or those of a rank with all others, would wait behind each other. What one
// sends to the other on a channel may wait so: both have it in one order, and the compiler
// makes one channel of all that do (spmd-merge-channels). NCCL's buffers are by peer and
// direction: communicators for them cost no more than a common one would.
//
// NCCL makes them when a member first sends to another, and the host waits then until that
// one receives. A step may have two stages send to each other first. So each pair exchanges a
// byte when it has joined, on all ranks in one order: no host waits in a step, and memory
// that is not there is missed at start.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_COLLECTIVE_NCCLMESSAGES_H
#define DTCC_RUNTIME_CUDA_COLLECTIVE_NCCLMESSAGES_H

#include "runtime/cuda/collective/NcclMember.h"

#include <deque>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace dtcc::rt::cuda {

class NcclMessages {
public:
  /// Room that messages from this member to another one need.
  struct Room {
    int64_t messages = 0; /* that may be under way at a time */
    int64_t bytes = 0;    /* of the largest */
  };
  /// Messages of another member that an action receives. They lie one behind the other.
  struct Arrivals {
    int64_t messages = 0, bytes = 0;
    void add(int64_t message);
    void takeMore(const Arrivals &other);
  };
  /// The room for messages to each other member, and for those of each.
  struct Rooms {
    std::map<int64_t, Room> out;
    std::map<int64_t, Arrivals> in;
  };
  /// Memory of the GPU for a message on its way, which lives as long as this.
  using Memory = std::function<CUdeviceptr(uint64_t bytes)>;
  /// Every member calls it with its handle of the group and what it sends and receives. Null, for all members, if one
  /// of them cannot use NCCL.
  static std::unique_ptr<NcclMessages> open(Communicator &host, const std::string &name, const Rooms &rooms,
                                            const Memory &memory, Gpu &gpu, Watchdog *dog);

  ~NcclMessages();

  /// After what stands on `stream`, which goes on when the message is copied.
  void send(const void *data, int64_t bytes, int64_t peer, CUstream stream);
  /// The next messages of `peer` that no call has expected are these, which an action receives. They may come when what
  /// stands on `stream` has run.
  void expect(std::span<const int64_t> bytes, int64_t peer, CUstream stream);
  /// `stream` goes on when the next message of `peer` is there. It need not be expected, if no later one is.
  void receive(void *data, int64_t bytes, int64_t peer, CUstream stream);

private:
  explicit NcclMessages(Gpu &gpu) : gpu(gpu) {}

  /// Memory for a message: `filled` when it is there, `sent` when it has gone.
  struct Slot {
    CUdeviceptr place;
    CUevent filled, sent;
  };
  struct Outgoing {
    NcclMember *pair;
    CUstream stream;
    std::vector<Slot> slots;
    uint64_t count = 0; /* messages sent */
    void issue(CUdeviceptr data, int64_t bytes);
  };
  struct Incoming {
    NcclMember *pair;
    CUstream stream;
    CUdeviceptr memory;
    std::vector<CUevent> arrived;              /* by message of an action */
    CUevent expectedFrom, taken;               /* where the last expect stood, and the last receive */
    std::deque<std::vector<int64_t>> expected; /* actions whose messages have not begun, and the bytes of these */
    std::deque<CUdeviceptr> begun;             /* messages that were not received yet */
    size_t received = 0;                       /* of the action whose messages have begun */
    void issue(CUdeviceptr data, int64_t bytes);
    /// Lets the messages of the next action come, if those of the one before have been received.
    void begin(Gpu &gpu);
  };

  Gpu &gpu;
  std::vector<std::unique_ptr<NcclMember>> pairs; /* in the order in which all join and leave */
  std::map<int64_t, Outgoing> outgoing;
  std::map<int64_t, Incoming> incoming;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_COLLECTIVE_NCCLMESSAGES_H
