//===- Collectives.h - Collectives and reductions as values --- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of Collectives.def and Reductions.def in C++. Whoever asks what a collective moves, costs or needs reads its
// row, so that a new collective is a new row. Values are those of dtcc_collective_op and dtcc_reduction.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_COLLECTIVES_H
#define DTCC_RUNTIME_ABI_COLLECTIVES_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace dtcc {

/// How values of several ranks, or of several cells, become one.
enum class Reduction : uint32_t {
#define DTCC_REDUCTION(NAME, ...) NAME,
#include "runtime/abi/Reductions.def"
};

enum class CollectiveKind : uint32_t {
#define DTCC_COLLECTIVE_OP(NAME, ...) NAME,
#include "runtime/abi/Collectives.def"
};

/// Elements of one side of a collective.
enum class Extent {
  None,
  /// Any number of elements.
  Part,
  /// A part for each member of the group.
  Whole,
};

/// The pairs of members between which bytes move.
enum class Traffic {
  /// No bytes, or so few that they take no time.
  None,
  /// Around a ring twice, or up and down a tree. Switches may reduce.
  TwiceAround,
  /// Around a ring once: everybody sends all but one part.
  OnceAround,
  /// A part from each member to each other.
  EachToEach,
  /// One message, to the next member.
  ToNext,
  /// Rows, to the members that hold an expert that they picked.
  ToPicked,
};

/// A row of Collectives.def.
struct CollectiveInfo {
  std::string_view mnemonic;
  Extent in, out;
  bool reduces;
  Traffic traffic;

  /// Of two values, for the input and the output, the one for the larger side: the output of a gather, else the input.
  template <typename T> constexpr T larger(T ofInput, T ofOutput) const {
    return in == Extent::Part && out == Extent::Whole ? ofOutput : ofInput;
  }
  /// Whether `from` elements in and `to` elements out fit a group of `members`.
  template <typename Count> constexpr bool fits(Count from, Count to, Count members) const {
    if (in == out)
      return from == to && (in != Extent::Whole || from % members == 0);
    return in == Extent::Part ? from * members == to : to * members == from;
  }
};

inline constexpr CollectiveInfo kCollectiveInfos[] = {
#define DTCC_COLLECTIVE_OP(NAME, C_NAME, MNEMONIC, IN, OUT, REDUCES, TRAFFIC)                                          \
  {MNEMONIC, Extent::IN, Extent::OUT, REDUCES, Traffic::TRAFFIC},
#include "runtime/abi/Collectives.def"
};
inline constexpr uint32_t kCollectives = sizeof(kCollectiveInfos) / sizeof(kCollectiveInfos[0]);
constexpr const CollectiveInfo &infoOf(CollectiveKind kind) { return kCollectiveInfos[static_cast<uint32_t>(kind)]; }
/// The row of a dtcc_collective_op, which must be below kCollectives.
constexpr const CollectiveInfo &collectiveInfo(uint32_t op) { return kCollectiveInfos[op]; }

inline constexpr std::string_view kReductionNames[] = {
#define DTCC_REDUCTION(NAME, C_NAME, MNEMONIC) MNEMONIC,
#include "runtime/abi/Reductions.def"
};
inline constexpr uint32_t kReductions = sizeof(kReductionNames) / sizeof(kReductionNames[0]);

constexpr std::string_view mnemonicOf(CollectiveKind kind) { return infoOf(kind).mnemonic; }
constexpr std::string_view mnemonicOf(Reduction reduction) { return kReductionNames[static_cast<uint32_t>(reduction)]; }

/// The row with a mnemonic; nothing if there is none.
constexpr std::optional<CollectiveKind> findCollective(std::string_view mnemonic) {
  for (uint32_t op = 0; op < kCollectives; ++op)
    if (kCollectiveInfos[op].mnemonic == mnemonic)
      return static_cast<CollectiveKind>(op);
  return std::nullopt;
}
constexpr std::optional<Reduction> findReduction(std::string_view mnemonic) {
  for (uint32_t number = 0; number < kReductions; ++number)
    if (kReductionNames[number] == mnemonic)
      return static_cast<Reduction>(number);
  return std::nullopt;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_COLLECTIVES_H
