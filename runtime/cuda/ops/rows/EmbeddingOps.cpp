//===- EmbeddingOps.cpp - Embeddings as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/cuda/kernels/rows/Embedding.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/cuda/ops/rows/SortedRows.h"

#include <string>
#include <vector>

namespace dtcc::rt::cuda {
namespace {

Rows rowsOf(const dtcc_view &view) { return {nullptr, strideOf(view, 0), view.sizes[1] == 1 ? 1 : view.strides[1]}; }

class EmbeddingOp final : public CudaOp {
public:
  EmbeddingOp(const CheckedOperands &operands, Rank &, Launcher &launcher) {
    operands.expect(3, 1);
    const dtcc_view &table = operands.floats(0, "table", {-1, -1});
    ids = IntegerOperand(operands, 1, "ids", -1);
    const dtcc_view &out =
        operands.tensor(2, "out", {ids.size(), table.sizes[1]}, static_cast<dtcc_dtype>(table.dtype));
    communicator = operands.communicator(0);
    cellBytes = dtcc_dtype_size(table.dtype);
    p.table = rowsOf(table), p.out = rowsOf(out);
    p.rows = ids.size(), p.columns = table.sizes[1], p.tableRows = table.sizes[0];
    cells = Kernel(launcher, "Embedding", cellBytes == 2 ? "embedding_2" : "embedding_4");
    wide = Kernel(launcher, "Embedding", "embedding_16");
    blocks = loopBlocks(p.rows, launcher);
  }
  void run(Rank &rank, const Call &call) override {
    EmbeddingLookup here = p;
    here.table.data = call.buffers[0], here.out.data = call.buffers[2], here.ids = ids.at(call);
    here.offset = rank.groupIndex(communicator) * p.tableRows;
    // Rows of whole units of 16 bytes are moved in these.
    const int64_t unit = 16 / cellBytes;
    bool whole = here.columns % unit == 0;
    for (const Rows *rows : {&here.table, &here.out})
      whole &= rows->columnStride == 1 && rows->rowStride % unit == 0 && isAligned(rows->data, 16);
    if (whole)
      here.columns /= unit, here.table.rowStride /= unit, here.out.rowStride /= unit;
    (whole ? wide : cells)(call, blocks, embeddingThreads, here);
  }

private:
  EmbeddingLookup p = {};
  IntegerOperand ids;
  int64_t communicator, cellBytes, blocks;
  Kernel cells, wide;
};

class ScatterAddOp final : public CudaOp {
public:
  ScatterAddOp(const CheckedOperands &operands, Rank &, Launcher &launcher) {
    operands.expect(3, 3);
    const dtcc_view &dout = operands.floats(0, "dout", {-1, -1});
    ids = IntegerOperand(operands, 1, "ids", dout.sizes[0]);
    const dtcc_view &dtable = operands.tensor(2, "dtable", {-1, dout.sizes[1]});
    communicator = operands.communicator(0);
    accumulate = operands.accumulation(1);
    p.dout = rowsOf(dout), p.dtable = rowsOf(dtable);
    p.rows = dout.sizes[0], p.columns = dout.sizes[1], p.keys = dtable.sizes[0], p.paddingId = operands.integer(2);
    if (accumulate != Accumulation::Always)
      zeros = bindFill(dtable, 0, launcher);
    p.segment = static_cast<int32_t>(gpu_workspace::scatterSegment(p.columns));
    while (int64_t{1} << p.widthBits < std::min<int64_t>(p.columns, embeddingThreads))
      ++p.widthBits;
    const int64_t sharedBytes = scatterSharedBytes(p.segment, p.widthBits);
    shape = {{1, static_cast<unsigned>(partsOf(p.columns, int64_t{1} << p.widthBits)), 1},
             {embeddingThreads, 1, 1},
             static_cast<unsigned>(sharedBytes)};
    ofRows = Kernel(launcher, "Embedding", (std::string("scatter_add_") + typeName(dout.dtype)).c_str(), sharedBytes);
    ofParts = Kernel(launcher, "Embedding", "scatter_add_parts", sharedBytes);
    WorkspaceLayout layout;
    sorted = std::make_unique<SortedRows>(operands, p.rows, p.keys, launcher, layout);
    // The compiler plans this workspace by gpu_workspace::scatterAdd, which counts the same parts.
    for (int64_t segments = partsOf(p.rows, p.segment); segments > 1; segments = partsOf(2 * segments, p.segment)) {
      const uint64_t sums = layout.take(2 * segments * p.columns * int64_t{sizeof(float)});
      parts.push_back({2 * segments, sums, layout.take(2 * segments * int64_t{sizeof(int32_t)})});
    }
    launcher.reserveWorkspace(layout.bytes());
  }
  void run(Rank &rank, const Call &call) override {
    ScatterAdd here = p;
    here.dout.data = call.buffers[0], here.dtable.data = call.buffers[2], here.ids = ids.at(call);
    here.offset = rank.groupIndex(communicator) * p.keys;
    if (!accumulates(accumulate, rank)) {
      Call fill = call;
      fill.buffers = call.buffers + 2;
      zeros->run(rank, fill);
    }
    sorted->sort(call, here.ids, here.offset, p.paddingId);
    here.order = sorted->order(call);
    for (size_t level = 0; level <= parts.size(); ++level) {
      if (level > 0) {
        here.dout = {here.parts, p.columns, 1}, here.rowKeys = here.partKeys;
        here.rows = parts[level - 1].rows;
      }
      const bool isLast = level == parts.size();
      here.parts = isLast ? nullptr : at<float>(call, parts[level].sums);
      here.partKeys = isLast ? nullptr : at<int32_t>(call, parts[level].keys);
      shape.grid[0] = static_cast<unsigned>(partsOf(here.rows, p.segment * (embeddingThreads >> p.widthBits)));
      (level == 0 ? ofRows : ofParts)(call, shape, here);
    }
  }

private:
  /// Partial sums of a level, in the workspace.
  struct Parts {
    int64_t rows;
    uint64_t sums, keys;
  };
  ScatterAdd p = {};
  IntegerOperand ids;
  int64_t communicator;
  Accumulation accumulate;
  std::unique_ptr<CudaOp> zeros;
  std::unique_ptr<SortedRows> sorted;
  std::vector<Parts> parts; // of all levels but the last
  LaunchShape shape;
  Kernel ofRows, ofParts;
};

} // namespace

DTCC_CUDA_OP(EMBEDDING, EmbeddingOp)
DTCC_CUDA_OP(SCATTER_ADD, ScatterAddOp)

} // namespace dtcc::rt::cuda
