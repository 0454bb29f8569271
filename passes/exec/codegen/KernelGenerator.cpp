//===- KernelGenerator.cpp - A fused region becomes machine code
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the loops; CellEmitter fills them.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/codegen/KernelGenerator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/exec/codegen/KernelBuilder.h"

using namespace mlir;

namespace dtcc::exec {
namespace {

/// Cells of the innermost loop that one iteration of a map kernel does at most.
constexpr int64_t kBlock = 4096;
/// Vectors of columns that a column kernel carries through its rows.
constexpr int64_t kColumnVectors = 4;
/// Cells of a row whose sum is begun anew and then added to that of the row, so that the rounding error of a sum over
/// millions of cells stays that of a thousand for each lane.
constexpr int64_t kSumCells = 16384;
/// Operations on cells that are worth waking a thread for.
constexpr int64_t kWorthAThread = 16384;

/// Lanes of a vector. LLVM splits them where registers are narrower.
constexpr int64_t kLanes = 16;

class KernelGenerator : KernelBuilder {
public:
  using KernelBuilder::KernelBuilder;

  FailureOr<GeneratedKernel> run();

private:
  void emitMap(CellEmitter &emitter, Value iteration);
  void emitRow(CellEmitter &emitter, Value iteration);
  void emitColumn(CellEmitter &emitter, Value iteration);

  /// A vector loop over [low, high) of the last loop, with a masked end, carrying values.
  SmallVector<Value> vectorLoop(CellEmitter &emitter, SmallVector<Value> indices, Value low, Value high, bool divides,
                                ValueRange carried, BodyBuilder fill);
  /// Loops over all reduced loops but the last around vectorLoop. The values for `reduces` are added up in chunks.
  SmallVector<Value> rowLoop(CellEmitter &emitter, ArrayRef<int64_t> around, SmallVector<Value> indices,
                             ArrayRef<graph::ReduceOp> reduces, ValueRange carried, BodyBuilder fill);

  /// The columns of one iteration of a column kernel: vectors side by side.
  struct ColumnBlock {
    /// Indices of the loops; those of the row loops are set where rows are visited.
    SmallVector<Value> indices;
    /// The first column of each vector, and its mask, which is null if all lanes are in range.
    SmallVector<Value> starts, masks;
    /// Neutral elements of the sums: of all reductions for the first vector, then for the next.
    SmallVector<Value> zero;

    Position positionOf(size_t vector) const {
      Position position{indices, masks[vector]};
      position.indices.back() = starts[vector];
      return position;
    }
  };
  ColumnBlock placeColumns(CellEmitter &emitter, Value iteration);
  /// Adds one row to the sums, and stores the outputs that have cells in it.
  SmallVector<Value> addRow(CellEmitter &emitter, const ColumnBlock &block, ValueRange sums);
  /// Adds the rows of one loop in chunks: each has sums of its own, which are added to the column's.
  SmallVector<Value> addChunks(CellEmitter &emitter, ColumnBlock &block, int64_t loop, ValueRange sums);
  /// Adds the rows of some loops, the last of which is in chunks.
  SmallVector<Value> addRows(CellEmitter &emitter, ColumnBlock &block, ArrayRef<int64_t> rows, ValueRange sums);

