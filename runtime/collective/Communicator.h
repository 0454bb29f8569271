//===- Communicator.h - The collectives that a program may call -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Communicator is one rank's handle on a group of ranks. Every member calls the
// same collectives in the same order. Results are deterministic: reductions combine
// the members' values in the order of the group, and every member gets the same
// bits, on every run and with every backend.
//
// A Transport makes the Communicators of one process. Backends.def lists the
// transports; to add one, add a row there and a file beside this one.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_COMMUNICATOR_H
#define DTCC_RUNTIME_COLLECTIVE_COMMUNICATOR_H

#include "runtime/abi/dtcc_rt.h"
#include "runtime/collective/Membership.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dtcc::rt {

class Meeting;
class ThreadTeam;
class Watch;

/// Rows to send and to receive, by row number and ordered by peer; the counts of the peers give where each begins. The
/// rows that a member sends must be those that its peer expects: both compute the lists without communication.
struct RowLists {
  std::span<const int64_t> sendRows, sendCounts;
  std::span<const int64_t> receiveRows, receiveCounts;
};

class Communicator {
public:
  Communicator(int64_t size, int64_t index) : members(size), me(index) {}
  virtual ~Communicator() = default;

  int64_t size() const { return members; }
  /// This rank's position in the order of the group.
  int64_t index() const { return me; }

  /// `count` elements of `in` reduced over the group; `out` may be `in`.
  /// (MPI_Allreduce, ncclAllReduce)
  virtual void allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) = 0;
  /// `out` (size * count elements) = the members' `in` (count) in order; `in` may
  /// be this rank's place in `out`. (MPI_Allgather, ncclAllGather)
  virtual void allGather(const void *in, void *out, int64_t count, dtcc_dtype type) = 0;
  /// `out` (count) = part `index` of the reduced `in` (size * count). `out` may be
  /// that part of `in`. (MPI_Reduce_scatter_block, ncclReduceScatter)
  virtual void reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) = 0;
  /// Part i (count elements) of `in` to part `index` of member i's `out`.
  /// (MPI_Alltoall, ncclAlltoAll)
  virtual void allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) = 0;
  /// Rows of `in` to rows of the members' `out`, which are all different; this rank's own too. Rows that nobody is
  /// sent stay as they are. (MPI_Alltoallw)
  virtual void allToAllRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists) = 0;
  /// `out` = `in` of member 0; the others' `in` is not read. (MPI_Bcast,
  /// ncclBroadcast)
  virtual void broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) = 0;
  /// Returns when all members have called it. (MPI_Barrier; NCCL has none)
  virtual void barrier() = 0;

  /// Before the first send: one more message of up to `bytes` to `peer` may be
  /// under way at a time. Both ends call it, in any order.
  virtual void reserveSend(int64_t peer, int64_t bytes) = 0;
  /// Copies the message and returns; waits only while all reserved messages to
  /// `peer` are under way. Messages of a pair arrive in order. (MPI_Isend,
  /// ncclSend)
  virtual void send(const void *data, int64_t bytes, int64_t peer) = 0;
  /// Waits for the next message of `peer`, which must have `bytes` bytes.
  /// (MPI_Recv, ncclRecv)
  virtual void receive(void *data, int64_t bytes, int64_t peer) = 0;

  /// Before the first shift. Every member calls it, as often as it likes.
  void reserveShifts();
  /// `out` = the `bytes` bytes of `in` of the member before; the first has them of the last. Not in
  /// place. By messages of a bounded size: staging does not grow with `bytes`. (MPI_Sendrecv)
  virtual void shift(const void *in, void *out, int64_t bytes);

  /// Lets reductions and copies of large buffers use the team of the calling rank;
  /// results do not depend on it.
  virtual void useTeam(ThreadTeam &) {}

  /// Tells what the calling rank is doing, which messages about waits repeat. The argument outlives the communicator.
  virtual void tellWhere(const Whereabouts &) {}

  /// Memory that this handle holds for staging.
  virtual uint64_t stagingBytes() const = 0;

protected:
  int64_t members;
  int64_t me;

private:
  bool shiftsReserved = false;
};

/// The launch of this process, and the ranks that it runs.
struct Launch {
  std::string launcher; /* "mpirun", "srun", "torchrun", "hand" (by options), or empty */
  int64_t processes = 1;
  int64_t process = 0;       /* this one's number */
  int64_t nodeProcesses = 1; /* of this node, as far as the launcher says */
  int64_t nodeProcess = 0;   /* this one's number among them */
  int64_t ranks = 1;         /* of the plan */
  int threads = 1;           /* of each rank */
  int hangSeconds = 600;     /* a wait longer than this is reported as a hang */
  /// Whether SIGINT or SIGTERM came; null: nobody asks.
  bool (*interrupted)() = nullptr;
  /// HOST:PORT at which the processes meet if no MPI connects them; empty: as the launcher says.
  std::string rendezvous;
  /// File of the run's token; empty: the token is made of the launcher's name for the run.
  std::string tokenFile;
  std::string token = {};                /* what the processes of this run alone know */
  std::shared_ptr<Meeting> meeting = {}; /* where they met; null on one host, or under MPI */
};

class Transport {
public:
  virtual ~Transport() = default;
  /// The ranks that threads of this process run.
  virtual std::vector<int64_t> localRanks() const = 0;
  /// The handle of `rank` on the group `members`. Every rank of the program calls
  /// this for the same sequence of names, each with its own group. Safe to call
  /// from several threads.
  virtual std::unique_ptr<Communicator> group(const std::string &name, std::span<const int64_t> members,
                                              int64_t rank) = 0;
  /// Zeroed memory, of at least `bytes`, that the collectives of other ranks can reach; it
  /// lives as long as the transport. Null where memory of the process's own serves as well.
  virtual std::byte *allocate(uint64_t) { return nullptr; }
  /// Whether two threads of a rank may use different groups at the same time.
  virtual bool isConcurrent() const { return true; }
  /// A rank failed: makes every wait of the other ranks throw Error, or ends
  /// their processes with `status`. Idempotent.
  virtual void abort(int status) noexcept = 0;
  /// The watch by which a wait outside the communicator (for a GPU) learns that it is in vain; null with one rank.
  virtual Watch *watch() { return nullptr; }
  /// The place at which the rank of this process says how far it is; null where nobody else could read it.
  virtual Position *position() { return nullptr; }
  /// Puts the command of a position into words, for `everyRank`; null: nobody does any more.
  virtual void tellWhere(const Whereabouts *) {}
  /// A line for every rank with what it was last doing, as far as that can be learned within a second or two; empty
  /// where ranks are threads. Called by the process that says why all end, before it ends them.
  virtual std::string everyRank() noexcept { return {}; }
  /// Whether this process says why all end: the first that asks. Empty if processes cannot agree on it.
  virtual std::optional<bool> speaks() noexcept { return std::nullopt; }
};

/// The transport that serves `launch`: the first of Backends.def that does.
std::unique_ptr<Transport> createTransport(const Launch &launch);

/// Reads the launchers' environment variables. Throws Error if one is no number, or not in its range.
void detectLauncher(Launch &launch);
/// Joins processes that no MPI connects: finds the run's token, lets processes of several hosts meet, and counts those
/// of this one. Throws Error. In network/Join.cpp.
void joinRun(Launch &launch);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_COMMUNICATOR_H
