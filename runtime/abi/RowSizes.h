//===- RowSizes.h - Sizes of an exchange of rows --------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes and operands of a dispatch_rows or combine_rows (Collectives.def). The compiler reserves memory by these
// formulas, the runtime checks it and works in it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_ROWSIZES_H
#define DTCC_RUNTIME_ABI_ROWSIZES_H

#include <cstddef>
#include <cstdint>

namespace dtcc {

struct RowSizes {
  int64_t members = 1; /* of the group */
  int64_t tokens = 0;  /* of a member */
  int64_t picks = 1;   /* of a token */
  /// Rows of picks that a member has room for (--moe-capacity); 0: rows are those of tokens, and there is room for all.
  int64_t room = 0;

  constexpr bool isBounded() const { return room > 0; }
  /// The most rows of a token that go out: one to each member that it picked, or with a bound one for each pick.
  constexpr int64_t copies() const { return isBounded() || picks < members ? picks : members; }
  /// Rows of a member on the side of the experts.
  constexpr int64_t rowsOfExperts() const { return isBounded() ? room : members * tokens; }
  /// Rows that come back to a member, before they are added up.
  constexpr int64_t rowsReturned() const { return tokens * copies(); }
  /// Rows that a GPU packs for each member and sends at a time: half as many again as a member gets if all get the
  /// same. More are sent in rounds.
  constexpr int64_t rowsOfRound() const {
    const int64_t rows = (3 * tokens * copies() + 2 * members - 1) / (2 * members);
    return rows < tokens ? rows : tokens;
  }
  constexpr int64_t rowsPacked() const { return members * rowsOfRound(); }
  /// Integers of 64 bits that the lists take.
  constexpr int64_t listLength() const { return 4 * members + rowsOfExperts() + 2 * tokens * copies(); }
};

/// Numbers of the operands of an exchange of rows.
struct RowOperands {
  static constexpr size_t rows = 0, picks = 1, out = 2;
  bool isReturned; /* combine_rows alone has room for rows that come back */
  bool isPacked;   /* GPUs alone pack rows; those that go back with a bound lie side by side already */

  constexpr RowOperands(bool combines, bool isBounded, bool isForGpus)
      : isReturned(combines), isPacked(isForGpus && !(combines && isBounded)) {}
  constexpr size_t returned() const { return out + isReturned; }
  constexpr size_t packed() const { return returned() + isPacked; }
  constexpr size_t lists() const { return packed() + 1; }
  constexpr size_t count() const { return lists() + 1; }
};

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_ROWSIZES_H
