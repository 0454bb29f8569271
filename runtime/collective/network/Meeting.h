//===- Meeting.h - Processes that find each other ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rendezvous over TCP: rank 0 listens, the others connect, each says where it stands, and rank
// 0 tells all. A port that is taken (torchrun's own store has MASTER_PORT) is no obstacle: rank 0
// takes one of the next seven, and the others look there too. Nothing listens afterwards but
// a socket each for the connections of this run, until they are made.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_NETWORK_MEETING_H
#define DTCC_RUNTIME_COLLECTIVE_NETWORK_MEETING_H

#include "runtime/collective/Communicator.h"
#include "runtime/collective/network/Host.h"
#include "runtime/collective/network/Socket.h"

#include <map>

namespace dtcc::rt {

/// How a process describes itself to the others.
struct MemberCard {
  HostName host;
  int64_t rank, pid;
  Address link; /* where it listens for connections of the run */
};

class Meeting {
public:
  /// Called by all processes of a run, which `launch` has a rendezvous and a token for. Throws Error if they do not
  /// meet within the hang timeout.
  explicit Meeting(const Launch &launch);

  /// Connections to all ranks of other hosts, by rank. Called once, by all.
  std::map<int64_t, Socket> connect(const Launch &launch);

  const std::vector<MemberCard> &members() const { return cards; }
  /// A number that this run alone has.
  const std::string &session() const { return runSession; }
  /// Ranks that stand on the host of `rank`, in order.
  std::vector<int64_t> neighbours(int64_t rank) const;
  /// The first rank of each rank's host.
  std::vector<int64_t> hosts() const;

private:
  void gather(const Launch &launch);
  void join(const Launch &launch);
  /// The address at which this process listens that knows itself by `own`. Debian's /etc/hosts gives a host's own name
  /// the address 127.0.1.1, which no other host reaches: all addresses of the host then take its place. A rendezvous
  /// whose name or address says that all ranks stand on one host stays closed to others.
  Address toListenAt(const Address &own) const;
  /// Connects to rank 0's door. Empty if it is not there yet.
  Socket findRankZero(const Launch &launch, std::string &why) const;

  std::string host; /* of the rendezvous */
  int64_t port = 0;
  NetworkClock::time_point end;
  std::vector<MemberCard> cards; /* by rank */
  std::string runSession;
  Socket listening; /* for the connections of the run */
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_NETWORK_MEETING_H
