//===- GpuKernelGenerator.cpp - A fused region becomes a GPU kernel
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/codegen/GpuKernelGenerator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/exec/codegen/KernelBuilder.h"

using namespace mlir;

namespace dtcc::exec {
namespace {

/// Bytes that a thread reads or writes at once.
constexpr int64_t kVectorBytes = 16;
constexpr int64_t kWarp = 32;
/// Threads of a block, at most.
constexpr int64_t kThreads = 256;
/// Threads of a column kernel's block that share a column.
constexpr int64_t kRowThreads = kThreads / kWarp;
/// Blocks that keep a GPU of today busy: below it, column kernels take narrower vectors.
constexpr int64_t kBusy = 128;
/// Blocks that a multiprocessor must hold at once.
constexpr int32_t kBlocksOnProcessor = 2;
constexpr unsigned kSharedSpace = 3;

class GpuKernelGenerator : KernelBuilder {
public:
  using KernelBuilder::KernelBuilder;

  FailureOr<GeneratedGpuKernel> run();

private:
  int64_t widestVector() const;
  void chooseLaunch();
  void emitMap(CellEmitter &emitter);
  void emitRow(CellEmitter &emitter);
  void emitColumn(CellEmitter &emitter);
  void storeAll(CellEmitter &emitter) {
    storeOutputs(emitter, makeOutputs(emitter, [](Value) { return true; }, /*scalar=*/false), /*scalar=*/false);
  }

