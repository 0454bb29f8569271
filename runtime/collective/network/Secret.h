//===- Secret.h - Knowing the token of a run ------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The members of a run have a token in common. A process proves that it knows the token without
// saying it: it signs numbers that the other side has just drawn (HMAC of SHA-256). The
// arithmetic is libcrypto's, which is opened when a run spans several hosts.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_NETWORK_SECRET_H
#define DTCC_RUNTIME_COLLECTIVE_NETWORK_SECRET_H

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace dtcc::rt {

using Digest = std::array<unsigned char, 32>;

/// Numbers that nobody can guess.
Digest randomDigest();
/// Opens libcrypto, without which `sign` fails. Throws Error that says what to install.
void openSigning();
/// The signature of `text` by those who know `token`.
Digest sign(const std::string &token, std::string_view text);
/// Takes as long wherever the two differ.
bool isEqual(const Digest &a, const Digest &b);
/// As hexadecimal digits.
std::string textOf(const Digest &digest);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_NETWORK_SECRET_H
