//===- HandshakeFuzz.cpp - Strangers at a rendezvous ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input is what a stranger says who does not know the token of the run, made of what a member said in another
// conversation. Bit 0 of the first byte chooses the stranger's side of the connection. What follows the second byte
// stands at the offset that the second byte gives, over the member's words or, by bit 1, in place of all that is
// behind. Nobody may be let in or believed.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/network/Handshake.h"
#include "tests/fuzz/Target.h"

#include <algorithm>
#include <cstdlib>

using namespace dtcc;

namespace {

const std::string kToken = "the token of the run";
constexpr rt::Claim kClaim{/*rank=*/1, /*ranks=*/2, /*purpose=*/0};

/// Both ends of a connection.
struct Connection {
  rt::Socket ours, theirs;
  Connection() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
      std::abort();
    ours = rt::Socket(ends[0]), theirs = rt::Socket(ends[1]);
  }
};

rt::NetworkClock::time_point soon() { return rt::NetworkClock::now() + std::chrono::seconds(5); }

/// All that an end of a connection has been sent.
std::string heardBy(const rt::Socket &socket) {
  std::string bytes(4096, 0);
  bytes.resize(
      static_cast<size_t>(std::max<ssize_t>(recv(socket.number(), bytes.data(), bytes.size(), MSG_DONTWAIT), 0)));
  return bytes;
}

void say(const rt::Socket &socket, std::string_view bytes) {
  if (!socket.send(bytes.data(), bytes.size(), soon()))
    std::abort();
}

/// The words of both sides of a conversation between members.
struct Overheard {
  std::string connecting, listening;
  Overheard() {
    Connection first,
        second; // The listener's words are carried from `first` to `second` by hand, and the answers back.
    std::optional<rt::Claim> admitted;
    std::optional<bool> known;
    std::thread listener([&] { admitted = rt::admit(first.ours, kToken, soon()); });
    std::thread connector([&] { known = rt::introduce(second.ours, kToken, kClaim, soon()); });
    auto carry = [](const rt::Socket &from, const rt::Socket &to, std::string &record) {
      std::string words;
      while ((words = heardBy(from)).empty())
        std::this_thread::yield();
      say(to, words);
      record += words;
    };
    carry(first.theirs, second.theirs, listening);
    carry(second.theirs, first.theirs, connecting);
    carry(first.theirs, second.theirs, listening);
    listener.join();
    connector.join();
    // A target in which members are refused would test nothing.
    if (!admitted || admitted->rank != kClaim.rank || !known.value_or(false))
      std::abort();
  }
};

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Overheard overheard;
  if (size < 2)
    return 0;
  const bool connects = data[0] % 2 == 0;
  std::string words = connects ? overheard.connecting : overheard.listening;
  const std::string_view said = fuzz::textOf(data + 2, size - 2);
  const size_t offset = std::min<size_t>(data[1], words.size());
  const bool isLast = data[0] & 2;
  words.replace(offset, isLast ? std::string::npos : std::min(said.size(), words.size() - offset), said);
  Connection connection;
  say(connection.theirs, words);
  shutdown(connection.theirs.number(), SHUT_WR);
  const bool isIn = connects ? rt::admit(connection.ours, kToken, soon()).has_value()
                             : rt::introduce(connection.ours, kToken, kClaim, soon()).value_or(false);
  if (isIn)
    std::abort();
  return 0;
}
