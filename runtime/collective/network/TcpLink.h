//===- TcpLink.h - Messages over connections of TCP ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One connection to every rank of another host, and one thread that sends what a connection had
// no room for and takes in what comes, whatever the rank's thread does. So a rank that computes
// answers others, who ask what it waits for; one that is stopped, or out of reach, does not.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_NETWORK_TCPLINK_H
#define DTCC_RUNTIME_COLLECTIVE_NETWORK_TCPLINK_H

#include "runtime/collective/Wait.h"
#include "runtime/collective/network/Link.h"
#include "runtime/collective/network/Socket.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

namespace dtcc::rt {

class TcpLink final : public Link {
public:
  /// Says what the ranks of this host do.
  using Tell = std::function<Notes()>;

  /// `aborted` becomes the status of another host's rank that failed. What is given by reference outlives the link.
  TcpLink(std::map<int64_t, Socket> sockets, const Waiter &waiter, std::atomic<uint32_t> &aborted, Tell tell);
  /// Sends what is left, for some seconds at most.
  ~TcpLink() override;

  void post(int64_t rank, uint32_t channel, std::vector<std::byte> data) override;
  void drain(int64_t rank, size_t most, const Describe &wait) override;
  int64_t take(int64_t rank, uint32_t channel, void *into, int64_t bytes, const Describe &wait) override;

  /// Tells all other hosts that a rank failed.
  void abort(int status) noexcept;
  /// Tells all other hosts that a rank of this one says why all end.
  void speak() noexcept;
  /// Whether another host's rank said that it failed, or that it says why.
  bool wasTold() const { return told; }
  int64_t lost() const override { return lostRank; }
  Notes ask(std::span<const int64_t> ranks) override;

private:
  struct Head {
    uint32_t channel, reserved;
    uint64_t bytes;
  };
  struct Frame {
    Head head;
    std::vector<std::byte> data;
  };
  struct Peer;
  /// Messages of one channel of one rank.
  struct Inbox {
    Signal posted;
    uint32_t taken = 0; /* by the rank's thread alone */
    std::mutex lock;
    std::deque<std::vector<std::byte>> messages;
  };

  Inbox &inbox(int64_t rank, uint32_t channel);
  void flush(Peer &peer);
  void read(Peer &peer);
  void arrived(Peer &peer, Frame frame);
  void end(Peer &peer);
  void wake() const;
  void loop();

  const Waiter &waiter;
  std::atomic<uint32_t> &aborted;
  Tell tell;
  std::map<int64_t, std::unique_ptr<Peer>> peers;
  std::mutex inboxLock;
  std::map<std::pair<int64_t, uint32_t>, Inbox> inboxes;
  std::atomic<bool> told{false}, closing{false};
  std::atomic<int64_t> lostRank{-1};
  int wakeFile = -1;
  std::thread thread;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_NETWORK_TCPLINK_H
