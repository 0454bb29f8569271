//===- SequenceOrder.h - Which positions of a sequence a rank holds
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that split a sequence hold equal numbers of rows. As positions come, the last of n
// ranks does 2n - 1 times the work of the first under a causal mask. In the zig-zag order
// the sequence is cut into 2n chunks, and shard r holds chunks n - 1 - r and n + r, an early
// and a late one: all have the same work (Llama 3, arXiv 2407.21783, section 3.3.2, with the
// ranks numbered the other way: here the last chunk is the last one of the last shard, so
// that what pads a sequence lies at the end in either order).
//
// The compiler and the runtime must agree on it: this is the one place that says it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_SEQUENCEORDER_H
#define DTCC_RUNTIME_ABI_SEQUENCEORDER_H

#include <cstdint>

namespace dtcc {

/// The position that row `row` holds, where the shards of all ranks, in their order, have `rows` rows
/// together. `chunks` is 0 (positions as they come) or twice the number of shards, and then divides `rows`.
constexpr int64_t positionOfRow(int64_t row, int64_t rows, int64_t chunks) {
  if (chunks == 0)
    return row;
  int64_t size = rows / chunks, shards = chunks / 2, shard = row / (2 * size), rest = row % (2 * size);
  return rest < size ? (shards - 1 - shard) * size + rest : (shards + shard) * size + rest - size;
}

/// The way back: the row that holds `position`.
constexpr int64_t rowOfPosition(int64_t position, int64_t rows, int64_t chunks) {
  if (chunks == 0)
    return position;
  int64_t size = rows / chunks, shards = chunks / 2, chunk = position / size, rest = position % size;
  return chunk < shards ? (shards - 1 - chunk) * 2 * size + rest : (chunk - shards) * 2 * size + size + rest;
}

/// The rows of all shards for a sequence of `length`: with what pads it to whole chunks, which must be at
/// most one.
constexpr int64_t orderedRows(int64_t length, int64_t chunks) {
  return chunks == 0 ? length : (length + chunks - 1) / chunks * chunks;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_SEQUENCEORDER_H
