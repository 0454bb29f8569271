//===- ContentHash.h - Whether bytes are as they were written -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// XXH3, 64 bits: a bit that flipped on a disk or in memory is found, at the speed of memory. No protection against
// people.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_CONTENTHASH_H
#define DTCC_RUNTIME_CORE_CONTENTHASH_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dtcc::rt {

uint64_t contentHash(std::span<const std::byte> bytes);
uint64_t contentHash(std::string_view text);

/// A hash as 16 digits, the form in which files hold it.
std::string hashText(uint64_t hash);
constexpr size_t hashTextLength = 16;

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_CONTENTHASH_H
