//===- GpuKernelGenerator.cpp - A fused region becomes a GPU kernel
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/codegen/GpuKernelGenerator.h"
#include "dialects/interfaces/Bytes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/exec/codegen/KernelBuilder.h"
#include <limits>

using namespace mlir;

namespace dtcc::exec {
namespace {

constexpr int64_t kWarp = 32;
/// Threads of a block; twice as many where blocks are few.
constexpr int64_t kThreads = 256;
/// Registers of a multiprocessor are shared out so that it holds this many threads at least: 128 registers each.
constexpr int64_t kThreadsOnProcessor = 2 * kThreads;
/// Cells of a vector, at most.
constexpr int64_t kMostLanes = 8;
/// Blocks that keep a GPU of today busy: two for each multiprocessor. Below it, a block gets more threads and fewer
/// columns.
constexpr int64_t kBusy = 264;
/// Bytes of a row that memory hands out at once: no block of columns is narrower.
constexpr int64_t kSectorBytes = 32;
/// Cells of all inputs that a thread keeps in registers, or reads before it uses the first; and vectors of one input.
constexpr int64_t kHeldCells = 64;
constexpr int64_t kHeldVectors = 8;
constexpr unsigned kSharedSpace = 3;

class GpuKernelGenerator : KernelBuilder {
public:
  using KernelBuilder::KernelBuilder;
  using BodyOfLoop = llvm::function_ref<SmallVector<Value>(Value, ValueRange)>;

  FailureOr<GeneratedGpuKernel> run();

private:
  /// Calls `fn` with all accesses of memory and the alignments of their buffers.
  void eachAccess(llvm::function_ref<void(const CellAccess &, int64_t)> fn) const;
  int64_t widestVector(int64_t most) const;
  void chooseLaunch();
  void chooseRow(int64_t rows);
  void shareBlocks(int64_t rows);
  int64_t mostHeld() const { return std::clamp<int64_t>(kHeldCells / (lanes * fullInputs()), 1, kHeldVectors); }
  void chooseColumn(int64_t outer);
  /// Inputs with a cell for every iteration.
  int64_t fullInputs() const;
  void emitMap(CellEmitter &emitter);
  void emitRow(CellEmitter &emitter);
  void emitColumn(CellEmitter &emitter);

  /// The columns of a thread of a column kernel, and its place in its block.
  struct ThreadColumns {
    /// Indices of the loops; those of the row loops are set where rows are visited.
    SmallVector<Value> indices;
    /// Number of the thread among those side by side, and among those below each other.
    Value side, down;
    /// Whether the thread has columns, and not only the threads beside it; null if all have.
    Value inside;
  };
  ThreadColumns placeColumns();
  /// Adds `count` rows from `first` on, by halves before they are added to the sums; stores come when all is read.
  SmallVector<Value> addRows(CellEmitter &emitter, ThreadColumns &at, int64_t loop, Value first, int64_t count,
                             ValueRange sums);
  /// Adds the rows of some loops. The last of them is shared out to the threads of a column.
  SmallVector<Value> overRows(CellEmitter &emitter, ThreadColumns &at, ArrayRef<int64_t> rows, ValueRange carried);
  /// Folds the sums of the threads of a column that are in one warp by shuffles, and leaves those of each warp, or else
  /// of each thread, in shared memory.
  void leaveSums(const ThreadColumns &at, MutableArrayRef<Value> sums);
  /// The address of a sum in shared memory, which holds them as [reduction][group][column thread][lane].
  Value sharedSum(const ThreadColumns &at, size_t reduction, Value row);
  unsigned sumAlignment() const { return std::min(unsigned(lanes) * 4, kVectorBytes); }
  /// Lets the first threads of a block add up what all have left, and store it.
  void storeSums(CellEmitter &emitter, const ThreadColumns &at, ArrayRef<Value> sums);
  void storeAll(CellEmitter &emitter) {
    storeOutputs(emitter, makeOutputs(emitter, [](Value) { return true; }, /*scalar=*/false), /*scalar=*/false);
  }