  /// Loops over the `around` loops, and inside them over the vectors of the last loop that
  /// are this thread's.
  SmallVector<Value> rowLoop(CellEmitter &emitter, ArrayRef<int64_t> around, SmallVector<Value> indices,
                             ValueRange carried, BodyBuilder fill);
  /// The reduction of one scalar of each thread, known to all of them.
  Value foldBlock(graph::ReduceOp reduce, Value scalar);
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
  /// Vectors that a map kernel has; blocks of columns side by side in a column kernel.
  int64_t vectors = 1, blocks = 1;
  Value thread, group;
  /// f32 of shared memory that are taken.
  int64_t shared = 0;
  LLVM::GlobalOp memory;
};

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The widest vector of the innermost loop that every buffer can be read and written by.
int64_t GpuKernelGenerator::widestVector() const {
  int64_t widest = 1;
  auto bytesOf = [](const Access &access) {
    return int64_t(llvm::divideCeil(access.elementType.getIntOrFloatBitWidth(), 8));
  };
  auto each = [&](llvm::function_ref<void(const Access &, int64_t)> fn) {
    ArrayRef<int64_t> alignments = source.alignments;
    auto next = [&] { return std::exchange(alignments, alignments.drop_front()).front(); };
    for (const auto &entry : accesses)
      if (isa<BlockArgument>(entry.first))
        fn(entry.second, next());
      else if (entry.first.getDefiningOp<graph::ConstantOp>())
        fn(entry.second, kMostAligned);
    for (const Access &access : outputAccesses)
      fn(access, next());
  };
  each([&](const Access &access, int64_t) { widest = std::max(widest, bytesOf(access)); });
  for (int64_t width = kVectorBytes / widest; width > 1; width /= 2) {
    bool possible = loops.back().size % width == 0;
    each([&](const Access &access, int64_t alignment) {
      if (access.strides.back() == 1)
        possible &=
            alignment % (width * bytesOf(access)) == 0 &&
            llvm::all_of(ArrayRef(access.strides).drop_back(), [&](int64_t stride) { return stride % width == 0; });
    });
    if (possible)
      return width;
  }
  return 1;
}

void GpuKernelGenerator::chooseLaunch() {
  lanes = widestVector();
  int64_t rows = 1, outer = 1;
  for (const KernelLoop &loop : ArrayRef(loops).drop_back()) {
    outer *= loop.size;
    rows *= loop.reduced ? 1 : loop.size;
  }
  int64_t inner = loops.back().size;
  switch (domain.kind) {
  case KernelKind::Map:
    vectors = outer * (inner / lanes);
    kernel.block = kThreads;
    kernel.grid = llvm::divideCeil(vectors, kThreads);
    break;
  case KernelKind::Row:
    kernel.block = std::clamp<int64_t>(llvm::PowerOf2Ceil(inner / lanes), kWarp, kThreads);
    kernel.grid = rows;
    break;
  case KernelKind::Column:
    while (lanes > 1 && rows * llvm::divideCeil(inner, kWarp * lanes) < kBusy)
      lanes /= 2;
    blocks = llvm::divideCeil(inner, kWarp * lanes);
    kernel.block = kThreads;
    kernel.grid = rows * blocks;
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

SmallVector<Value> GpuKernelGenerator::rowLoop(CellEmitter &emitter, ArrayRef<int64_t> around,
                                               SmallVector<Value> indices, ValueRange carried, BodyBuilder fill) {
  bool last = around.empty();
  Value low = last ? mul(thread, lanes) : i64(0);
  Value high = i64(last ? loops.back().size : loops[around[0]].size);
  scf::ForOp loop = forLoop(low, high, last ? kernel.block * lanes : 1, carried, [&](Value index, ValueRange values) {
    indices[last ? loops.size() - 1 : around[0]] = index;
    if (!last)
      return rowLoop(emitter, around.drop_front(), indices, values, fill);
    emitter.moveTo({indices, nullptr});
    return fill(values);
  });
  return llvm::to_vector_of<Value>(loop.getResults());
}

Value GpuKernelGenerator::sharedAt(Value index) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  Value base = LLVM::AddressOfOp::create(builder, loc, pointer, memory.getSymName());
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getF32Type(), base, ValueRange{index});
}

Value GpuKernelGenerator::foldBlock(graph::ReduceOp reduce, Value scalar) {
  for (int32_t distance = kWarp / 2; distance > 0; distance /= 2) {
    Value other = NVVM::ShflOp::create(builder, loc, builder.getF32Type(), i32(-1), scalar, i32(distance),
                                       i32(kWarp - 1), NVVM::ShflKind::bfly, UnitAttr());
    scalar = combine(reduce, scalar, other);
  }
  int64_t warps = kernel.block / kWarp;
  if (warps == 1)
    return scalar;
  int64_t first = shared;
  shared += warps;
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
  SmallVector<int64_t> outer, around;
  for (auto [number, loop] : llvm::enumerate(loops))
    (loop.reduced ? around : outer).push_back(number);
  around.pop_back();
  SmallVector<Value> indices(loops.size());
  delinearize(group, outer, indices);
  emitRowPasses(
      emitter, indices,
      {lanes, [&](ValueRange carried, BodyBuilder fill) { return rowLoop(emitter, around, indices, carried, fill); },
       [&](graph::ReduceOp reduce, Value vector) { return foldBlock(reduce, fold(reduce, vector)); },
       [&](llvm::function_ref<void()> store) { onlyIf(compare(arith::CmpIPredicate::eq, thread, i64(0)), store); }});
}

void GpuKernelGenerator::emitColumn(CellEmitter &emitter) {
  SmallVector<int64_t> columns, rows;
  for (auto [number, loop] : llvm::enumerate(loops))
    (loop.reduced ? rows : columns).push_back(number);
  columns.pop_back();
  SmallVector<Value> indices(loops.size());
  delinearize(quotient(group, blocks), columns, indices);
  Value across = remainder(thread, kWarp), down = quotient(thread, kWarp);
  Value column = mul(add(mul(remainder(group, blocks), kWarp), across), lanes);
  indices.back() = column;
  // Threads beside the last column have no rows.
  Value inside = compare(arith::CmpIPredicate::ult, column, i64(loops.back().size));

  SmallVector<Value> zero;
  for (graph::ReduceOp reduce : reductions)
    zero.push_back(neutral(reduce, lanes));
  auto addRow = [&](ValueRange carried) {
    emitter.moveTo({indices, nullptr});
    SmallVector<Value> next;
    for (auto [reduce, sum] : llvm::zip_equal(reductions, carried))
      next.push_back(combine(reduce, sum, emitter.vectorOf(reduce.getX())));
    storeOutputs(emitter,
                 makeOutputs(
                     emitter, [&](Value value) { return isFull(value); }, /*scalar=*/false),
                 /*scalar=*/false);
    return next;
  };
  // The last row loop is shared out to the threads of a column, in chunks whose sums are added to the thread's.
  std::function<SmallVector<Value>(ArrayRef<int64_t>, ValueRange)> overRows = [&](ArrayRef<int64_t> left,
                                                                                  ValueRange carried) {
    Value size = i64(loops[left[0]].size);
    Value high = arith::SelectOp::create(builder, loc, inside, size, i64(0));
    scf::ForOp loop;
    if (left.size() > 1) {
      loop = forLoop(i64(0), high, 1, carried, [&](Value index, ValueRange values) {
        indices[left[0]] = index;
        return overRows(left.drop_front(), values);
      });
      return llvm::to_vector_of<Value>(loop.getResults());
    }
    loop = forLoop(down, high, kRowThreads * kRowChunk, carried, [&](Value begin, ValueRange values) {
      Value end = arith::MinSIOp::create(builder, loc, add(begin, i64(kRowThreads * kRowChunk)), high);
      scf::ForOp chunk = forLoop(begin, end, kRowThreads, zero, [&](Value index, ValueRange inner) {
        indices[left[0]] = index;
        return addRow(inner);
      });
      SmallVector<Value> next;
      for (auto [reduce, value, sum] : llvm::zip_equal(reductions, values, chunk.getResults()))
        next.push_back(combine(reduce, value, sum));
      return next;
    });
    return llvm::to_vector_of<Value>(loop.getResults());
  };
  SmallVector<Value> sums = overRows(rows, zero);

  // Per reduction [row thread][column thread][lane].
  auto place = [&](size_t reduction, Value row) {
    return sharedAt(mul(add(mul(add(row, i64(int64_t(reduction) * kRowThreads)), kWarp), across), lanes));
  };
  unsigned alignment = unsigned(lanes) * 4;
  shared = int64_t(reductions.size()) * kThreads * lanes;
  for (auto [number, sum] : llvm::enumerate(sums))
    LLVM::StoreOp::create(builder, loc, sum, place(number, down), alignment);
  NVVM::Barrier0Op::create(builder, loc);
  Value first = compare(arith::CmpIPredicate::eq, down, i64(0));
  onlyIf(arith::AndIOp::create(builder, loc, first, inside), [&] {
    emitter.moveTo({indices, nullptr});
    for (auto [number, reduce] : llvm::enumerate(reductions)) {
      Value sum = sums[number];
      for (int64_t row = 1; row < kRowThreads; ++row)
        sum =
            combine(reduce, sum, LLVM::LoadOp::create(builder, loc, sum.getType(), place(number, i64(row)), alignment));
      for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
        if (reduce.getY() == value)
          emitter.storeVector(outputAccesses[index], sum, accumulate[index], firstSlot);
    }
  });
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

FailureOr<GeneratedGpuKernel> GpuKernelGenerator::run() {
  if (failed(collectLoops()))
    return failure();
  chooseLaunch();
  narrow = kernel.grid * kernel.block <= std::numeric_limits<int32_t>::max();
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
  kernel.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(kBlocksOnProcessor));
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
