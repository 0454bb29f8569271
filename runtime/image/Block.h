//===- Block.h - Which cells of a whole tensor a rank holds --- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic between whole tensors and what a rank holds of them, in one place:
// loading, initialising, saving, checkpoints and input batches all use it. A block is
// a box of the whole; cells past the whole's size are padding and belong to nobody.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_BLOCK_H
#define DTCC_RUNTIME_IMAGE_BLOCK_H

#include "runtime/image/Rank.h"

#include <array>

namespace dtcc::rt {

/// One dimension of a block, in elements.
struct BlockDim {
  int64_t whole;  /* size of the whole dimension, without padding */
  int64_t start;  /* first cell of the block */
  int64_t valid;  /* cells of the block that are not padding, at least 0 */
  int64_t stride; /* between neighbours, in the block's memory */
};

/// The block of a tensor at one place of the mesh.
struct Block {
  int rank = 0;
  std::array<BlockDim, DTCC_MAX_RANK> dims;
};

/// Neighbouring cells: `length` elements from element `whole` of the row-major
/// whole tensor, at element `local` of the holder's memory.
struct Run {
  int64_t whole;
  int64_t local;
  int64_t length;
};

/// The block at `coordinates` of a tensor described by `dims`. Null `strides`
/// mean a packed row-major block, padding included.
Block makeBlock(const Mesh &mesh, const dtcc_dim *dims, int rank, const int64_t *coordinates, const int64_t *strides);

/// All valid cells of a block as runs, in ascending order of `whole`.
class BlockRuns {
public:
  explicit BlockRuns(const Block &block);
  /// The next run, or false at the end.
  bool next(Run &run);

private:
  Block block;
  int outer;          /* dimensions that are stepped through */
  int64_t length = 1; /* cells of one run */
  bool done = false;
  std::array<int64_t, DTCC_MAX_RANK> position{};
  std::array<int64_t, DTCC_MAX_RANK> wholeStride{};
};

/// Layout of a tensor of state on the ranks of a mesh.
struct StateLayout {
  std::vector<dtcc_dim> dims;
  /// Whether a rank holds only a shard of the bucket. If so, the fields below are the length of the bucket, the axes
  /// that shard it, and the offset of the packed block.
  bool shared = false;
  dtcc_axes flat{};
  int64_t bucketLength = 0;
  int64_t bucketOffset = 0;
  /// In a pipeline, the mesh axis of the stages and the stage that holds the tensor; -1 if all ranks hold it.
  int stageAxis = -1;
  int64_t stage = 0;

  int64_t elements() const;
};

StateLayout layoutOf(const Image &image, const dtcc_state &state);

/// The valid cells that the rank at `coordinates` holds, in ascending order of
/// `whole`. `local` counts from the start of the block (with `strides`, null:
/// packed) or of the rank's share of the bucket.
class HeldRuns {
public:
  HeldRuns(const Mesh &mesh, const StateLayout &layout, const int64_t *coordinates, const int64_t *strides);
  bool next(Run &run);

private:
  BlockRuns runs;
  int64_t offset = 0; /* of the block in the bucket */
  int64_t begin = 0;  /* the share, in elements of the bucket */
  int64_t end = INT64_MAX;
};

/// True if the rank at `coordinates` is the one that writes the cells it holds: the
/// first of its replicas.
bool ownsCells(const Mesh &mesh, const StateLayout &layout, const int64_t *coordinates);

/// A run of a state in a rank's memory.
struct StateRun {
  int64_t whole;
  std::byte *address;
  int64_t length;
};

/// The cells of a state that `rank` holds, with their addresses.
class StateRuns {
public:
  StateRuns(const Rank &rank, const dtcc_state &state);
  /// Runs whose elements, of `width` bytes, lie at `memory`, which begins with the element `origin` of the bucket's
  /// share.
  StateRuns(const Rank &rank, const dtcc_state &state, std::byte *memory, int64_t origin, int64_t width);
  bool next(StateRun &run);

private:
  HeldRuns runs;
  std::byte *base;
  int64_t origin = 0; /* the element that lies at `base` */
  int64_t width;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_BLOCK_H
