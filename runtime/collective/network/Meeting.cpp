//===- Meeting.cpp - Processes that find each other ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/network/Meeting.h"

#include "runtime/collective/network/Handshake.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace dtcc::rt {
namespace {

/// Ports at which rank 0 may be: the one that was named, and those behind it.
constexpr int64_t portsTried = 8;
constexpr std::chrono::milliseconds pause(50);

/// Rank 0's answer to a member that knows the token.
enum Verdict : int64_t { Welcome, TakenRank, OtherCount };

void goesOn(const Launch &launch, const std::string &where) {
  if (launch.interrupted && launch.interrupted())
    failWith(Status::Interrupted, "interrupted while the ranks meet at ", where);
}

/// Whether the other side of a connection is gone.
bool isGone(const Socket &socket) {
  char byte;
  ssize_t got = recv(socket.number(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN);
}

MemberCard ownCard(const Launch &launch, const Socket &listening) {
  return {HostName::ofThis(), launch.process, getpid(), listening.own()};
}

} // namespace

Address Meeting::toListenAt(const Address &own) const {
  in_addr four;
  in6_addr six;
  bool isNumber = inet_aton(host.c_str(), &four) != 0 || inet_pton(AF_INET6, host.c_str(), &six) == 1;
  bool isOneHost = isNumber || host.find("localhost") != std::string::npos;
  return own.isLoopback() && !isOneHost ? own.ofAnyInterface() : own;
}

Meeting::Meeting(const Launch &launch)
    : end(NetworkClock::now() + std::chrono::seconds(launch.hangSeconds)),
      cards(static_cast<size_t>(launch.processes)) {
  size_t colon = launch.rendezvous.rfind(':');
  host = launch.rendezvous.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  const char *first = launch.rendezvous.data() + (colon == std::string::npos ? 0 : colon + 1);
  const char *last = launch.rendezvous.data() + launch.rendezvous.size();
  auto [stop, error] = std::from_chars(first, last, port);
  if (colon == std::string::npos || host.empty() || error != std::errc() || stop != last || port < 1 ||
      port > 65535 - portsTried)
    fail("a rendezvous must be HOST:PORT with a port from 1 to ", 65535 - portsTried, ", got: ", launch.rendezvous);
  if (launch.process == 0)
    gather(launch);
  else
    join(launch);
}

void Meeting::gather(const Launch &launch) {
  std::vector<Address> addresses = Address::of(host, port);
  if (addresses.empty())
    fail("rank 0 cannot find the host of the rendezvous ", launch.rendezvous);
  Socket door;
  std::string why;
  for (int64_t at = port; at < port + portsTried && !door; ++at)
    for (Address &address : addresses) {
      address.setPort(at);
      if (door = Socket::listen(toListenAt(address)); door)
        break;
      why = std::strerror(errno);
    }
  if (!door)
    fail("rank 0 cannot listen at the rendezvous ", launch.rendezvous, ", nor at the ", portsTried - 1,
         " ports behind it: ", why);
  Address own = door.own();
  own.setPort(0);
  listening = Socket::listen(own);

  std::mutex lock;
  std::map<int64_t, Socket> members;
  cards[0] = ownCard(launch, listening);
  {
    Door open(std::move(door), launch.token, [&](Socket socket, const Claim &claim) {
      int64_t verdict =
          claim.ranks != launch.processes || claim.rank < 1 || claim.rank >= launch.processes ? OtherCount : Welcome;
      std::lock_guard<std::mutex> guard(lock);
      if (auto before = members.find(claim.rank);
          verdict == Welcome && before != members.end() && !isGone(before->second))
        verdict = TakenRank;
      MemberCard card{};
      auto soon = NetworkClock::now() + std::chrono::seconds(5);
      if (!socket.send(&verdict, sizeof verdict, soon) || verdict != Welcome ||
          !socket.receive(&card, sizeof card, soon) || card.rank != claim.rank)
        return;
      cards[static_cast<size_t>(claim.rank)] = card;
      members.insert_or_assign(claim.rank, std::move(socket));
    });
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::lock_guard<std::mutex> guard(lock);
      if (static_cast<int64_t>(members.size()) == launch.processes - 1)
        break;
      goesOn(launch, launch.rendezvous);
      if (NetworkClock::now() < end)
        continue;
      std::string absent;
      for (int64_t rank = 1; rank < launch.processes; ++rank)
        if (!members.count(rank))
          absent += (absent.empty() ? "" : ", ") + std::to_string(rank);
      failWith(Status::Hang, "rank 0 waited ", launch.hangSeconds, " s at ", launch.rendezvous, " for rank ", absent);
    }
  }
  Digest session = randomDigest();
  runSession = textOf(session);
  for (auto &[rank, socket] : members)
    if (!socket.send(session.data(), session.size(), end) ||
        !socket.send(cards.data(), cards.size() * sizeof(MemberCard), end))
      fail("rank ", rank, " left while the ranks met at ", launch.rendezvous);
}

Socket Meeting::findRankZero(const Launch &launch, std::string &why) const {
  std::vector<Address> addresses = Address::of(host, port);
  if (addresses.empty())
    why = "its host is not known";
  for (int64_t at = port; at < port + portsTried; ++at)
    for (Address &address : addresses) {
      address.setPort(at);
      auto soon = std::min(end, NetworkClock::now() + std::chrono::seconds(2));
      Socket socket = Socket::connect(address, soon);
      if (!socket)
        continue;
      std::optional<bool> known = introduce(socket, launch.token, {launch.process, launch.processes, 0}, soon);
      if (known.value_or(false))
        return socket;
      if (known)
        why = "a run with another token listens there";
    }
  return {};
}