  /// The reduction of one scalar of each thread of a row, known to all of them.
  Value foldThreads(graph::ReduceOp reduce, Value scalar);
  Value shuffle(Value value, int64_t distance);
  void onlyIf(Value condition, llvm::function_ref<void()> build);
  /// The rest of the kernel is run unless there is a predicate, at this address, that is 0.
  void obey(Value predicate);
  /// The address of an f32 in the block's shared memory.
  Value sharedAt(Value index);
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  }
  Value i64(int64_t value) { return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value)); }
  Value i32(int32_t value) { return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value)); }
  Value add(Value lhs, Value rhs) { return arith::AddIOp::create(builder, loc, lhs, rhs); }
  Value mul(Value lhs, int64_t rhs) { return arith::MulIOp::create(builder, loc, lhs, i64(rhs)); }

  GeneratedGpuKernel kernel;
  int64_t lanes = 1;
  /// Vectors of a map kernel, or of a row.
  int64_t vectors = 1;
  /// Threads of a row. The rows of a block have the same number: a power of two of a warp's, or one row has all.
  int64_t rowThreads = 1;
  /// Vectors of its row that a thread keeps from the first pass to the last; 0: it reads them in each pass.
  int64_t held = 0;
  /// Vectors that a thread reads before it uses the first, where it does not keep them.
  int64_t unroll = 1;
  /// Grid of a column kernel: blocks side by side, threads of a block side by side, and threads below each other.
  int64_t blocks = 1, across = 1, deep = 1;
  /// Sums that the threads of a column leave in shared memory: one for each warp, or each thread if a warp is not wider
  /// than the columns.
  int64_t groups = 1;
  Value thread, group;
  /// f32 of shared memory that are taken.
  int64_t shared = 0;
  LLVM::GlobalOp memory;
};

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static int64_t bytesOf(const CellAccess &access) { return getElementBytes(access.elementType); }

void GpuKernelGenerator::eachAccess(llvm::function_ref<void(const CellAccess &, int64_t)> fn) const {
  ArrayRef<int64_t> alignments = source.alignments;
  auto next = [&] { return std::exchange(alignments, alignments.drop_front()).front(); };
  for (const auto &entry : accesses)
    if (isa<BlockArgument>(entry.first))
      fn(entry.second, next());
    else if (entry.first.getDefiningOp<graph::ConstantOp>())
      fn(entry.second, kMostAligned);
  for (const CellAccess &access : outputAccesses)
    fn(access, next());
}

/// The widest vector of the innermost loop, of `most` lanes, that every buffer can be read and written by.
int64_t GpuKernelGenerator::widestVector(int64_t most) const {
  for (int64_t width = most; width > 1; width /= 2) {
    bool possible = loops.back().size % width == 0;
    eachAccess([&](const CellAccess &access, int64_t alignment) {
      if (access.strides.back() != 1)
        return;
      int64_t bytes = std::min<int64_t>(width * bytesOf(access), kVectorBytes);
      possible &= alignment % bytes == 0 && llvm::all_of(ArrayRef(access.strides).drop_back(), [&](int64_t stride) {
                    return stride * bytesOf(access) % bytes == 0;
                  });
    });
    if (possible)
      return width;
  }
  return 1;
}

int64_t GpuKernelGenerator::fullInputs() const {
  return std::max<int64_t>(
      1, llvm::count_if(accesses, [&](auto &entry) { return isa<BlockArgument>(entry.first) && isFull(entry.first); }));
}

void GpuKernelGenerator::chooseRow(int64_t rows) {
  kernel.grid = rows;
  int64_t most = mostHeld();
  for (int64_t threads : {kThreads, 2 * kThreads}) {
    // Without a thread too many, if that can be.
    for (held = 1; held <= most; ++held)
      if (vectors % (held * kWarp) == 0 && vectors / held <= threads)
        break;
    if (held > most)
      held = llvm::divideCeil(vectors, threads);
    if (held <= most) {
      kernel.block = llvm::alignTo(llvm::divideCeil(vectors, held), kWarp);
      return;
    }
  }
  held = 0;
  unroll = llvm::bit_floor(uint64_t(std::min(most, kHeldVectors / 2)));
  kernel.block = 2 * kThreads;
}

