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

#include "runtime/abi/RowSizes.h"
#include "runtime/collective/Communicator.h"

namespace dtcc::rt {

struct RowExchange : RowSizes {
  bool combines = false; /* what experts made of rows comes back, else rows go to them */
  int64_t experts = 1;   /* of a member */
  int64_t columns = 1;   /* of a row */
  dtcc_dtype type = DTCC_F32, idType = DTCC_I64;

  int64_t rowBytes() const { return columns * dtcc_dtype_size(type); }
};

/// `out` (members * tokens rows) = the rows of `in` (tokens) of all members whose token picked an expert of
/// this one, each in its place, and zeros elsewhere. With a bound `out` has
/// `room` rows: those of the kept picks, then zeros. `ids` [members * tokens, picks] numbers experts over the group.
/// `lists` has room for `listLength` integers. Throws Error for a pick that is no expert.
void dispatchRows(Communicator &group, const RowExchange &exchange, const void *in, const void *ids, void *out,
                  int64_t *lists);
/// `out` (tokens rows) = per row of `in` (members * tokens) the sum, in the order of the group, of those
/// of the members that it was dispatched to. With a bound `in` has `room` rows, those of the kept picks. `returned` has
/// room for `rowsReturned` rows.
void combineRows(Communicator &group, const RowExchange &exchange, const void *in, const void *ids, void *out,
                 void *returned, int64_t *lists);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_ROWEXCHANGE_H
