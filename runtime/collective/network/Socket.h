//===- Socket.h - A connection by TCP ------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The start of a run needs little of TCP: every call has a deadline. Messages of the steps are
// TcpLink's.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_NETWORK_SOCKET_H
#define DTCC_RUNTIME_COLLECTIVE_NETWORK_SOCKET_H

#include <chrono>
#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace dtcc::rt {

using NetworkClock = std::chrono::steady_clock;

/// An address of IPv4 or IPv6, with a port. Plain bytes: processes send it to each other.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  /// Addresses of a host's name, with the port.
  static std::vector<Address> of(const std::string &host, int64_t port);
  int64_t port() const;
  void setPort(int64_t port);
  /// Whether only this host reaches it (127.0.0.0/8 or ::1).
  bool isLoopback() const;
  /// The address that stands for all of this host's, of the same family and with the same port.
  Address ofAnyInterface() const;
  bool isOfAnyInterface() const;
};

class Socket {
public:
  Socket() = default;
  explicit Socket(int file) : file(file) {}
  Socket(Socket &&other) noexcept : file(std::exchange(other.file, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(file, other.file);
    return *this;
  }
  ~Socket();

  /// Empty if it cannot connect until `end`.
  static Socket connect(const Address &to, NetworkClock::time_point end);
  /// Empty if the port is taken, or the address is not this host's.
  static Socket listen(const Address &at);

  explicit operator bool() const { return file >= 0; }
  int number() const { return file; }
  Address own() const;
  Address peer() const;
  /// All bytes until `end`, or false.
  bool send(const void *data, size_t bytes, NetworkClock::time_point end) const;
  bool receive(void *data, size_t bytes, NetworkClock::time_point end) const;

private:
  int file = -1;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_NETWORK_SOCKET_H