void Meeting::join(const Launch &launch) {
  std::string why = "nobody listens there";
  Socket socket;
  while (!(socket = findRankZero(launch, why))) {
    goesOn(launch, launch.rendezvous);
    if (NetworkClock::now() >= end)
      failWith(Status::Hang, "rank ", launch.process, " waited ", launch.hangSeconds, " s for rank 0 at ",
               launch.rendezvous, ": ", why);
    std::this_thread::sleep_for(pause);
  }
  int64_t verdict = Welcome;
  if (!socket.receive(&verdict, sizeof verdict, NetworkClock::now() + std::chrono::seconds(10)))
    fail("rank 0 left while the ranks met at ", launch.rendezvous);
  if (verdict == TakenRank)
    fail("two processes of the run at ", launch.rendezvous, " were started as rank ", launch.process);
  if (verdict == OtherCount)
    fail("all ranks must be started alike: rank ", launch.process, " was started as one of ", launch.processes,
         ", rank 0 at ", launch.rendezvous, " as one of another number");
  Address own = socket.own();
  own.setPort(0);
  listening = Socket::listen(toListenAt(own));
  MemberCard mine = ownCard(launch, listening);
  if (!listening || !socket.send(&mine, sizeof mine, end))
    fail("rank ", launch.process, " cannot listen at its address: ", std::strerror(errno));
  pollfd wanted{socket.number(), POLLIN, 0};
  // A signal ends a wait of poll early; goesOn tells whether it ends the run.
  for (int found = 0; (found = poll(&wanted, 1, /*milliseconds=*/50)) <= 0;) {
    if (found < 0 && errno != EINTR)
      fail("rank ", launch.process, " cannot wait at ", launch.rendezvous, ": ", std::strerror(errno));
    goesOn(launch, launch.rendezvous);
    if (NetworkClock::now() >= end)
      failWith(Status::Hang, "rank ", launch.process, " waited ", launch.hangSeconds, " s at ", launch.rendezvous,
               " for all ranks to come");
  }
  Digest session;
  auto soon = NetworkClock::now() + std::chrono::seconds(30);
  if (!socket.receive(session.data(), session.size(), soon) ||
      !socket.receive(cards.data(), cards.size() * sizeof(MemberCard), soon))
    failWith(Status::PeerLost, "rank 0 left while the ranks met at ", launch.rendezvous);
  runSession = textOf(session);
  // Rank 0 may know itself by another address than others do. So may the ranks of its host, which found it by an
  // address that only this host has; others reach them where they reach rank 0.
  for (MemberCard &card : cards) {
    if (card.rank != 0 && !card.link.isOfAnyInterface())
      continue;
    int64_t linkPort = card.link.port();
    card.link = socket.peer();
    card.link.setPort(linkPort);
  }
}

std::vector<int64_t> Meeting::hosts() const {
  std::vector<int64_t> first;
  for (const MemberCard &card : cards)
    first.push_back(
        std::find_if(cards.begin(), cards.end(), [&](const MemberCard &other) { return other.host == card.host; }) -
        cards.begin());
  return first;
}

std::vector<int64_t> Meeting::neighbours(int64_t rank) const {
  std::vector<int64_t> ranks;
  for (const MemberCard &card : cards)
    if (card.host == cards[static_cast<size_t>(rank)].host)
      ranks.push_back(&card - cards.data());
  return ranks;
}

std::map<int64_t, Socket> Meeting::connect(const Launch &launch) {
  const std::string token = launch.token + runSession;
  const int64_t mine = launch.process;
  std::mutex lock;
  std::map<int64_t, Socket> sockets;
  auto isElsewhere = [&](int64_t rank) {
    return !(cards[static_cast<size_t>(rank)].host == cards[static_cast<size_t>(mine)].host);
  };
  Door door(std::move(listening), token, [&](Socket socket, const Claim &claim) {
    std::lock_guard<std::mutex> guard(lock);
    if (claim.purpose == 1 && claim.rank > mine && claim.rank < launch.processes && isElsewhere(claim.rank))
      sockets.try_emplace(claim.rank, std::move(socket));
  });
  auto check = [&](int64_t rank) {
    goesOn(launch, launch.rendezvous);
    if (NetworkClock::now() >= end)
      failWith(Status::Hang, "rank ", mine, " cannot connect with rank ", rank, " on host ",
               cards[static_cast<size_t>(rank)].host.name, " within ", launch.hangSeconds, " s");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  for (int64_t rank = 0; rank < mine; ++rank)
    while (isElsewhere(rank)) {
      auto soon = std::min(end, NetworkClock::now() + std::chrono::seconds(5));
      Socket socket = Socket::connect(cards[static_cast<size_t>(rank)].link, soon);
      if (socket && introduce(socket, token, {mine, launch.processes, 1}, soon).value_or(false)) {
        std::lock_guard<std::mutex> guard(lock);
        sockets.try_emplace(rank, std::move(socket));
        break;
      }
      check(rank);
    }
  auto missing = [&]() -> std::optional<int64_t> {
    std::lock_guard<std::mutex> guard(lock);
    for (int64_t rank = launch.processes - 1; rank > mine; --rank)
      if (isElsewhere(rank) && !sockets.count(rank))
        return rank;
    return std::nullopt;
  };
  // Whoever comes takes the lock, which must not be held while this thread sleeps.
  while (std::optional<int64_t> rank = missing())
    check(*rank);
  std::lock_guard<std::mutex> guard(lock);
  return sockets;
}

} // namespace dtcc::rt