/// Short rows share a block. A GPU begins about one block a cycle: with a block each, 1.2 million rows of 49 cells took
/// 0.75 ms on an H200, which moves their bytes in 0.11. Threads of such a row fold by shuffles alone.
void GpuKernelGenerator::shareBlocks(int64_t rows) {
  rowThreads = kernel.block;
  int64_t holding = std::max<int64_t>(held, llvm::divideCeil(vectors, kWarp));
  if (held == 0 || rowThreads > 2 * kWarp || holding > mostHeld())
    return;
  int64_t threads = llvm::PowerOf2Ceil(llvm::divideCeil(vectors, holding)), sharing = kThreads / threads;
  while (sharing > 1 && (rows % sharing != 0 || rows / sharing < kBusy))
    sharing /= 2;
  if (sharing == 1 || sharing * threads % kWarp != 0)
    return;
  held = holding, rowThreads = threads;
  kernel.block = sharing * threads, kernel.grid = rows / sharing;
}

void GpuKernelGenerator::chooseColumn(int64_t outer) {
  int64_t inner = loops.back().size, rows = 1, narrowest = kVectorBytes;
  for (const KernelLoop &loop : loops)
    rows = loop.reduced ? loop.size : rows; // of the loop that threads share
  for (const auto &[value, access] : accesses)
    if (isa<BlockArgument>(value) && isFull(value))
      narrowest = std::min(narrowest, bytesOf(access));
  auto columns = [&](int64_t threads) { return outer * int64_t(llvm::divideCeil(inner, threads * lanes)); };
  across = std::min<int64_t>(2 * kWarp, llvm::PowerOf2Ceil(llvm::divideCeil(inner, lanes)));
  while (across > 1 && across * lanes * narrowest > kSectorBytes && columns(across) < kBusy)
    across /= 2;
  kernel.block = columns(across) < kBusy ? 2 * kThreads : kThreads;
  // If few multiprocessors have a block, each thread keeps more loads in flight, as far as registers allow.
  int64_t share = columns(across) < kBusy / 4 && fullInputs() == 1 ? 2 : 1;
  uint64_t most = std::clamp<int64_t>(share * kHeldCells / (lanes * fullInputs()), 1, share * kHeldVectors);
  unroll = std::min(llvm::bit_floor(most), llvm::bit_floor(uint64_t(rows)));
  // Every thread has a row, and every warp 32 threads.
  deep = std::clamp<int64_t>(kernel.block / across, 1, llvm::bit_floor(uint64_t(std::max<int64_t>(1, rows / unroll))));
  deep = std::max(deep, kWarp / std::min(across, kWarp));
  kernel.block = across * deep;
  blocks = llvm::divideCeil(inner, across * lanes);
  kernel.grid = outer * blocks;
}

