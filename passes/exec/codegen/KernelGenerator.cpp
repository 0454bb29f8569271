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
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/exec/codegen/CellEmitter.h"
#include "passes/exec/codegen/ShardOffset.h"

using namespace mlir;

namespace dtcc::exec {
namespace {

/// Cells of the innermost loop that one iteration of a map kernel does at most.
constexpr int64_t kBlock = 4096;
/// Vectors of columns that a column kernel carries through its rows.
constexpr int64_t kColumnVectors = 4;
/// Rows whose sum is taken before it is added to the column's.
constexpr int64_t kRowChunk = 32;
/// Operations on cells that are worth waking a thread for.
constexpr int64_t kWorthAThread = 16384;

class KernelGenerator {
public:
  KernelGenerator(OpBuilder &builder, Location loc, Block &body, ArrayRef<MemRefType> inputs,
                  ArrayRef<MemRefType> outputs, ArrayRef<int64_t> accumulate, const dist::Mesh *mesh)
      : builder(builder), loc(loc), body(body), inputs(inputs), outputs(outputs), accumulate(accumulate), mesh(mesh) {}

  FailureOr<GeneratedKernel> run(StringRef name);

private:
  LogicalResult collectLoops();
  void addAccess(Value value, Access access, ArrayRef<int64_t> memoryStrides);
  void collapseLoops();
  void emitMap(CellEmitter &emitter, Value iteration);
  void emitRow(CellEmitter &emitter, Value iteration);
  void emitColumn(CellEmitter &emitter, Value iteration);

  /// Indices of the loops before the last that are not reduced, from a linear number.
  void delinearize(Value number, ArrayRef<int64_t> loopNumbers, SmallVectorImpl<Value> &indices);
  using BodyBuilder = llvm::function_ref<SmallVector<Value>(ValueRange carried)>;
  /// A vector loop over [low, high) of the last loop, with a masked end, carrying values.
  SmallVector<Value> vectorLoop(CellEmitter &emitter, SmallVector<Value> indices, Value low, Value high, bool divides,
                                ValueRange carried, BodyBuilder fill);
  /// Loops over all reduced loops but the last around vectorLoop.
  SmallVector<Value> rowLoop(CellEmitter &emitter, ArrayRef<int64_t> around, SmallVector<Value> indices,
                             ValueRange carried, BodyBuilder fill);
  scf::ForOp forLoop(Value low, Value high, int64_t step, ValueRange carried,
                     llvm::function_ref<SmallVector<Value>(Value, ValueRange)> fill);

  Value neutral(graph::ReduceOp reduce, bool vector);
  Value combine(graph::ReduceOp reduce, Value lhs, Value rhs);
  Value maskedFor(graph::ReduceOp reduce, Value cells, Value mask);
  void storeOutputs(CellEmitter &emitter, llvm::function_ref<bool(Value)> which, bool scalar);

  bool isOutput(Value value) const { return llvm::is_contained(body.getTerminator()->getOperands(), value); }

  OpBuilder &builder;
  Location loc;
  Block &body;
  ArrayRef<MemRefType> inputs, outputs;
  ArrayRef<int64_t> accumulate;
  const dist::Mesh *mesh;

