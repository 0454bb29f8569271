//===- Handshake.cpp - Proof of the token of a run -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/network/Handshake.h"

#include <atomic>
#include <cstring>
#include <poll.h>

namespace dtcc::rt {
namespace {

struct Hello {
  char magic[8];
  Digest drawn;
};
struct Signed {
  Digest drawn;
  Claim claim;
  Digest signature;
};
constexpr char magic[8] = {'d', 't', 'c', 'c', '-', 'r', 'u', 'n'};

/// Bytes that a side signs: both sides' numbers, so that nothing can be used twice.
Digest signatureOf(const char *side, const std::string &token, const Digest &first, const Digest &second,
                   const Claim &claim) {
  std::string text = side;
  text.append(reinterpret_cast<const char *>(first.data()), first.size());
  text.append(reinterpret_cast<const char *>(second.data()), second.size());
  text.append(reinterpret_cast<const char *>(&claim), sizeof claim);
  return sign(token, text);
}

} // namespace

std::optional<bool> introduce(const Socket &socket, const std::string &token, const Claim &claim,
                              NetworkClock::time_point end) {
  Hello hello;
  if (!socket.receive(&hello, sizeof hello, end) || std::memcmp(hello.magic, magic, sizeof magic) != 0)
    return std::nullopt;
  Signed said{randomDigest(), claim, {}};
  said.signature = signatureOf("connects", token, hello.drawn, said.drawn, claim);
  Digest answer;
  if (!socket.send(&said, sizeof said, end))
    return std::nullopt;
  return socket.receive(&answer, sizeof answer, end) &&
         isEqual(answer, signatureOf("listens", token, said.drawn, hello.drawn, claim));
}

std::optional<Claim> admit(const Socket &socket, const std::string &token, NetworkClock::time_point end) {
  Hello hello{{}, randomDigest()};
  std::memcpy(hello.magic, magic, sizeof magic);
  Signed said;
  if (!socket.send(&hello, sizeof hello, end) || !socket.receive(&said, sizeof said, end) ||
      !isEqual(said.signature, signatureOf("connects", token, hello.drawn, said.drawn, said.claim)))
    return std::nullopt;
  Digest answer = signatureOf("listens", token, said.drawn, hello.drawn, said.claim);
  if (!socket.send(&answer, sizeof answer, end))
    return std::nullopt;
  return said.claim;
}

/// A connection of which nobody knows yet whose it is.
struct Door::Guest {
  Socket socket;
  std::atomic<bool> done{false};
  std::thread thread;
};

namespace {

constexpr std::chrono::seconds patience(5);
/// More than these wait outside.
constexpr size_t mostGuests = 256;

} // namespace

Door::Door(Socket socket, std::string runToken, std::function<void(Socket, const Claim &)> member)
    : listening(std::move(socket)), token(std::move(runToken)), onMember(std::move(member)) {
  // Here rather than with the first connection, so that the caller gets the error.
  openSigning();
  thread = std::thread([this] { loop(); });
}

Door::~Door() {
  closing = true;
  thread.join();
  for (std::unique_ptr<Guest> &guest : guests) {
    if (!guest->done)
      shutdown(guest->socket.number(), SHUT_RDWR);
    guest->thread.join();
  }
}

void Door::ask(Guest &guest) {
  try {
    std::optional<Claim> claim = admit(guest.socket, token, NetworkClock::now() + patience);
    if (claim && !closing)
      onMember(std::move(guest.socket), *claim);
  } catch (const std::exception &) {
    // An error of one connection must not end the process. Whoever connected sees that it closes, and tries again
    // until the meeting's time is over.
    guest.socket = Socket();
  }
  guest.done = true;
}

void Door::loop() {
  while (!closing) {
    for (auto each = guests.begin(); each != guests.end();) {
      if (!(*each)->done) {
        ++each;
        continue;
      }
      (*each)->thread.join();
      each = guests.erase(each);
    }
    pollfd wanted{listening.number(), POLLIN, 0};
    if (guests.size() >= mostGuests) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    if (poll(&wanted, 1, /*milliseconds=*/20) <= 0)
      continue;
    Socket socket(accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket)
      continue;
    Guest &guest = *guests.emplace_back(std::make_unique<Guest>());
    guest.socket = std::move(socket);
    try {
      guest.thread = std::thread([this, &guest] { ask(guest); });
    } catch (const std::system_error &) {
      guests.pop_back(); // the system has no thread left for it, and it may come again
    }
  }
}

} // namespace dtcc::rt