void GpuKernelGenerator::chooseLaunch() {
  int64_t narrowest = kVectorBytes, widest = 1;
  eachAccess([&](const CellAccess &access, int64_t) {
    narrowest = std::min(narrowest, bytesOf(access));
    widest = std::max(widest, bytesOf(access));
  });
  lanes = widestVector(std::min(kMostLanes, kVectorBytes / narrowest));
  int64_t rows = 1, reduced = 1, inner = loops.back().size;
  for (const KernelLoop &loop : ArrayRef(loops).drop_back())
    (loop.reduced ? reduced : rows) *= loop.size;
  switch (domain.kind) {
  case KernelKind::Map:
    // A small kernel gives each thread fewer cells, so that more threads work.
    while (lanes * widest > kVectorBytes && rows * inner / lanes < kBusy * kThreads)
      lanes /= 2;
    vectors = rows * (inner / lanes);
    kernel.block = kThreads;
    kernel.grid = llvm::divideCeil(vectors, kThreads);
    break;
  case KernelKind::Row:
    vectors = reduced * (inner / lanes);
    chooseRow(rows);
    shareBlocks(rows);
    break;
  case KernelKind::Column:
    chooseColumn(rows);
    break;
  }
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

void GpuKernelGenerator::onlyIf(Value condition, llvm::function_ref<void()> build) {
  scf::IfOp::create(builder, loc, condition, [&](OpBuilder &, Location) {
    build();
    scf::YieldOp::create(builder, loc);
  });
}

void GpuKernelGenerator::obey(Value predicate) {
  Block *reads = kernel.function.addBlock(), *leaves = kernel.function.addBlock();
  Block *works = kernel.function.addBlock();
  Value null = LLVM::ZeroOp::create(builder, loc, predicate.getType());
  Value absent = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, predicate, null);
  LLVM::CondBrOp::create(builder, loc, absent, works, reads);
  builder.setInsertionPointToStart(reads);
  Value value = LLVM::LoadOp::create(builder, loc, builder.getI32Type(), predicate);
  Value off = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, value, i32(0));
  LLVM::CondBrOp::create(builder, loc, off, leaves, works);
  builder.setInsertionPointToStart(leaves);
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
  builder.setInsertionPointToStart(works);
}

Value GpuKernelGenerator::sharedAt(Value index) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  Value base = LLVM::AddressOfOp::create(builder, loc, pointer, memory.getSymName());
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getF32Type(), base, ValueRange{index});
}

/// Cells of the lane whose number differs by `distance`, of a scalar or a vector.
Value GpuKernelGenerator::shuffle(Value value, int64_t distance) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return NVVM::ShflOp::create(builder, loc, builder.getF32Type(), i32(-1), value, i32(int32_t(distance)),
                                i32(kWarp - 1), NVVM::ShflKind::bfly, UnitAttr());
  SmallVector<Value> cells;
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
    cells.push_back(shuffle(vector::ExtractOp::create(builder, loc, value, lane), distance));
  return vector::FromElementsOp::create(builder, loc, vector, cells);
}

Value GpuKernelGenerator::foldThreads(graph::ReduceOp reduce, Value scalar) {
  for (int64_t distance = std::min(kWarp, rowThreads) / 2; distance > 0; distance /= 2)
    scalar = combine(reduce, scalar, shuffle(scalar, distance));
  if (rowThreads <= kWarp)
    return scalar;
  int64_t warps = rowThreads / kWarp;
  int64_t first = shared;
  // Whole vectors: LLVM reads what is left of the last one too.
  shared += llvm::alignTo(warps, kVectorBytes / sizeof(float));
  onlyIf(compare(arith::CmpIPredicate::eq, remainder(thread, kWarp), i64(0)),
         [&] { LLVM::StoreOp::create(builder, loc, scalar, sharedAt(add(quotient(thread, kWarp), i64(first)))); });
  NVVM::Barrier0Op::create(builder, loc);
  Value sum = neutral(reduce, 0);
  for (int64_t warp = 0; warp < warps; ++warp)
    sum = combine(reduce, sum, LLVM::LoadOp::create(builder, loc, builder.getF32Type(), sharedAt(i64(first + warp))));
  return sum;
}

//===----------------------------------------------------------------------===//
// The three kinds
//===----------------------------------------------------------------------===//

void GpuKernelGenerator::emitMap(CellEmitter &emitter) {
  Value number = add(mul(group, kThreads), thread);
  auto cells = [&] {
    int64_t inner = loops.back().size / lanes;
    SmallVector<Value> indices(loops.size());
    delinearize(quotient(number, inner), llvm::to_vector(llvm::seq<int64_t>(0, loops.size() - 1)), indices);
    indices.back() = mul(remainder(number, inner), lanes);
    emitter.moveTo({indices, nullptr});
    storeAll(emitter);
  };
  if (vectors % kThreads == 0)
    cells();
  else
    onlyIf(compare(arith::CmpIPredicate::ult, number, i64(vectors)), cells);
}

