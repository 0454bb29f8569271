//===- KernelBuilder.cpp - What kernels of all processors have in common
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/codegen/KernelBuilder.h"
#include "dialects/interfaces/Bytes.h"
#include "passes/exec/codegen/ShardOffset.h"
#include <limits>

using namespace mlir;

namespace dtcc::exec {

//===----------------------------------------------------------------------===//
// Loops and addresses
//===----------------------------------------------------------------------===//

/// A constant whose cells differ: read from memory beside the code.
static bool isTable(Operation *op) {
  auto constant = dyn_cast<graph::ConstantOp>(op);
  return constant && !isFusible(op);
}

/// The cells of a table in row-major order, as a kernel's memory has them.
static LLVM::GlobalOp emitTable(OpBuilder &builder, graph::ConstantOp op, StringRef name) {
  ElementsAttr value = op.getValue();
  auto type = RankedTensorType::get({value.getNumElements()}, value.getElementType());
  DenseElementsAttr cells;
  // A boolean is one byte in memory, and one bit in an attribute.
  if (type.getElementType().isInteger(1)) {
    SmallVector<int8_t> bytes;
    for (bool bit : value.getValues<bool>())
      bytes.push_back(bit);
    type = type.clone(builder.getI8Type());
    cells = DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes));
  } else {
    cells = cast<DenseElementsAttr>(value).reshape(type);
  }
  constexpr unsigned kVectorBytes = 64;
  return LLVM::GlobalOp::create(builder, op.getLoc(),
                                LLVM::LLVMArrayType::get(type.getElementType(), type.getNumElements()),
                                /*isConstant=*/true, LLVM::Linkage::Internal, name, cells, kVectorBytes);
}

LogicalResult KernelBuilder::collectLoops() {
  for (Operation &op : body.without_terminator()) {
    if (!isFusible(&op) && !isTable(&op))
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
  for (auto [argument, type] : llvm::zip_equal(body.getArguments(), source.inputs))
    if (domain.maps.count(argument))
      addAccess(argument, CellAccess(type.getElementType()), stridesOf(type));
    else
      accesses.push_back({argument, CellAccess(type.getElementType(), SmallVector<int64_t>(loops.size(), 0))});
  for (Operation *op : ops)
    if (auto iota = dyn_cast<graph::IotaOp>(op)) {
      SmallVector<int64_t> strides(iota.getType().getRank(), 0);
      strides[iota.getDim()] = iota.getStep();
      CellAccess access(builder.getI64Type());
      access.start = iota.getStart();
      addAccess(iota.getResult(), access, strides);
    }
  for (Operation *op : ops)
    if (isTable(op)) {
      auto type = cast<ShapedType>(op->getResult(0).getType());
      addAccess(op->getResult(0), CellAccess(type.getElementType()), rowMajorStrides(type.getShape()));
    }
  for (Operation *op : ops)
    if (isa<graph::IndexedCellOpInterface>(op)) {
      auto shape = cast<ShapedType>(op->getResult(0).getType()).getShape();
      auto whole = op->getAttrOfType<DenseI64ArrayAttr>("global_shape");
      addAccess(op->getResult(0), CellAccess(builder.getI64Type()),
                rowMajorStrides(whole ? whole.asArrayRef() : shape));
    }
  for (auto [value, type] : llvm::zip_equal(body.getTerminator()->getOperands(), source.outputs)) {
    addAccess(value, CellAccess(type.getElementType()), stridesOf(type));
    outputAccesses.push_back(accesses.pop_back_val().second);
  }
  collapseLoops();
  return success();
}

void KernelBuilder::addAccess(Value value, CellAccess access, ArrayRef<int64_t> memoryStrides) {
  access.strides.assign(loops.size(), 0);
  for (auto [dim, stride] : llvm::zip_equal(domain.maps.lookup(value), memoryStrides))
    if (domain.sizes[dim] != 1)
      access.strides[llvm::find(order, dim) - order.begin()] = stride;
  accesses.push_back({value, access});
}

/// Neighbouring loops become one where every access walks both with one stride. That
/// makes rows long and address arithmetic short.
void KernelBuilder::collapseLoops() {
  auto each = [&](llvm::function_ref<void(CellAccess &)> fn) {
    for (auto &entry : accesses)
      fn(entry.second);
    for (CellAccess &access : outputAccesses)
      fn(access);
  };
  for (size_t i = 0; i + 1 < loops.size();) {
    bool one = loops[i].reduced == loops[i + 1].reduced;
    bool outerIsOne = loops[i].size == 1, innerIsOne = loops[i + 1].size == 1;
    each([&](CellAccess &access) {
      one &= outerIsOne || innerIsOne || access.strides[i] == access.strides[i + 1] * loops[i + 1].size;
    });
    if (!one) {
      ++i;
      continue;
    }
    each([&](CellAccess &access) {
      if (innerIsOne)
        access.strides[i + 1] = access.strides[i];
      access.strides.erase(access.strides.begin() + i);
    });
    loops[i + 1].size *= loops[i].size;
    loops.erase(loops.begin() + i);
  }
}

LogicalResult KernelBuilder::bind(CellEmitter &emitter, Value rank, llvm::function_ref<Value(unsigned)> buffer) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i64 = builder.getI64Type();
  // Fields of dtcc_rank, all of 8 bytes: rank, ranks, slot, seed, step, coordinates.
  auto field = [&](Type type, int32_t number) -> Value {
    Value address = LLVM::GEPOp::create(builder, loc, pointer, type, rank, ArrayRef<LLVM::GEPArg>{number});
    return LLVM::LoadOp::create(builder, loc, type, address);
  };
  if (llvm::any_of(ops, llvm::IsaPred<graph::IndexedCellOpInterface>)) {
    emitter.seed = field(i64, 3);
    emitter.step = field(i64, 4);
  }
  unsigned number = 0, tables = 0;
  for (auto &[value, access] : accesses) {
    if (isa<BlockArgument>(value)) {
      access.pointer = buffer(number++);
      emitter.accesses[value] = access;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (isTable(op)) {
      LLVM::GlobalOp table;
      {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(builder.getInsertionBlock()->getParentOp());
        table = emitTable(builder, cast<graph::ConstantOp>(op), source.name + ".table" + std::to_string(tables++));
      }
      access.pointer = LLVM::AddressOfOp::create(builder, loc, table);
      emitter.accesses[value] = access;
      continue;
    }
    FailureOr<Value> offset = shardOffset(builder, op, field(pointer, 5), source.mesh);
    if (failed(offset))
      return failure();
    access.offset = *offset;
    (isa<graph::IotaOp>(op) ? emitter.accesses : emitter.indices)[value] = access;
  }
  for (CellAccess &access : outputAccesses)
    access.pointer = buffer(number++);
  if (llvm::is_contained(accumulate, 2))
    firstSlot = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, field(i64, 2), emitter.constantI64(0));
  return success();
}

