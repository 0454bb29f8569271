//===- Socket.cpp - A connection by TCP ----------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/network/Socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

namespace dtcc::rt {
namespace {

/// Waits for `events` on a socket; false if they do not come until `end`.
bool await(int file, short events, NetworkClock::time_point end) {
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - NetworkClock::now()).count();
    if (left <= 0)
      return false;
    pollfd wanted{file, events, 0};
    int found = poll(&wanted, 1, static_cast<int>(std::min<int64_t>(left, 1000)));
    if (found > 0)
      return true;
    if (found < 0 && errno != EINTR)
      return false;
  }
}

void prepare(int file) {
  int yes = 1;
  setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

} // namespace

std::vector<Address> Address::of(const std::string &host, int64_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  std::vector<Address> addresses;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    return addresses;
  for (addrinfo *each = found; each; each = each->ai_next) {
    Address &address = addresses.emplace_back();
    address.length = std::min<socklen_t>(each->ai_addrlen, sizeof(address.storage));
    std::memcpy(&address.storage, each->ai_addr, address.length);
  }
  freeaddrinfo(found);
  return addresses;
}

int64_t Address::port() const {
  return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6 *>(&storage)->sin6_port
                                             : reinterpret_cast<const sockaddr_in *>(&storage)->sin_port);
}

void Address::setPort(int64_t port) {
  (storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&storage)->sin6_port
                                 : reinterpret_cast<sockaddr_in *>(&storage)->sin_port) =
      htons(static_cast<uint16_t>(port));
}

bool Address::isLoopback() const {
  if (storage.ss_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in *>(&storage)->sin_addr.s_addr) >> 24 == 127;
  return storage.ss_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6 *>(&storage)->sin6_addr);
}

Address Address::ofAnyInterface() const {
  Address any = *this;
  if (storage.ss_family == AF_INET)
    reinterpret_cast<sockaddr_in *>(&any.storage)->sin_addr.s_addr = htonl(INADDR_ANY);
  else
    reinterpret_cast<sockaddr_in6 *>(&any.storage)->sin6_addr = in6addr_any;
  return any;
}

bool Address::isOfAnyInterface() const {
  Address any = ofAnyInterface();
  return std::memcmp(&storage, &any.storage, sizeof storage) == 0;
}

Socket::~Socket() {
  if (file >= 0)
    close(file);
}

Socket Socket::connect(const Address &to, NetworkClock::time_point end) {
  Socket made(socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made)
    return {};
  prepare(made.file);
  const auto *address = reinterpret_cast<const sockaddr *>(&to.storage);
  if (::connect(made.file, address, to.length) == 0)
    return made;
  int error = 0;
  socklen_t length = sizeof(error);
  if (errno != EINPROGRESS || !await(made.file, POLLOUT, end) ||
      getsockopt(made.file, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0)
    return {};
  return made;
}

Socket Socket::listen(const Address &at) {
  Socket made(socket(at.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int yes = 1;
  // A run that begins again finds its port, though connections of the one before still fade.
  if (made && setsockopt(made.file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
      bind(made.file, reinterpret_cast<const sockaddr *>(&at.storage), at.length) == 0 &&
      ::listen(made.file, 1024) == 0)
    return made;
  return {};
}

Address Socket::own() const {
  Address address;
  address.length = sizeof(address.storage);
  getsockname(file, reinterpret_cast<sockaddr *>(&address.storage), &address.length);
  return address;
}

Address Socket::peer() const {
  Address address;
  address.length = sizeof(address.storage);
  getpeername(file, reinterpret_cast<sockaddr *>(&address.storage), &address.length);
  return address;
}

bool Socket::send(const void *data, size_t bytes, NetworkClock::time_point end) const {
  const auto *from = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t sent = ::send(file, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
      return false;
    if (sent < 0 && !await(file, POLLOUT, end))
      return false;
    from += std::max<ssize_t>(sent, 0);
    bytes -= static_cast<size_t>(std::max<ssize_t>(sent, 0));
  }
  return true;
}

bool Socket::receive(void *data, size_t bytes, NetworkClock::time_point end) const {
  auto *to = static_cast<char *>(data);
  while (bytes > 0) {
    ssize_t got = recv(file, to, bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
      return false;
    if (got < 0 && !await(file, POLLIN, end))
      return false;
    to += std::max<ssize_t>(got, 0);
    bytes -= static_cast<size_t>(std::max<ssize_t>(got, 0));
  }
  return true;
}

} // namespace dtcc::rt