  KernelDomain domain;
  SmallVector<Operation *> ops;
  SmallVector<graph::ReduceOp> reductions;
  /// Domain dimensions in loop order, before collapsing.
  SmallVector<int64_t> order;
  SmallVector<KernelLoop> loops;
  SmallVector<std::pair<Value, Access>> accesses; // inputs, iotas, and cell indices
  SmallVector<Access> outputAccesses;
  Value firstSlot;
  int64_t extent = 1, blocks = 1, cellsPerIteration = 1;
};

//===----------------------------------------------------------------------===//
// Loops and addresses
//===----------------------------------------------------------------------===//

LogicalResult KernelGenerator::collectLoops() {
  for (Operation &op : body.without_terminator()) {
    if (!isFusible(&op))
      return op.emitOpError("is not an op that a kernel can be generated for");
    ops.push_back(&op);
    if (auto reduce = dyn_cast<graph::ReduceOp>(op))
      reductions.push_back(reduce);
  }
  auto found = KernelDomain::analyze(ops, [&](Value value) { return isOutput(value); });
  if (failed(found))
    return emitError(loc, "fused ops do not form one kernel: their dimensions have no common loops");
  domain = *found;

  // Reduced loops stand innermost in row kernels and outermost in column kernels.
  for (int64_t pass : {0, 1})
    for (int64_t dim = 0, e = domain.sizes.size(); dim < e; ++dim)
      if (domain.isReduced(dim) == (pass == (domain.kind == KernelKind::Row ? 1 : 0)))
        order.push_back(dim);
  for (int64_t dim : order)
    loops.push_back({domain.sizes[dim], domain.isReduced(dim)});
  if (loops.empty()) {
    loops.push_back({1, false});
    order.push_back(-1);
  }

  auto stridesOf = [](MemRefType type) {
    SmallVector<int64_t> strides;
    int64_t offset;
    [[maybe_unused]] LogicalResult ok = type.getStridesAndOffset(strides, offset);
    assert(succeeded(ok) && "buffers are strided");
    return strides;
  };
  for (auto [argument, type] : llvm::zip_equal(body.getArguments(), inputs))
    if (domain.maps.count(argument))
      addAccess(argument, Access(type.getElementType()), stridesOf(type));
    else
      accesses.push_back({argument, Access(type.getElementType(), SmallVector<int64_t>(loops.size(), 0))});
  for (Operation *op : ops)
    if (auto iota = dyn_cast<graph::IotaOp>(op)) {
      SmallVector<int64_t> strides(iota.getType().getRank(), 0);
      strides[iota.getDim()] = iota.getStep();
      Access access(builder.getI64Type());
      access.start = iota.getStart();
      addAccess(iota.getResult(), access, strides);
    }
  for (Operation *op : ops)
    if (isa<graph::IndexedCellOpInterface>(op)) {
      auto shape = cast<ShapedType>(op->getResult(0).getType()).getShape();
      auto whole = op->getAttrOfType<DenseI64ArrayAttr>("global_shape");
      addAccess(op->getResult(0), Access(builder.getI64Type()), rowMajorStrides(whole ? whole.asArrayRef() : shape));
    }
  for (auto [value, type] : llvm::zip_equal(body.getTerminator()->getOperands(), outputs)) {
    addAccess(value, Access(type.getElementType()), stridesOf(type));
    outputAccesses.push_back(accesses.pop_back_val().second);
  }
  collapseLoops();
  return success();
}

void KernelGenerator::addAccess(Value value, Access access, ArrayRef<int64_t> memoryStrides) {
  access.strides.assign(loops.size(), 0);
  for (auto [dim, stride] : llvm::zip_equal(domain.maps.lookup(value), memoryStrides))
    if (domain.sizes[dim] != 1)
      access.strides[llvm::find(order, dim) - order.begin()] = stride;
  accesses.push_back({value, access});
}

/// Neighbouring loops become one where every access walks both with one stride. That
/// makes rows long and address arithmetic short.
void KernelGenerator::collapseLoops() {
  auto each = [&](llvm::function_ref<void(Access &)> fn) {
    for (auto &entry : accesses)
      fn(entry.second);
    for (Access &access : outputAccesses)
      fn(access);
  };
  for (size_t i = 0; i + 1 < loops.size();) {
    bool one = loops[i].reduced == loops[i + 1].reduced;
    bool outerIsOne = loops[i].size == 1, innerIsOne = loops[i + 1].size == 1;
    each([&](Access &access) {
      one &= outerIsOne || innerIsOne || access.strides[i] == access.strides[i + 1] * loops[i + 1].size;
    });
    if (!one) {
      ++i;
      continue;
    }
    each([&](Access &access) {
      if (innerIsOne)
        access.strides[i + 1] = access.strides[i];
      access.strides.erase(access.strides.begin() + i);
    });
    loops[i + 1].size *= loops[i].size;
    loops.erase(loops.begin() + i);
  }
}

void KernelGenerator::delinearize(Value number, ArrayRef<int64_t> loopNumbers, SmallVectorImpl<Value> &indices) {
  auto constant = [&](int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  };
  for (size_t i = loopNumbers.size(); i-- > 1;) {
    Value size = constant(loops[loopNumbers[i]].size);
    indices[loopNumbers[i]] = arith::RemSIOp::create(builder, loc, number, size);
    number = arith::DivSIOp::create(builder, loc, number, size);
  }
  if (!loopNumbers.empty())
    indices[loopNumbers[0]] = number;
}

scf::ForOp KernelGenerator::forLoop(Value low, Value high, int64_t step, ValueRange carried,
                                    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> fill) {
  Value by = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(step));
  return scf::ForOp::create(builder, loc, low, high, by, carried,
                            [&](OpBuilder &, Location, Value index, ValueRange values) {
                              scf::YieldOp::create(builder, loc, fill(index, values));
                            });
}

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
                                            ValueRange carried, BodyBuilder fill) {
  if (around.empty()) {
    int64_t size = loops.back().size;
    return vectorLoop(emitter, indices, emitter.constantI64(0), emitter.constantI64(size), size % kLanes == 0, carried,
                      fill);
  }
  Value high = emitter.constantI64(loops[around[0]].size);
  scf::ForOp loop = forLoop(emitter.constantI64(0), high, 1, carried, [&](Value index, ValueRange values) {
    indices[around[0]] = index;
    return rowLoop(emitter, around.drop_front(), indices, values, fill);
  });
  return llvm::to_vector_of<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value KernelGenerator::neutral(graph::ReduceOp reduce, bool vector) {
  double value = reduce.getKind() == graph::ReduceKind::sum   ? 0.0
                 : reduce.getKind() == graph::ReduceKind::max ? -std::numeric_limits<double>::infinity()
                                                              : std::numeric_limits<double>::infinity();
  TypedAttr attr = builder.getF32FloatAttr(value);
  if (vector)
    attr = DenseElementsAttr::get(VectorType::get({kLanes}, builder.getF32Type()), Attribute(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}

Value KernelGenerator::combine(graph::ReduceOp reduce, Value lhs, Value rhs) {
  switch (reduce.getKind()) {
  case graph::ReduceKind::sum:
    return arith::AddFOp::create(builder, loc, lhs, rhs);
  case graph::ReduceKind::max:
    return arith::MaximumFOp::create(builder, loc, lhs, rhs);
  case graph::ReduceKind::min:
    return arith::MinimumFOp::create(builder, loc, lhs, rhs);
  }
  llvm_unreachable("all kinds of reduction are listed");
}

Value KernelGenerator::maskedFor(graph::ReduceOp reduce, Value cells, Value mask) {
  return mask ? arith::SelectOp::create(builder, loc, mask, cells, neutral(reduce, true)).getResult() : cells;
}

static vector::CombiningKind combiningKind(graph::ReduceKind kind) {
  return kind == graph::ReduceKind::sum   ? vector::CombiningKind::ADD
         : kind == graph::ReduceKind::max ? vector::CombiningKind::MAXIMUMF
                                          : vector::CombiningKind::MINIMUMF;
}

void KernelGenerator::storeOutputs(CellEmitter &emitter, llvm::function_ref<bool(Value)> which, bool scalar) {
  // All before the first store: an output may lie in the memory of an input that another reads.
  SmallVector<std::pair<size_t, Value>> made;
  for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (which(value))
      made.push_back({index, scalar ? emitter.scalarOf(value) : emitter.vectorOf(value)});
  for (auto [index, value] : made) {
    if (scalar)
      emitter.storeScalar(outputAccesses[index], value, accumulate[index], firstSlot);
    else
      emitter.storeVector(outputAccesses[index], value, accumulate[index], firstSlot);
  }
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
    Value count = emitter.constantI64(blocks);
    Value part = arith::RemSIOp::create(builder, loc, iteration, count);
    outer = arith::DivSIOp::create(builder, loc, iteration, count);
    low = arith::MulIOp::create(builder, loc, part, emitter.constantI64(block));
    Value end = arith::AddIOp::create(builder, loc, low, emitter.constantI64(block));
    high = arith::MinSIOp::create(builder, loc, end, high);
  }
  delinearize(outer, llvm::to_vector(llvm::seq<int64_t>(0, loops.size() - 1)), indices);
  vectorLoop(emitter, indices, low, high, inner % kLanes == 0, {}, [&](ValueRange) -> SmallVector<Value> {
    storeOutputs(emitter, [](Value) { return true; }, /*scalar=*/false);
    return {};
  });
}

void KernelGenerator::emitRow(CellEmitter &emitter, Value iteration) {
  SmallVector<int64_t> outer, around;
  for (auto [number, loop] : llvm::enumerate(loops))
    (loop.reduced ? around : outer).push_back(number);
  around.pop_back();
  SmallVector<Value> indices(loops.size());
  delinearize(iteration, outer, indices);
  emitter.startRow();
  emitter.setInnerLoop(nullptr);

  // A marker that scalars of the row are put before while a loop is being built.
  auto inLoop = [&](auto build) {
    Operation *marker = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
    emitter.setInnerLoop(marker);
    build();
    emitter.setInnerLoop(nullptr);
    marker->erase();
  };

  // One pass for each level of reductions that need those of the level before.
  llvm::DenseMap<Value, int64_t> levels;
  int64_t deepest = 0;
  for (Operation *op : ops) {
    int64_t level = 0;
    for (Value operand : op->getOperands())
      level = std::max(level, levels.lookup(operand));
    levels[op->getResult(0)] = level + (isa<graph::ReduceOp>(op) ? 1 : 0);
    deepest = std::max(deepest, levels[op->getResult(0)]);
  }
  for (int64_t level = 1; level <= deepest; ++level) {
    SmallVector<graph::ReduceOp> now;
    SmallVector<Value> start;
    for (graph::ReduceOp reduce : reductions)
      if (levels.lookup(reduce.getY()) == level)
        now.push_back(reduce);
    for (graph::ReduceOp reduce : now)
      start.push_back(neutral(reduce, true));
    SmallVector<Value> sums;
    inLoop([&] {
      sums = rowLoop(emitter, around, indices, start, [&](ValueRange carried) {
        SmallVector<Value> next;
        for (auto [reduce, accumulator] : llvm::zip_equal(now, carried))
          next.push_back(combine(reduce, accumulator,
                                 maskedFor(reduce, emitter.vectorOf(reduce.getX()), emitter.position().mask)));
        return next;
      });
    });
    for (auto [reduce, sum] : llvm::zip_equal(now, sums))
      emitter.setScalar(reduce.getY(), vector::ReductionOp::create(builder, loc, combiningKind(reduce.getKind()), sum,
                                                                   arith::FastMathFlags::reassoc));
  }

  emitter.moveTo({indices, nullptr});
  storeOutputs(emitter, [&](Value value) { return !domain.isFullValue(value); }, /*scalar=*/true);
  auto full = [&](Value value) { return domain.isFullValue(value); };
  if (llvm::any_of(body.getTerminator()->getOperands(), full))
    inLoop([&] {
      rowLoop(emitter, around, indices, {}, [&](ValueRange) -> SmallVector<Value> {
        storeOutputs(emitter, full, /*scalar=*/false);
        return {};
      });
    });
}

void KernelGenerator::emitColumn(CellEmitter &emitter, Value iteration) {
  SmallVector<int64_t> columns, rows;
  for (auto [number, loop] : llvm::enumerate(loops))
    (loop.reduced ? rows : columns).push_back(number);
  int64_t inner = loops.back().size, width = kColumnVectors * kLanes;
  SmallVector<Value> indices(loops.size());
  Value outer = iteration, first = emitter.constantI64(0);
  if (blocks > 1) {
    Value count = emitter.constantI64(blocks);
    Value part = arith::RemSIOp::create(builder, loc, iteration, count);
    outer = arith::DivSIOp::create(builder, loc, iteration, count);
    first = arith::MulIOp::create(builder, loc, part, emitter.constantI64(width));
  }
  columns.pop_back();
  delinearize(outer, columns, indices);

  int64_t vectors = std::min<int64_t>(kColumnVectors, llvm::divideCeil(inner, kLanes));
  SmallVector<Value> starts, masks;
  for (int64_t v = 0; v < vectors; ++v) {
    starts.push_back(arith::AddIOp::create(builder, loc, first, emitter.constantI64(v * kLanes)));
    Value mask;
    if (inner % (vectors * kLanes) != 0) {
      Value left = arith::SubIOp::create(builder, loc, emitter.constantI64(inner), starts.back());
      Value count = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), left);
      mask = vector::CreateMaskOp::create(builder, loc, emitter.lanesOf(builder.getI1Type()), ValueRange{count});
    }
    masks.push_back(mask);
  }

  SmallVector<Value> zero;
  for (int64_t v = 0; v < vectors; ++v)
    for (graph::ReduceOp reduce : reductions)
      zero.push_back(neutral(reduce, true));
  auto moveTo = [&](int64_t v) {
    Position position{indices, masks[v]};
    position.indices.back() = starts[v];
    emitter.moveTo(position);
  };
  auto addRow = [&](ValueRange carried) {
    SmallVector<Value> next;
    for (int64_t v = 0; v < vectors; ++v) {
      moveTo(v);
      for (graph::ReduceOp reduce : reductions)
        next.push_back(combine(reduce, carried[next.size()], emitter.vectorOf(reduce.getX())));
      storeOutputs(emitter, [&](Value value) { return domain.isFullValue(value); }, /*scalar=*/false);
    }
    return next;
  };
  // Rows: the last row loop in chunks, whose sums are added to the column's.
  std::function<SmallVector<Value>(ArrayRef<int64_t>, ValueRange)> overRows = [&](ArrayRef<int64_t> left,
                                                                                  ValueRange carried) {
    int64_t size = loops[left[0]].size;
    Value high = emitter.constantI64(size);
    if (left.size() > 1) {
      scf::ForOp loop = forLoop(emitter.constantI64(0), high, 1, carried, [&](Value index, ValueRange values) {
        indices[left[0]] = index;
        return overRows(left.drop_front(), values);
      });
      return llvm::to_vector_of<Value>(loop.getResults());
    }
    scf::ForOp chunks = forLoop(emitter.constantI64(0), high, kRowChunk, carried, [&](Value begin, ValueRange values) {
      Value chunkEnd = arith::AddIOp::create(builder, loc, begin, emitter.constantI64(kRowChunk));
      Value end = arith::MinSIOp::create(builder, loc, chunkEnd, high);
      scf::ForOp chunk = forLoop(begin, end, 1, zero, [&](Value index, ValueRange inner) {
        indices[left[0]] = index;
        return addRow(inner);
      });
      SmallVector<Value> next;
      for (auto [number, sum] : llvm::enumerate(chunk.getResults()))
        next.push_back(combine(reductions[number % reductions.size()], values[number], sum));
      return next;
    });
    return llvm::to_vector_of<Value>(chunks.getResults());
  };
  SmallVector<Value> sums = overRows(rows, zero);
  for (int64_t v = 0; v < vectors; ++v) {
    moveTo(v);
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

FailureOr<GeneratedKernel> KernelGenerator::run(StringRef name) {
  if (failed(collectLoops()))
    return failure();
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, pointer, i64, i64});
  GeneratedKernel kernel;
  kernel.function = LLVM::LLVMFuncOp::create(builder, loc, name, type);
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

  CellEmitter emitter(builder, loc, domain);
  auto load = [&](Type element, Value from, int64_t offset) {
    Value address = LLVM::GEPOp::create(builder, loc, pointer, element, from, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    return LLVM::LoadOp::create(builder, loc, element, address);
  };
  Value buffers = entry->getArgument(1);
  unsigned number = 0;
  // Fields of dtcc_rank, all of 8 bytes: rank, ranks, slot, seed, step, coordinates.
  Value rank = entry->getArgument(0);
  if (llvm::any_of(ops, llvm::IsaPred<graph::IndexedCellOpInterface>)) {
    emitter.seed = load(i64, rank, 3);
    emitter.step = load(i64, rank, 4);
  }
  for (auto &[value, access] : accesses) {
    if (isa<BlockArgument>(value)) {
      access.pointer = load(pointer, buffers, number++);
      emitter.accesses[value] = access;
      continue;
    }
    Operation *op = value.getDefiningOp();
    FailureOr<Value> offset = shardOffset(builder, op, load(pointer, rank, 5), mesh);
    if (failed(offset))
      return failure();
    access.offset = *offset;
    (isa<graph::IotaOp>(op) ? emitter.accesses : emitter.indices)[value] = access;
  }
  for (Access &access : outputAccesses)
    access.pointer = load(pointer, buffers, number++);
  if (llvm::is_contained(accumulate, 2)) {
    Value slot = load(i64, rank, 2);
    firstSlot = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, slot, emitter.constantI64(0));
  }
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

  // Products and sums may be one instruction: fewer roundings, never more.
  kernel.function.walk([&](arith::ArithFastMathInterface op) {
    if (!isa<vector::ReductionOp>(op.getOperation()))
      op->setAttr(op.getFastMathAttrName(), arith::FastMathFlagsAttr::get(context, arith::FastMathFlags::contract));
  });
  kernel.extent = extent;
  cellsPerIteration = std::max<int64_t>(1, cells / extent) * std::max<int64_t>(1, ops.size());
  kernel.grain = std::max<int64_t>(1, kWorthAThread / cellsPerIteration);
  kernel.flops = double(cells) * ops.size();
  for (ArrayRef<MemRefType> types : {inputs, outputs})
    for (MemRefType type : types)
      kernel.bytes += double(type.getNumElements()) * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  return kernel;
}
} // namespace

FailureOr<GeneratedKernel> generateKernel(OpBuilder &builder, Location loc, StringRef name, Block &body,
                                          ArrayRef<MemRefType> inputs, ArrayRef<MemRefType> outputs,
                                          ArrayRef<int64_t> accumulate, const dist::Mesh *mesh) {
  return KernelGenerator(builder, loc, body, inputs, outputs, accumulate, mesh).run(name);
}

} // namespace dtcc::exec