SmallVector<int64_t> KernelBuilder::loopsThatAre(bool reduced) const {
  SmallVector<int64_t> numbers;
  for (auto [number, loop] : llvm::enumerate(loops))
    if (loop.reduced == reduced)
      numbers.push_back(number);
  return numbers;
}

void KernelBuilder::delinearize(Value number, ArrayRef<int64_t> loopNumbers, SmallVectorImpl<Value> &indices) {
  for (size_t i = loopNumbers.size(); i-- > 1;) {
    int64_t size = loops[loopNumbers[i]].size;
    indices[loopNumbers[i]] = remainder(number, size);
    number = quotient(number, size);
  }
  if (!loopNumbers.empty())
    indices[loopNumbers[0]] = number;
}

scf::ForOp KernelBuilder::forLoop(Value low, Value high, int64_t step, ValueRange carried,
                                  llvm::function_ref<SmallVector<Value>(Value, ValueRange)> fill) {
  Value by = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(step));
  return scf::ForOp::create(builder, loc, low, high, by, carried,
                            [&](OpBuilder &, Location, Value index, ValueRange values) {
                              scf::YieldOp::create(builder, loc, fill(index, values));
                            });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value KernelBuilder::neutral(graph::ReduceOp reduce, int64_t lanes) {
  double value = reduce.getKind() == Reduction::Sum   ? 0.0
                 : reduce.getKind() == Reduction::Max ? -std::numeric_limits<double>::infinity()
                                                      : std::numeric_limits<double>::infinity();
  TypedAttr attr = builder.getF32FloatAttr(value);
  if (lanes)
    attr = DenseElementsAttr::get(VectorType::get({lanes}, builder.getF32Type()), Attribute(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}

Value KernelBuilder::combine(graph::ReduceOp reduce, Value lhs, Value rhs) {
  switch (reduce.getKind()) {
  case Reduction::Sum:
    return arith::AddFOp::create(builder, loc, lhs, rhs);
  case Reduction::Max:
    return arith::MaximumFOp::create(builder, loc, lhs, rhs);
  case Reduction::Min:
    return arith::MinimumFOp::create(builder, loc, lhs, rhs);
  }
  llvm_unreachable("all kinds of reduction are listed");
}

static vector::CombiningKind combiningKind(Reduction kind) {
  return kind == Reduction::Sum   ? vector::CombiningKind::ADD
         : kind == Reduction::Max ? vector::CombiningKind::MAXIMUMF
                                  : vector::CombiningKind::MINIMUMF;
}

Value KernelBuilder::fold(graph::ReduceOp reduce, Value vector) {
  return vector::ReductionOp::create(builder, loc, combiningKind(reduce.getKind()), vector,
                                     arith::FastMathFlags::reassoc);
}

SmallVector<SmallVector<graph::ReduceOp>> KernelBuilder::reductionLevels() {
  llvm::DenseMap<Value, size_t> depths;
  SmallVector<SmallVector<graph::ReduceOp>> levels;
  for (Operation *op : ops) {
    size_t depth = 0;
    for (Value operand : op->getOperands())
      depth = std::max(depth, depths.lookup(operand));
    if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
      levels.resize(std::max(levels.size(), depth + 1));
      levels[depth++].push_back(reduce);
    }
    depths[op->getResult(0)] = depth;
  }
  return levels;
}

void KernelBuilder::inRow(CellEmitter &emitter, llvm::function_ref<void()> build) {
  // The place of the scalars while the loop does not exist yet.
  Operation *marker = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
  emitter.setInnerLoop(marker);
  build();
  emitter.setInnerLoop(nullptr);
  marker->erase();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

KernelBuilder::Made KernelBuilder::makeOutputs(CellEmitter &emitter, llvm::function_ref<bool(Value)> which,
                                               bool scalar) {
  Made made;
  for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (which(value))
      made.push_back({index, scalar ? emitter.scalarOf(value) : emitter.vectorOf(value)});
  return made;
}

void KernelBuilder::storeOutputs(CellEmitter &emitter, const Made &made, bool scalar) {
  for (auto [index, value] : made) {
    if (scalar)
      emitter.storeScalar(outputAccesses[index], value, accumulate[index], firstSlot);
    else
      emitter.storeVector(outputAccesses[index], value, accumulate[index], firstSlot);
  }
}

void KernelBuilder::emitRowPasses(CellEmitter &emitter, ArrayRef<Value> indices, const RowSteps &steps) {
  emitter.startRow();
  SmallVector<SmallVector<graph::ReduceOp>> levels = reductionLevels();
  for (SmallVector<graph::ReduceOp> &now : levels) {
    SmallVector<Value> start, sums;
    for (graph::ReduceOp reduce : now)
      start.push_back(neutral(reduce, steps.lanes));
    inRow(emitter, [&] {
      sums = steps.loop(now, start, [&](ValueRange carried) {
        SmallVector<Value> next;
        const Position &here = emitter.position();
        Value mask = here.mask ? here.mask : here.counts;
        for (auto [reduce, accumulator] : llvm::zip_equal(now, carried)) {
          Value cells = emitter.vectorOf(reduce.getX());
          if (mask)
            cells = arith::SelectOp::create(builder, loc, mask, cells, neutral(reduce, steps.lanes));
          next.push_back(combine(reduce, accumulator, cells));
        }
        return next;
      });
    });
    for (auto [reduce, sum] : llvm::zip_equal(now, sums))
      emitter.setScalar(reduce.getY(), steps.whole(reduce, sum));
  }

  emitter.moveTo({llvm::to_vector(indices), nullptr});
  Made scalars = makeOutputs(emitter, [&](Value value) { return !isFull(value); }, /*scalar=*/true);
  if (!scalars.empty())
    steps.once([&] { storeOutputs(emitter, scalars, /*scalar=*/true); });
  auto full = [&](Value value) { return isFull(value); };
  if (llvm::any_of(body.getTerminator()->getOperands(), full))
    inRow(emitter, [&] {
      steps.loop({}, {}, [&](ValueRange) -> SmallVector<Value> {
        steps.store(makeOutputs(emitter, full, /*scalar=*/false));
        return {};
      });
    });
}

void KernelBuilder::contract(Operation *function) {
  function->walk([&](arith::ArithFastMathInterface op) {
    // A rounding that may be contracted is folded with the widening behind it.
    if (!isa<vector::ReductionOp, arith::TruncFOp>(op.getOperation()))
      op->setAttr(op.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(builder.getContext(), arith::FastMathFlags::contract));
  });
}

double KernelBuilder::flops() const {
  double cells = 1;
  for (const KernelLoop &loop : loops)
    cells *= double(loop.size);
  return cells * double(ops.size());
}

double KernelBuilder::bytes() const {
  double sum = 0;
  for (ArrayRef<MemRefType> types : {ArrayRef(source.inputs), ArrayRef(source.outputs)})
    for (MemRefType type : types)
      sum += double(getBytes(type));
  return sum;
}

} // namespace dtcc::exec
