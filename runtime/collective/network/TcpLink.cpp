//===- TcpLink.cpp - Messages over connections of TCP --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/network/TcpLink.h"

#include "runtime/collective/network/HostNotes.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

namespace dtcc::rt {
namespace {

/// Channels that are no group's.
constexpr uint32_t abortChannel = ~0u, questionChannel = ~1u, answerChannel = ~2u, leaveChannel = ~3u,
                   spokenChannel = ~4u;

} // namespace

struct TcpLink::Peer {
  int64_t rank = 0;
  Socket socket;
  std::atomic<bool> left{false}, broken{false};
  // Outgoing bytes are written by whoever has the lock.
  std::mutex lock;
  std::deque<Frame> out;
  size_t sent = 0; /* bytes of the first frame, its head included */
  uint32_t posted = 0;
  Signal gone; /* frames that are sent */
  // Incoming bytes are read by the link's thread alone.
  Frame in{};
  size_t got = 0;
};

TcpLink::TcpLink(std::map<int64_t, Socket> sockets, const Waiter &waiter, std::atomic<uint32_t> &aborted, Tell tell)
    : waiter(waiter), aborted(aborted), tell(std::move(tell)), wakeFile(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (auto &[rank, socket] : sockets) {
    auto peer = std::make_unique<Peer>();
    peer->rank = rank;
    peer->socket = std::move(socket);
    peers.emplace(rank, std::move(peer));
  }
  thread = std::thread([this] { loop(); });
}

TcpLink::~TcpLink() {
  for (auto &[rank, peer] : peers)
    post(rank, leaveChannel, {});
  // After a failure nobody may read any more.
  const auto end = NetworkClock::now() + std::chrono::seconds(aborted.load() ? 1 : 10);
  auto isWaiting = [&] {
    return std::any_of(peers.begin(), peers.end(), [](const auto &each) {
      std::lock_guard<std::mutex> guard(each.second->lock);
      return !each.second->broken && !each.second->out.empty();
    });
  };
  while (isWaiting() && NetworkClock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  closing = true;
  wake();
  thread.join();
  close(wakeFile);
}

void TcpLink::wake() const {
  uint64_t one = 1;
  ssize_t ignored = write(wakeFile, &one, sizeof one);
  (void)ignored;
}

TcpLink::Inbox &TcpLink::inbox(int64_t rank, uint32_t channel) {
  std::lock_guard<std::mutex> guard(inboxLock);
  return inboxes[{rank, channel}];
}

void TcpLink::end(Peer &peer) {
  peer.broken = true;
  int64_t nobody = -1;
  if (!peer.left)
    lostRank.compare_exchange_strong(nobody, peer.rank);
}

/// Sends as much as the connection takes. The caller has the peer's lock.
void TcpLink::flush(Peer &peer) {
  while (!peer.broken && !peer.out.empty()) {
    Frame &frame = peer.out.front();
    const size_t head = std::min(peer.sent, sizeof(Head)), body = peer.sent - head;
    iovec parts[] = {{reinterpret_cast<char *>(&frame.head) + head, sizeof(Head) - head},
                     {frame.data.data() + body, frame.data.size() - body}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    ssize_t sent = sendmsg(peer.socket.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0 && errno == EAGAIN)
      return;
    if (sent < 0)
      return end(peer);
    peer.sent += static_cast<size_t>(sent);
    if (peer.sent < sizeof(Head) + frame.data.size())
      continue;
    peer.out.pop_front();
    peer.sent = 0;
    Waiter::raise(peer.gone);
  }
}

void TcpLink::post(int64_t rank, uint32_t channel, std::vector<std::byte> data) {
  Peer &peer = *peers.at(rank);
  std::lock_guard<std::mutex> guard(peer.lock);
  Head head{channel, 0, data.size()};
  peer.out.push_back({head, std::move(data)});
  ++peer.posted;
  if (peer.out.size() > 1)
    return; // the link's thread is at it
  flush(peer);
  if (!peer.out.empty())
    wake();
}

void TcpLink::drain(int64_t rank, size_t most, const Describe &wait) {
  Peer &peer = *peers.at(rank);
  uint32_t posted = 0;
  {
    // The link's thread posts answers, too.
    std::lock_guard<std::mutex> guard(peer.lock);
    posted = peer.posted;
  }
  waiter.await(peer.gone, posted - static_cast<uint32_t>(most), wait);
}

int64_t TcpLink::take(int64_t rank, uint32_t channel, void *into, int64_t bytes, const Describe &wait) {
  Inbox &box = inbox(rank, channel);
  waiter.await(box.posted, box.taken + 1, wait);
  ++box.taken;
  std::vector<std::byte> message;
  {
    std::lock_guard<std::mutex> guard(box.lock);
    message = std::move(box.messages.front());
    box.messages.pop_front();
  }
  const auto length = static_cast<int64_t>(message.size());
  std::memcpy(into, message.data(), static_cast<size_t>(std::min(length, bytes)));
  return length;
}

void TcpLink::abort(int status) noexcept {
  const int32_t code = status;
  const auto *first = reinterpret_cast<const std::byte *>(&code);
  for (auto &[rank, peer] : peers)
    post(rank, abortChannel, {first, first + sizeof code});
}

void TcpLink::speak() noexcept {
  for (auto &[rank, peer] : peers)
    post(rank, spokenChannel, {});
}

TcpLink::Notes TcpLink::ask(std::span<const int64_t> ranks) {
  for (int64_t rank : ranks) {
    Inbox &box = inbox(rank, answerChannel);
    std::lock_guard<std::mutex> guard(box.lock);
    box.messages.clear(); // of an earlier question
  }
  for (int64_t rank : ranks)
    post(rank, questionChannel, {});
  GatheredNotes gathered;
  for (auto end = NetworkClock::now() + std::chrono::seconds(1); NetworkClock::now() < end;) {
    for (int64_t rank : ranks) {
      Inbox &box = inbox(rank, answerChannel);
      std::lock_guard<std::mutex> guard(box.lock);
      if (box.messages.empty())
        continue;
      gathered.add(rank, box.messages.front());
      box.messages.pop_front();
    }
    if (gathered.answers() == ranks.size())
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return gathered.notes(ranks, /*always=*/true);
}

void TcpLink::arrived(Peer &peer, Frame frame) {
  switch (frame.head.channel) {
  case abortChannel: {
    int32_t status = 0;
    std::memcpy(&status, frame.data.data(), std::min(sizeof status, frame.data.size()));
    told = true;
    uint32_t none = 0;
    aborted.compare_exchange_strong(none, static_cast<uint32_t>(std::max(status, 1)));
    return;
  }
  case leaveChannel:
    peer.left = true;
    return;
  case spokenChannel:
    told = true;
    return;
  case questionChannel:
    return post(peer.rank, answerChannel, bytesOf(tell()));
  default: {
    Inbox &box = inbox(peer.rank, frame.head.channel);
    {
      std::lock_guard<std::mutex> guard(box.lock);
      box.messages.push_back(std::move(frame.data));
    }
    Waiter::raise(box.posted);
  }
  }
}

void TcpLink::read(Peer &peer) {
  // The number of rounds is bounded, because other connections wait to be read too.
  for (int rounds = 0; rounds < 16; ++rounds) {
    const bool inHead = peer.got < sizeof(Head);
    const size_t body = inHead ? 0 : peer.got - sizeof(Head);
    void *to = inHead ? reinterpret_cast<char *>(&peer.in.head) + peer.got
                      : reinterpret_cast<char *>(peer.in.data.data()) + body;
    const size_t wanted = inHead ? sizeof(Head) - peer.got : peer.in.data.size() - body;
    ssize_t got = recv(peer.socket.number(), to, wanted, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
      return;
    if (got <= 0)
      return end(peer);
    peer.got += static_cast<size_t>(got);
    if (peer.got == sizeof(Head))
      peer.in.data.resize(peer.in.head.bytes);
    if (peer.got < sizeof(Head) || peer.got < sizeof(Head) + peer.in.data.size())
      continue;
    peer.got = 0;
    arrived(peer, std::move(peer.in));
    peer.in = {};
  }
}

void TcpLink::loop() {
  while (!closing) {
    std::vector<pollfd> files{{wakeFile, POLLIN, 0}};
    std::vector<Peer *> open{nullptr};
    for (auto &[rank, peer] : peers) {
      if (peer->broken)
        continue;
      std::lock_guard<std::mutex> guard(peer->lock);
      files.push_back({peer->socket.number(), static_cast<short>(peer->out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      open.push_back(peer.get());
    }
    if (poll(files.data(), files.size(), /*milliseconds=*/1000) <= 0)
      continue;
    uint64_t ignored;
    while (::read(wakeFile, &ignored, sizeof ignored) > 0)
      ;
    for (size_t i = 1; i < files.size(); ++i) {
      if (files[i].revents & POLLOUT) {
        std::lock_guard<std::mutex> guard(open[i]->lock);
        flush(*open[i]);
      }
      if (files[i].revents & (POLLIN | POLLHUP | POLLERR))
        read(*open[i]);
    }
  }
}

} // namespace dtcc::rt