  int64_t extent = 1, blocks = 1;
};

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelGenerator::vectorLoop(CellEmitter &emitter, SmallVector<Value> indices, Value low, Value high,
                                               bool divides, ValueRange carried, BodyBuilder fill) {
  auto at = [&](Value index, Value mask, ValueRange values) {
    Position position{indices, mask};
    position.indices.back() = index;
    emitter.moveTo(position);
    return fill(values);
  };
  Value end = high;
  if (!divides) {
    Value length = arith::SubIOp::create(builder, loc, high, low);
    Value rest = arith::RemSIOp::create(builder, loc, length, emitter.constantI64(kLanes));
    end = arith::SubIOp::create(builder, loc, high, rest);
  }
  scf::ForOp whole =
      forLoop(low, end, kLanes, carried, [&](Value index, ValueRange values) { return at(index, nullptr, values); });
  if (divides)
    return llvm::to_vector_of<Value>(whole.getResults());
  // Runs once, or not at all.
  scf::ForOp tail = forLoop(end, high, kLanes, whole.getResults(), [&](Value index, ValueRange values) {
    Value left = arith::SubIOp::create(builder, loc, high, index);
    Value count = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), left);
    Value mask = vector::CreateMaskOp::create(builder, loc, emitter.lanesOf(builder.getI1Type()), ValueRange{count});
    return at(index, mask, values);
  });
  return llvm::to_vector_of<Value>(tail.getResults());
}

SmallVector<Value> KernelGenerator::rowLoop(CellEmitter &emitter, ArrayRef<int64_t> around, SmallVector<Value> indices,
                                            ArrayRef<graph::ReduceOp> reduces, ValueRange carried, BodyBuilder fill) {
  const bool isLast = around.empty();
  const int64_t size = isLast ? loops.back().size : loops[around[0]].size;
  int64_t cellsEach = isLast ? 1 : loops.back().size;
  for (int64_t inner : around.drop_front(isLast ? 0 : 1))
    cellsEach *= loops[inner].size;

  auto loop = [&](Value low, Value high, ValueRange from) {
    if (isLast)
      return vectorLoop(emitter, indices, low, high, size % kLanes == 0, from, fill);
    scf::ForOp each = forLoop(low, high, 1, from, [&](Value index, ValueRange values) {
      indices[around[0]] = index;
      return rowLoop(emitter, around.drop_front(), indices, reduces, values, fill);
    });
    return llvm::to_vector_of<Value>(each.getResults());
  };
  Value begin = emitter.constantI64(0), end = emitter.constantI64(size);
  const int64_t chunk = std::max<int64_t>(1, kSumCells / cellsEach);
  if (reduces.empty() || size <= chunk)
    return loop(begin, end, carried);
  scf::ForOp chunks = forLoop(begin, end, chunk, carried, [&](Value low, ValueRange values) {
    Value high =
        arith::MinSIOp::create(builder, loc, arith::AddIOp::create(builder, loc, low, emitter.constantI64(chunk)), end);
    SmallVector<Value> start, next;
    for (graph::ReduceOp reduce : reduces)
      start.push_back(neutral(reduce, kLanes));
    for (auto [reduce, sum, part] : llvm::zip_equal(reduces, values, loop(low, high, start)))
      next.push_back(combine(reduce, sum, part));
    return next;
  });
  return llvm::to_vector_of<Value>(chunks.getResults());
}

//===----------------------------------------------------------------------===//
// The three kinds
//===----------------------------------------------------------------------===//

void KernelGenerator::emitMap(CellEmitter &emitter, Value iteration) {
  int64_t inner = loops.back().size, block = std::min(inner, kBlock);
  SmallVector<Value> indices(loops.size());
  Value low = emitter.constantI64(0), high = emitter.constantI64(inner);
  Value outer = iteration;
  if (blocks > 1) {
    Value part = remainder(iteration, blocks);
    outer = quotient(iteration, blocks);
    low = arith::MulIOp::create(builder, loc, part, emitter.constantI64(block));
    Value end = arith::AddIOp::create(builder, loc, low, emitter.constantI64(block));
    high = arith::MinSIOp::create(builder, loc, end, high);
  }
  delinearize(outer, llvm::to_vector(llvm::seq<int64_t>(0, loops.size() - 1)), indices);
  vectorLoop(emitter, indices, low, high, inner % kLanes == 0, {}, [&](ValueRange) -> SmallVector<Value> {
    storeOutputs(emitter, makeOutputs(emitter, [](Value) { return true; }, /*scalar=*/false), /*scalar=*/false);
    return {};
  });
}

