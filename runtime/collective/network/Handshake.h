//===- Handshake.h - Proof of the token of a run -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both sides of a new connection prove that they know the run's token before anything else is
// said. The side that listens speaks first: a process that connects to a port of another program
// says nothing to it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_NETWORK_HANDSHAKE_H
#define DTCC_RUNTIME_COLLECTIVE_NETWORK_HANDSHAKE_H

#include "runtime/collective/network/Secret.h"
#include "runtime/collective/network/Socket.h"

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace dtcc::rt {

/// Introduction of a process that connects: which rank it runs, of how many, and what for.
struct Claim {
  int64_t rank = 0, ranks = 0;
  int64_t purpose = 0; /* 0: to meet; 1: to carry messages */
};

/// Proves over a new connection that this process knows `token`, and that the other side does. Empty if that one says
/// nothing until `end`; false if its token is another.
std::optional<bool> introduce(const Socket &socket, const std::string &token, const Claim &claim,
                              NetworkClock::time_point end);
/// The other side of `introduce`: what the process that connected claims, if it knows `token`.
std::optional<Claim> admit(const Socket &socket, const std::string &token, NetworkClock::time_point end);

/// Lets members of a run in while it lives. Each connection is asked by a thread of its own, so that one who says
/// nothing keeps nobody out.
class Door {
public:
  /// `onMember` is called by those threads, for those who know the token. Throws Error where nobody can prove that,
  /// because this host lacks libcrypto.
  Door(Socket listening, std::string token, std::function<void(Socket, const Claim &)> onMember);
  ~Door();
  Door(const Door &) = delete;
  Door &operator=(const Door &) = delete;

private:
  struct Guest;
  void loop();
  void ask(Guest &guest);

  Socket listening;
  std::string token;
  std::function<void(Socket, const Claim &)> onMember;
  std::atomic<bool> closing{false};
  std::list<std::unique_ptr<Guest>> guests;
  std::thread thread;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_NETWORK_HANDSHAKE_H
