//===- Block.cpp - Which cells of a whole tensor a rank holds - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/Block.h"

#include <algorithm>

namespace dtcc::rt {

Block makeBlock(const Mesh &mesh, const dtcc_dim *dims, int rank, const int64_t *coordinates, const int64_t *strides) {
  Block block;
  block.rank = rank;
  int64_t packed = 1;
  for (int d = rank; d-- > 0;) {
    int64_t local = dims[d].padded / mesh.extent(dims[d].axes);
    int64_t start = mesh.index(dims[d].axes, coordinates) * local;
    int64_t valid = std::clamp<int64_t>(dims[d].size - start, 0, local);
    block.dims[static_cast<size_t>(d)] = {dims[d].size, start, valid, strides ? strides[d] : packed};
    packed *= local;
  }
  return block;
}

BlockRuns::BlockRuns(const Block &block) : block(block), outer(block.rank) {
  int64_t stride = 1;
  for (int d = block.rank; d-- > 0;) {
    wholeStride[static_cast<size_t>(d)] = stride;
    stride *= block.dims[static_cast<size_t>(d)].whole;
    done |= block.dims[static_cast<size_t>(d)].valid == 0;
  }
  // Dimensions join the run from the innermost outwards while their neighbours are
  // neighbours both in the whole and in memory.
  while (outer > 0) {
    auto inner = static_cast<size_t>(outer - 1);
    const BlockDim &dim = block.dims[inner];
    if (dim.valid != 1 && (dim.stride != length || wholeStride[inner] != length))
      break;
    length *= dim.valid;
    --outer;
  }
}

bool BlockRuns::next(Run &run) {
  if (done)
    return false;
  run = {0, 0, length};
  for (size_t d = 0; d < static_cast<size_t>(block.rank); ++d) {
    run.whole += (block.dims[d].start + position[d]) * wholeStride[d];
    run.local += position[d] * block.dims[d].stride;
  }
  done = true;
  for (auto d = static_cast<size_t>(outer); d-- > 0;) {
    if (++position[d] < block.dims[d].valid) {
      done = false;
      break;
    }
    position[d] = 0;
  }
  return true;
}

int64_t StateLayout::elements() const {
  int64_t count = 1;
  for (const dtcc_dim &dim : dims)
    count *= dim.size;
  return count;
}

StateLayout layoutOf(const Image &image, const dtcc_state &state) {
  StateLayout layout;
  layout.dims.assign(state.dims, state.dims + state.rank);
  if (image.header().stage_axis != DTCC_NONE) {
    layout.stageAxis = static_cast<int>(image.header().stage_axis);
    layout.stage = static_cast<int64_t>(image.stageOf(state));
  }
  if (state.view != DTCC_NONE)
    return layout;
  const dtcc_bucket &bucket = image.buckets()[state.bucket];
  layout.shared = true;
  layout.flat = bucket.flat;
  layout.bucketLength = bucket.length;
  layout.bucketOffset = state.bucket_offset;
  return layout;
}

HeldRuns::HeldRuns(const Mesh &mesh, const StateLayout &layout, const int64_t *coordinates, const int64_t *strides)
    : runs(makeBlock(mesh, layout.dims.data(), static_cast<int>(layout.dims.size()), coordinates, strides)) {
  if (!layout.shared)
    return;
  int64_t share = layout.bucketLength / mesh.extent(layout.flat);
  offset = layout.bucketOffset;
  begin = mesh.index(layout.flat, coordinates) * share;
  end = begin + share;
}

bool HeldRuns::next(Run &result) {
  Run run;
  while (runs.next(run)) {
    int64_t from = run.local + offset;
    int64_t first = std::max(from, begin), last = std::min(from + run.length, end);
    if (first >= last)
      continue;
    result = {run.whole + first - from, first - begin, last - first};
    return true;
  }
  return false;
}

bool ownsCells(const Mesh &mesh, const StateLayout &layout, const int64_t *coordinates) {
  std::vector<bool> shards(mesh.axes.size());
  auto mark = [&](const dtcc_axes &axes) {
    for (int i = 0; i < axes.count; ++i)
      shards[axes.ids[i]] = true;
  };
  for (const dtcc_dim &dim : layout.dims)
    mark(dim.axes);
  if (layout.shared)
    mark(layout.flat);
  if (layout.stageAxis >= 0) {
    if (coordinates[layout.stageAxis] != layout.stage)
      return false;
    shards[static_cast<size_t>(layout.stageAxis)] = true;
  }
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (!shards[i] && !mesh.axes[i].time && coordinates[i] != 0)
      return false;
  return true;
}

static const int64_t *stridesOf(const Rank &rank, const dtcc_state &state) {
  return state.view == DTCC_NONE ? nullptr : rank.image.views()[state.view].strides;
}

StateRuns::StateRuns(const Rank &rank, const dtcc_state &state)
    : runs(rank.image.mesh(), layoutOf(rank.image, state), rank.coordinates.data(), stridesOf(rank, state)),
      width(dtcc_dtype_size(state.dtype)) {
  uint32_t view = state.view == DTCC_NONE ? rank.image.buckets()[state.bucket].view : state.view;
  base = static_cast<std::byte *>(rank.address(view, 0));
}

StateRuns::StateRuns(const Rank &rank, const dtcc_state &state, std::byte *memory, int64_t origin, int64_t width)
    : runs(rank.image.mesh(), layoutOf(rank.image, state), rank.coordinates.data(), stridesOf(rank, state)),
      base(memory), origin(origin), width(width) {}

bool StateRuns::next(StateRun &result) {
  Run run;
  if (!runs.next(run))
    return false;
  result = {run.whole, base + (run.local - origin) * width, run.length};
  return true;
}

} // namespace dtcc::rt
