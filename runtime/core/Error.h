//===- Error.h - How the runtime fails -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the runtime an error is an exception that carries one message and the
// exit status. Whoever catches it (Main.cpp, or a rank's thread) prints the
// message once and stops every rank. Nothing else throws.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_ERROR_H
#define DTCC_RUNTIME_CORE_ERROR_H

#include <sstream>
#include <stdexcept>
#include <string>

namespace dtcc::rt {

/// Exit statuses of a program; docs/exit-status.md explains each to users.
enum class Status : int {
  Done = 0,
  BadInput = 1,
  Usage = 2,
  Interrupted = 3,
  PeerLost = 4,
  Hang = 5,
  Device = 6,
  Write = 7,
  Memory = 8,
  Nonfinite = 9,
};

/// Names in messages come from models and files: a byte that controls the terminal is written as `\x1b`.
inline std::string printable(const std::string &text) {
  std::string result;
  for (char c : text) {
    constexpr char digits[] = "0123456789abcdef";
    if ((c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
      result += {'\\', 'x', digits[c / 16], digits[c % 16]};
    else
      result += c;
  }
  return result;
}

class Error : public std::runtime_error {
public:
  Error(Status status, const std::string &message) : std::runtime_error(printable(message)), status(status) {}
  Status status;
};

/// The arguments, printed one after the other.
template <typename... Parts> std::string message(const Parts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Bad input: lower case, no full stop, what was required and what was found.
template <typename... Parts> [[noreturn]] void fail(const Parts &...parts) {
  throw Error(Status::BadInput, message(parts...));
}
template <typename... Parts> [[noreturn]] void failWith(Status status, const Parts &...parts) {
  throw Error(status, message(parts...));
}

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_ERROR_H
