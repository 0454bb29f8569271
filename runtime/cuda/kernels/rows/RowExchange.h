//===- RowExchange.h - Parameters of the kernels that route rows to experts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tokens that go to each member, and those of each that come here, are numbered; what
// is sent to a member lies in one piece in the order of these numbers.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_ROWS_ROWEXCHANGE_H
#define DTCC_RUNTIME_CUDA_KERNELS_ROWS_ROWEXCHANGE_H

#include "runtime/cuda/kernels/Vectors.h"

namespace dtcc::rt::cuda {

constexpr int routeThreads = 256;

/// route_rows: a block for each member's tokens that go out, then for each member's that come in.
struct RouteRows {
  Integers ids; // [members, tokens, picks]: experts numbered over the group
  int64_t members, me, tokens, picks, experts;
  int32_t *numbers; // [2, members, tokens]: of a row among those of the member, or -1
  int32_t *counts;  // [2, members]; -1 where a pick is no expert
};

/// pack_rows_N: rows with numbers [first, first + room) to the member's piece, in units of N bytes. A block a row.
struct PackRows {
  const void *rows; // [members, tokens] if they are each member's, else [tokens]
  void *packed;     // [members, room]
  const int32_t *numbers;
  int64_t members, tokens, units, first, room;
  int32_t ofMembers;
};

/// route_picks: a block for the own tokens' picks of each member, then for each member's picks of this one. A member
/// keeps the first `room` picks of its experts in the order of all tokens.
struct RoutePicks {
  Integers ids; // [members, tokens, picks]: experts numbered over the group
  int64_t members, me, tokens, picks, experts, room;
  int32_t *numbers; // [tokens, picks]: of a kept pick's row among those for its member, or -1
  int32_t *counts;  // [2, members] of kept picks; -1 where a pick is no expert
};

/// pack_picks_N: the rows of kept picks as pack_rows_N does with those of tokens. A block a pick.
struct PackPickedRows {
  const void *rows; // [tokens]
  void *packed;     // [members, room]
  Integers ids;     // [tokens, picks]
  const int32_t *numbers;
  int64_t tokens, picks, experts, units, first, room;
};

/// sum_picks_TYPE: out[t] = the sum of the rows that came back for t, those of one member first. A block a row.
struct SumPickedRows {
  const void *received; // counts[m] rows of each member
  void *out;            // [tokens, columns]
  Integers ids;         // [tokens, picks]
  const int32_t *numbers, *counts;
  int64_t tokens, picks, experts, columns;
};

/// keep_picks: the picks of experts [first, first + experts) side by side, as many as there is room for, then -1. One
/// block.
struct KeepPicks {
  Integers ids; // [size]
  int64_t size, first, experts, room;
  void *picked;    // [room] of the type of ids: kept picks
  int64_t *places; // [room]: their numbers among all
  int64_t *wanted; // picks of these experts, kept or not; null: nobody asks
};

/// spread_rows_N: the last counts[m] rows of each member's `tokens` to their places, zeros between them. A thread a
/// unit of a row: none reads what another writes. Grid: units, members.
struct SpreadRows {
  void *rows; // [members, tokens]
  const int32_t *numbers, *counts;
  int64_t tokens, units;
};

/// sum_rows_TYPE: out[t] = the sum, in the order of members, of the rows that came back for t. A block a row.
struct SumRows {
  const void *received; // counts[m] rows of each member
  void *out;            // [tokens, columns]
  const int32_t *numbers, *counts;
  int64_t members, tokens, columns;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_ROWS_ROWEXCHANGE_H
