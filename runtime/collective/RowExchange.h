//===- RowExchange.h - Tokens to experts and back ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A member holds some experts and some tokens, and a router has picked experts for every
// token. A token's row goes to each member one of whose experts it picked, and what these
// make of it comes back and is added up. The picks of all tokens are known to every
// member (they are a few integers a token), so nobody has to be told how much comes.
//
// Rows keep the place of their token among those of all members: in the worst case all
// tokens want one member, and its memory is planned for that.
//
// With a bound (--moe-capacity) a member has room for so many rows, one for each pick. It keeps
// the first picks of its experts in the order of all tokens, and the rows of later ones are not
// sent. All members know all picks, so they agree on which these are.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_ROWEXCHANGE_H
#define DTCC_RUNTIME_COLLECTIVE_ROWEXCHANGE_H

#include "runtime/collective/Communicator.h"

namespace dtcc::rt {

struct RowExchange {
  /// Tokens of a member, picks of a token, experts of a member.
  int64_t tokens = 0, picks = 0, experts = 1;
  /// [members * tokens, picks]: experts numbered over the group.
  const void *ids = nullptr;
  dtcc_dtype idType = DTCC_I64;
  /// Rows of picks that a member has room for; 0: rows are those of tokens, and there is room for all.
  int64_t room = 0;

  /// The most rows of a token that go out.
  int64_t copies(int64_t members) const { return members < picks && room == 0 ? members : picks; }
  /// Integers that the lists of an exchange take.
  int64_t listLength(int64_t members) const {
    return 4 * members + (room > 0 ? room : tokens * members) + 2 * tokens * copies(members);
  }
};

/// `out` (members * tokens rows) = the rows of `in` (tokens) of all members whose token picked an expert of
/// this one, each in its place, and zeros elsewhere. With a bound `out` has
/// `room` rows: those of the kept picks, then zeros. `lists` has room for `listLength` integers. Throws Error for a
/// pick that is no expert.
void dispatchRows(Communicator &group, const RowExchange &exchange, const void *in, void *out, int64_t rowBytes,
                  int64_t *lists);
/// `out` (tokens rows of `columns`) = per row of `in` (members * tokens) the sum, in the order of the group, of those
/// of the members that it was dispatched to. With a bound `in` has `room` rows, those of the kept picks. `received` has
/// room for tokens * copies rows.
void combineRows(Communicator &group, const RowExchange &exchange, const void *in, void *out, int64_t columns,
                 dtcc_dtype type, void *received, int64_t *lists);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_ROWEXCHANGE_H