void GpuKernelGenerator::emitRow(CellEmitter &emitter) {
  SmallVector<int64_t> outer = loopsThatAre(/*reduced=*/false), around = loopsThatAre(/*reduced=*/true);
  around.pop_back();
  SmallVector<Value> indices(loops.size());
  const int64_t rowsOfBlock = kernel.block / rowThreads;
  Value inRow = rowsOfBlock == 1 ? thread : remainder(thread, rowThreads);
  delinearize(rowsOfBlock == 1 ? group : add(mul(group, rowsOfBlock), quotient(thread, rowThreads)), outer, indices);

  // Vectors of the row are numbered over all its loops.
  auto place = [&](Value number, Value counts) {
    Position position{indices, nullptr, counts};
    int64_t inner = loops.back().size / lanes;
    delinearize(quotient(number, inner), around, position.indices);
    position.indices.back() = mul(around.empty() ? number : remainder(number, inner), lanes);
    return position;
  };
  SmallVector<CellEmitter::Cells> kept(held);
  SmallVector<std::pair<Position, Made>> made;
  // `count` vectors, as far apart as a row has threads, from `begin` times as far behind `first` on; stores come when
  // all is read.
  auto several = [&](Value first, int64_t begin, int64_t count, ValueRange carried, BodyBuilder fill) {
    auto values = llvm::to_vector_of<Value>(carried);
    for (int64_t n = 0; n < count; ++n) {
      Value number = add(first, i64((begin + n) * rowThreads)), counts;
      if ((begin + n + 1) * rowThreads > vectors) {
        counts = compare(arith::CmpIPredicate::ult, number, i64(vectors));
        number = arith::SelectOp::create(builder, loc, counts, number, i64(0));
      }
      emitter.moveTo(place(number, counts), held ? kept[n] : CellEmitter::Cells());
      values = fill(values);
      if (held)
        kept[n] = emitter.known();
    }
    for (auto &[position, outputs] : made) {
      emitter.moveTo(position);
      auto store = [&, &outputs = outputs] { storeOutputs(emitter, outputs, /*scalar=*/false); };
      if (position.counts)
        onlyIf(position.counts, store);
      else
        store();
    }
    made.clear();
    return values;
  };
  auto overRow = [&](ArrayRef<graph::ReduceOp>, ValueRange carried, BodyBuilder fill) {
    if (held)
      return several(inRow, 0, held, carried, fill);
    int64_t step = rowThreads * unroll, whole = vectors / step * step;
    auto values = llvm::to_vector_of<Value>(carried);
    if (whole) {
      scf::ForOp loop = forLoop(i64(0), i64(whole), step, carried, [&](Value base, ValueRange inner) {
        return several(add(base, inRow), 0, unroll, inner, fill);
      });
      values = llvm::to_vector_of<Value>(loop.getResults());
    }
    return several(inRow, whole / rowThreads, llvm::divideCeil(vectors - whole, rowThreads), values, fill);
  };
  emitRowPasses(
      emitter, indices,
      {lanes, overRow, [&](graph::ReduceOp reduce, Value vector) { return foldThreads(reduce, fold(reduce, vector)); },
       [&](llvm::function_ref<void()> store) { onlyIf(compare(arith::CmpIPredicate::eq, inRow, i64(0)), store); },
       [&](const Made &outputs) { made.push_back({emitter.position(), outputs}); }});
}

GpuKernelGenerator::ThreadColumns GpuKernelGenerator::placeColumns() {
  ThreadColumns at;
  at.indices.resize(loops.size());
  SmallVector<int64_t> columns = loopsThatAre(/*reduced=*/false);
  columns.pop_back();
  delinearize(quotient(group, blocks), columns, at.indices);
  at.side = remainder(thread, across);
  at.down = quotient(thread, across);
  Value column = mul(add(mul(remainder(group, blocks), across), at.side), lanes);
  at.indices.back() = column;
  if (loops.back().size % (across * lanes) != 0)
    at.inside = compare(arith::CmpIPredicate::ult, column, i64(loops.back().size));
  return at;
}