void KernelGenerator::emitRow(CellEmitter &emitter, Value iteration) {
  SmallVector<int64_t> outer = loopsThatAre(/*reduced=*/false), around = loopsThatAre(/*reduced=*/true);
  around.pop_back();
  SmallVector<Value> indices(loops.size());
  delinearize(iteration, outer, indices);
  emitter.setInnerLoop(nullptr);
  emitRowPasses(emitter, indices,
                {kLanes,
                 [&](ArrayRef<graph::ReduceOp> reduces, ValueRange carried, BodyBuilder fill) {
                   return rowLoop(emitter, around, indices, reduces, carried, fill);
                 },
                 [&](graph::ReduceOp reduce, Value vector) { return fold(reduce, vector); },
                 [](llvm::function_ref<void()> store) { store(); },
                 [&](const Made &made) { storeOutputs(emitter, made, /*scalar=*/false); }});
}

KernelGenerator::ColumnBlock KernelGenerator::placeColumns(CellEmitter &emitter, Value iteration) {
  int64_t inner = loops.back().size, width = kColumnVectors * kLanes;
  ColumnBlock block;
  block.indices.resize(loops.size());
  Value outer = iteration, first = emitter.constantI64(0);
  if (blocks > 1) {
    Value part = remainder(iteration, blocks);
    outer = quotient(iteration, blocks);
    first = arith::MulIOp::create(builder, loc, part, emitter.constantI64(width));
  }
  SmallVector<int64_t> columns = loopsThatAre(/*reduced=*/false);
  columns.pop_back();
  delinearize(outer, columns, block.indices);

  int64_t vectors = std::min<int64_t>(kColumnVectors, llvm::divideCeil(inner, kLanes));
  for (int64_t v = 0; v < vectors; ++v) {
    block.starts.push_back(arith::AddIOp::create(builder, loc, first, emitter.constantI64(v * kLanes)));
    Value mask;
    if (inner % (vectors * kLanes) != 0) {
      Value left = arith::SubIOp::create(builder, loc, emitter.constantI64(inner), block.starts.back());
      Value count = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), left);
      mask = vector::CreateMaskOp::create(builder, loc, emitter.lanesOf(builder.getI1Type()), ValueRange{count});
    }
    block.masks.push_back(mask);
  }
  for (int64_t v = 0; v < vectors; ++v)
    for (graph::ReduceOp reduce : reductions)
      block.zero.push_back(neutral(reduce, kLanes));
  return block;
}

SmallVector<Value> KernelGenerator::addRow(CellEmitter &emitter, const ColumnBlock &block, ValueRange sums) {
  SmallVector<Value> next;
  for (size_t v = 0; v < block.starts.size(); ++v) {
    emitter.moveTo(block.positionOf(v));
    for (graph::ReduceOp reduce : reductions)
      next.push_back(combine(reduce, sums[next.size()], emitter.vectorOf(reduce.getX())));
    auto full = [&](Value value) { return isFull(value); };
    storeOutputs(emitter, makeOutputs(emitter, full, /*scalar=*/false), /*scalar=*/false);
  }
  return next;
}

SmallVector<Value> KernelGenerator::addChunks(CellEmitter &emitter, ColumnBlock &block, int64_t loop, ValueRange sums) {
  Value high = emitter.constantI64(loops[loop].size);
  scf::ForOp chunks = forLoop(emitter.constantI64(0), high, kRowChunk, sums, [&](Value begin, ValueRange values) {
    Value chunkEnd = arith::AddIOp::create(builder, loc, begin, emitter.constantI64(kRowChunk));
    Value end = arith::MinSIOp::create(builder, loc, chunkEnd, high);
    scf::ForOp chunk = forLoop(begin, end, 1, block.zero, [&](Value index, ValueRange inner) {
      block.indices[loop] = index;
      return addRow(emitter, block, inner);
    });
    SmallVector<Value> next;
    for (auto [number, sum] : llvm::enumerate(chunk.getResults()))
      next.push_back(combine(reductions[number % reductions.size()], values[number], sum));
    return next;
  });
  return llvm::to_vector_of<Value>(chunks.getResults());
}

