//===- ContentHash.cpp - Whether bytes are as they were written
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/ContentHash.h"

#include "runtime/core/FormatText.h"

// Header only: programs link nothing more.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtcc::rt {

uint64_t contentHash(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }
uint64_t contentHash(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::string hashText(uint64_t hash) { return formatText("%016llx", static_cast<unsigned long long>(hash)); }

} // namespace dtcc::rt