SmallVector<Value> GpuKernelGenerator::addRows(CellEmitter &emitter, ThreadColumns &at, int64_t loop, Value first,
                                               int64_t count, ValueRange sums) {
  SmallVector<SmallVector<Value>> terms(reductions.size());
  SmallVector<std::pair<Position, Made>> made;
  for (int64_t n = 0; n < count; ++n) {
    at.indices[loop] = add(first, i64(n * deep));
    emitter.moveTo({at.indices, nullptr});
    for (auto [reduce, term] : llvm::zip_equal(reductions, terms))
      term.push_back(emitter.vectorOf(reduce.getX()));
    auto full = [&](Value value) { return isFull(value); };
    made.push_back({emitter.position(), makeOutputs(emitter, full, /*scalar=*/false)});
  }
  for (auto &[position, outputs] : made) {
    emitter.moveTo(position);
    storeOutputs(emitter, outputs, /*scalar=*/false);
  }
  SmallVector<Value> next;
  for (auto [reduce, sum, term] : llvm::zip_equal(reductions, sums, terms)) {
    for (size_t half = term.size() / 2; half > 0; half /= 2)
      for (size_t n = 0; n < half; ++n)
        term[n] = combine(reduce, term[n], term[n + half]);
    next.push_back(combine(reduce, sum, term[0]));
  }
  return next;
}

SmallVector<Value> GpuKernelGenerator::overRows(CellEmitter &emitter, ThreadColumns &at, ArrayRef<int64_t> rows,
                                                ValueRange carried) {
  int64_t loop = rows[0], size = loops[loop].size;
  auto sums = llvm::to_vector_of<Value>(carried);
  auto overLoop = [&](Value low, int64_t high, int64_t step, BodyOfLoop fill) {
    Value end = at.inside ? arith::SelectOp::create(builder, loc, at.inside, i64(high), i64(0)).getResult() : i64(high);
    sums = llvm::to_vector_of<Value>(forLoop(low, end, step, sums, fill).getResults());
  };
  if (rows.size() > 1) {
    overLoop(i64(0), size, 1, [&](Value index, ValueRange inner) {
      at.indices[loop] = index;
      return overRows(emitter, at, rows.drop_front(), inner);
    });
    return sums;
  }
  int64_t step = deep * unroll, whole = size / step * step;
  if (whole)
    overLoop(i64(0), whole, step, [&](Value base, ValueRange inner) {
      return addRows(emitter, at, loop, add(base, at.down), unroll, inner);
    });
  if (whole != size)
    overLoop(add(at.down, i64(whole)), size, deep,
             [&](Value index, ValueRange inner) { return addRows(emitter, at, loop, index, 1, inner); });
  return sums;
}

Value GpuKernelGenerator::sharedSum(const ThreadColumns &at, size_t reduction, Value row) {
  return sharedAt(mul(add(mul(add(row, i64(int64_t(reduction) * groups)), across), at.side), lanes));
}

void GpuKernelGenerator::leaveSums(const ThreadColumns &at, MutableArrayRef<Value> sums) {
  for (auto [reduce, sum] : llvm::zip_equal(reductions, sums))
    for (int64_t distance = kWarp / 2; distance >= across; distance /= 2)
      sum = combine(reduce, sum, shuffle(sum, distance));
  bool inWarp = across < kWarp;
  groups = inWarp ? kernel.block / kWarp : deep;
  Value mine = inWarp ? quotient(thread, kWarp) : at.down;
  if (groups == 1)
    return;
  shared = int64_t(reductions.size()) * groups * across * lanes;
  auto leave = [&] {
    for (auto [number, sum] : llvm::enumerate(sums))
      LLVM::StoreOp::create(builder, loc, sum, sharedSum(at, number, mine), sumAlignment());
  };
  if (inWarp)
    onlyIf(compare(arith::CmpIPredicate::ult, remainder(thread, kWarp), i64(across)), leave);
  else
    leave();
  NVVM::Barrier0Op::create(builder, loc);
}