SmallVector<Value> KernelGenerator::addRows(CellEmitter &emitter, ColumnBlock &block, ArrayRef<int64_t> rows,
                                            ValueRange sums) {
  if (rows.size() == 1)
    return addChunks(emitter, block, rows[0], sums);
  Value high = emitter.constantI64(loops[rows[0]].size);
  scf::ForOp loop = forLoop(emitter.constantI64(0), high, 1, sums, [&](Value index, ValueRange values) {
    block.indices[rows[0]] = index;
    return addRows(emitter, block, rows.drop_front(), values);
  });
  return llvm::to_vector_of<Value>(loop.getResults());
}

void KernelGenerator::emitColumn(CellEmitter &emitter, Value iteration) {
  ColumnBlock block = placeColumns(emitter, iteration);
  SmallVector<Value> sums = addRows(emitter, block, loopsThatAre(/*reduced=*/true), block.zero);
  for (size_t v = 0; v < block.starts.size(); ++v) {
    emitter.moveTo(block.positionOf(v));
    for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      for (auto [number, reduce] : llvm::enumerate(reductions))
        if (reduce.getY() == value)
          emitter.storeVector(outputAccesses[index], sums[v * reductions.size() + number], accumulate[index],
                              firstSlot);
  }
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

FailureOr<GeneratedKernel> KernelGenerator::run() {
  if (failed(collectLoops()))
    return failure();
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, pointer, i64, i64});
  GeneratedKernel kernel;
  kernel.function = LLVM::LLVMFuncOp::create(builder, loc, source.name, type);
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = kernel.function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);

  int64_t cells = 1;
  for (const KernelLoop &loop : loops) {
    cells *= loop.size;
    if (!loop.reduced && &loop != &loops.back())
      extent *= loop.size;
  }
  if (domain.kind == KernelKind::Map)
    blocks = llvm::divideCeil(loops.back().size, kBlock);
  if (domain.kind == KernelKind::Column)
    blocks = llvm::divideCeil(loops.back().size, kColumnVectors * kLanes);
  extent *= blocks;

  CellEmitter emitter(builder, loc, domain, kLanes);
  auto buffer = [&](unsigned number) -> Value {
    Value address = LLVM::GEPOp::create(builder, loc, pointer, pointer, entry->getArgument(1),
                                        ArrayRef<LLVM::GEPArg>{int32_t(number)});
    return LLVM::LoadOp::create(builder, loc, pointer, address);
  };
  if (failed(bind(emitter, entry->getArgument(0), buffer)))
    return failure();
  forLoop(entry->getArgument(2), entry->getArgument(3), 1, {}, [&](Value iteration, ValueRange) -> SmallVector<Value> {
    switch (domain.kind) {
    case KernelKind::Map:
      emitMap(emitter, iteration);
      break;
    case KernelKind::Row:
      emitRow(emitter, iteration);
      break;
    case KernelKind::Column:
      emitColumn(emitter, iteration);
      break;
    }
    return {};
  });
  LLVM::ReturnOp::create(builder, loc, ValueRange{});

  contract(kernel.function);
  kernel.extent = extent;
  int64_t cellsPerIteration = std::max<int64_t>(1, cells / extent) * std::max<int64_t>(1, ops.size());
  kernel.grain = std::max<int64_t>(1, kWorthAThread / cellsPerIteration);
  kernel.flops = flops();
  kernel.bytes = bytes();
  return kernel;
}
} // namespace

FailureOr<GeneratedKernel> generateKernel(OpBuilder &builder, const KernelSource &source) {
  return KernelGenerator(builder, source).run();
}

} // namespace dtcc::exec