void GpuKernelGenerator::storeSums(CellEmitter &emitter, const ThreadColumns &at, ArrayRef<Value> sums) {
  Value first = compare(arith::CmpIPredicate::ult, thread, i64(across));
  onlyIf(at.inside ? arith::AndIOp::create(builder, loc, first, at.inside).getResult() : first, [&] {
    emitter.moveTo({at.indices, nullptr});
    for (auto [number, reduce] : llvm::enumerate(reductions)) {
      Value sum = sums[number];
      for (int64_t group = 1; group < groups; ++group)
        sum = combine(
            reduce, sum,
            LLVM::LoadOp::create(builder, loc, sum.getType(), sharedSum(at, number, i64(group)), sumAlignment()));
      for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
        if (reduce.getY() == value)
          emitter.storeVector(outputAccesses[index], sum, accumulate[index], firstSlot);
    }
  });
}

void GpuKernelGenerator::emitColumn(CellEmitter &emitter) {
  ThreadColumns at = placeColumns();
  SmallVector<Value> zero;
  for (graph::ReduceOp reduce : reductions)
    zero.push_back(neutral(reduce, lanes));
  SmallVector<Value> sums = overRows(emitter, at, loopsThatAre(/*reduced=*/true), zero);
  leaveSums(at, sums);
  storeSums(emitter, at, sums);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

FailureOr<GeneratedGpuKernel> GpuKernelGenerator::run() {
  if (failed(collectLoops()))
    return failure();
  chooseLaunch();
  narrow = std::max(kernel.grid * kernel.block, vectors) <= std::numeric_limits<int32_t>::max();
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> parameters(2 + source.inputs.size() + source.outputs.size(), pointer);
  // Sized at the end, when it is known what is needed.
  auto sizedAs = [&](int64_t count) { return LLVM::LLVMArrayType::get(builder.getF32Type(), count); };
  memory = LLVM::GlobalOp::create(builder, loc, sizedAs(1), /*isConstant=*/false, LLVM::Linkage::Internal,
                                  source.name + ".shared", Attribute(), /*alignment=*/kVectorBytes, kSharedSpace);
  kernel.function = LLVM::LLVMFuncOp::create(builder, loc, source.name,
                                             LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), parameters));
  kernel.function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  kernel.function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                           builder.getDenseI32ArrayAttr({int32_t(kernel.block)}));
  // Left to itself, NVIDIA's assembler spills to have more blocks on a multiprocessor.
  kernel.function->setAttr(
      NVVM::NVVMDialect::getMinctasmAttrName(),
      builder.getI32IntegerAttr(int32_t(std::max<int64_t>(1, kThreadsOnProcessor / kernel.block))));
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = kernel.function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  obey(entry->getArgument(1));
  Type wide = builder.getI64Type();
  thread = arith::ExtUIOp::create(builder, loc, wide, NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type()));
  group = arith::ExtUIOp::create(builder, loc, wide, NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type()));
  CellEmitter emitter(builder, loc, domain, lanes, /*aligned=*/true);
  if (failed(bind(emitter, entry->getArgument(0), [&](unsigned number) { return entry->getArgument(2 + number); })))
    return failure();
  switch (domain.kind) {
  case KernelKind::Map:
    emitMap(emitter);
    break;
  case KernelKind::Row:
    emitRow(emitter);
    break;
  case KernelKind::Column:
    emitColumn(emitter);
    break;
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
  if (shared)
    memory.setGlobalType(sizedAs(shared));
  else
    memory.erase();
  contract(kernel.function);
  kernel.flops = flops();
  kernel.bytes = bytes();
  return kernel;
}
} // namespace

void addGpuKernelDialects(DialectRegistry &registry) {
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                  vector::VectorDialect>();
}

FailureOr<GeneratedGpuKernel> generateGpuKernel(OpBuilder &builder, const KernelSource &source) {
  return GpuKernelGenerator(builder, source).run();
}

} // namespace dtcc::exec
