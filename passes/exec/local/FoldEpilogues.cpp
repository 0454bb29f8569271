//===- FoldEpilogues.cpp - What products do before they store
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three patterns, each around one contraction. Gradients of biases go with the product of
// their weight, whose result is f32, and not with that of the input (cublasLt's
// DGELU_BGRAD): there they would be sums of the compute type, as the result is.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/graph/ContractSpec.h"
#include "dialects/graph/Graph.h"
#include "dialects/spmd/OnHost.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/Remarks.h"
#include "passes/exec/Passes.h"
#include "passes/exec/codegen/KernelDomain.h"
#include "llvm/ADT/StringExtras.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_FOLDEPILOGUES
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;

namespace dtcc::exec {
namespace {

/// Rows of what an activation was taken of divide by this (CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD).
constexpr int64_t kKeptRow = 8;

ShapedType typeOf(Value value) { return cast<ShapedType>(value.getType()); }

/// A contraction as exec.product has it: lhs and rhs perhaps changed for each other.
struct Factors {
  graph::ContractSpec spec;
  Value lhs, rhs;
  /// The letters that rhs alone has, in the order of the result.
  std::string columns;
};

/// The factors of a contraction, or nothing if it has a batch.
std::optional<Factors> factorsOf(graph::ContractOp op) {
  Factors factors{graph::ContractSpec::parse(op.getSpec()), op.getLhs(), op.getRhs(), {}};
  auto in = [](const std::string &term, char letter) { return term.find(letter) != std::string::npos; };
  for (char letter : factors.spec.result) {
    if (in(factors.spec.lhs, letter) && in(factors.spec.rhs, letter))
      return std::nullopt;
    if (in(factors.spec.rhs, letter))
      factors.columns += letter;
  }
  return factors;
}

Factors exchanged(Factors factors) {
  std::string columns;
  for (char letter : factors.spec.result)
    if (factors.columns.find(letter) == std::string::npos)
      columns += letter;
  return {{factors.spec.rhs, factors.spec.lhs, factors.spec.result}, factors.rhs, factors.lhs, columns};
}

/// The factor whose letters stand last in the result as rhs. None if the letters are mixed.
std::optional<Factors> withColumnsLast(graph::ContractOp op) {
  std::optional<Factors> factors = factorsOf(op);
  if (!factors)
    return std::nullopt;
  for (const Factors &way : {*factors, exchanged(*factors)})
    if (!way.columns.empty() && StringRef(way.spec.result).ends_with(way.columns))
      return way;
  return std::nullopt;
}

int64_t columnsOf(const Factors &factors, Value result) {
  return llvm::product_of(typeOf(result).getShape().take_back(factors.columns.size()));
}

/// Whether an activation of `y` is one that the library takes.
bool activates(graph::ContractOp op, const Factors &factors) {
  return typeOf(op.getLhs()).getElementType() == typeOf(op.getY()).getElementType() &&
         columnsOf(factors, op.getY()) % kKeptRow == 0;
}

/// The row that is added to every row, in the letters that stand last: the operand of a broadcast to `sum`'s type.
Value addedRow(graph::AddOp sum, Value product, const Factors &factors) {
  Value other = sum.getLhs() == product ? sum.getRhs() : sum.getLhs();
  auto broadcast = other.getDefiningOp<graph::BroadcastOp>();
  if (!broadcast)
    return {};
  int64_t rank = typeOf(other).getRank(), first = rank - int64_t(factors.columns.size());
  if (llvm::equal(broadcast.getDims(), llvm::seq(first, rank)))
    return broadcast.getX();
  return {};
}

/// Nothing that a kernel computes reads the value: it is memory, whoever makes it.
bool isReadFromMemory(Value value) { return llvm::none_of(value.getUsers(), isFusible); }

template <typename Op> Op userOf(Value value, Block *block) {
  for (Operation *user : value.getUsers())
    if (auto op = dyn_cast<Op>(user); op && op->getBlock() == block)
      return op;
  return {};
}

ProductOp create(OpBuilder &builder, graph::ContractOp op, const Factors &factors, Value bias, Value slope, bool gelu,
                 Type kept, Type sums) {
  auto product = ProductOp::create(builder, op.getLoc(), op.getY().getType(), kept, sums, factors.spec.str(),
                                   factors.lhs, factors.rhs, bias, slope, gelu);
  if (Attribute onHost = op->getAttr(spmd::kOnHostAttr))
    product->setAttr(spmd::kOnHostAttr, onHost);
  return product;
}

struct FoldEpilogues : impl::FoldEpiloguesBase<FoldEpilogues> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<graph::ContractOp> products;
    getOperation()->walk([&](graph::ContractOp op) { products.push_back(op); });
    size_t folded = 0;
    for (graph::ContractOp op : products)
      folded += (biasGradient && foldBiasGradient(op)) || (gelu && foldSlope(op)) || foldForward(op);
    remark::passed(getOperation()->getLoc(), remark::RemarkOpts::name("folded").category(getArgument()))
        << remark::metric("Products", folded) << remark::metric("OfProducts", products.size());
  }

  /// product (+ bias) (and gelu of it)
  bool foldForward(graph::ContractOp op) {
    std::optional<Factors> factors = withColumnsLast(op);
    if (!factors)
      return false;
    Value sum = op.getY(), row;
    if (auto add = userOf<graph::AddOp>(op.getY(), op->getBlock()); bias && add && op.getY().hasOneUse())
      if ((row = addedRow(add, op.getY(), *factors)))
        sum = add.getY();
    auto activation = userOf<graph::GeluOp>(sum, op->getBlock());
    if (!gelu || !activation || activation.getForm() != graph::GeluForm::tanh || !activates(op, *factors) ||
        !isReadFromMemory(activation->getResult(0)))
      activation = {};
    if (!activation && !(row && isReadFromMemory(sum)))
      return false;
    Operation *last = sum.getDefiningOp();
    OpBuilder builder(last);
    bool keeps = activation && !sum.hasOneUse();
    ProductOp product =
        create(builder, op, *factors, row, {}, bool(activation), keeps ? sum.getType() : Type(), Type());
    if (activation) {
      activation->getResult(0).replaceAllUsesWith(product.getY());
      activation.erase();
    }
    sum.replaceAllUsesWith(keeps ? product.getKept() : product.getY());
    erase(last, op);
    return true;
  }

  /// gelu's slope * product
  bool foldSlope(graph::ContractOp op) {
    std::optional<Factors> factors = withColumnsLast(op);
    auto slope = userOf<graph::GeluGradOp>(op.getY(), op->getBlock());
    if (!factors || !slope || !op.getY().hasOneUse() || slope.getDy() != op.getY() ||
        slope.getForm() != graph::GeluForm::tanh || !activates(op, *factors))
      return false;
    OpBuilder builder(slope);
    ProductOp product = create(builder, op, *factors, {}, slope.getX(), false, Type(), Type());
    slope.getDx().replaceAllUsesWith(product.getY());
    erase(slope, op);
    return true;
  }

  /// The gradient of a weight, and the sum of the factor that is the gradient of its bias.
  bool foldBiasGradient(graph::ContractOp op) {
    std::optional<Factors> factors = factorsOf(op);
    if (!factors)
      return false;
    for (const Factors &way : {*factors, exchanged(*factors)}) {
      SmallVector<int64_t> summed;
      for (auto [i, letter] : llvm::enumerate(way.spec.rhs))
        if (way.columns.find(letter) == std::string::npos)
          summed.push_back(i);
      for (Operation *user : way.rhs.getUsers()) {
        auto reduce = dyn_cast<graph::ReduceOp>(user);
        if (!reduce || reduce->getBlock() != op->getBlock() || reduce.getKind() != Reduction::Sum ||
            way.columns.empty() || reduce.getDims() != ArrayRef(summed) ||
            typeOf(reduce.getY()).getElementType() != typeOf(op.getY()).getElementType() || !comesBehind(reduce, op) ||
            isRounded(reduce))
          continue;
        OpBuilder builder(op);
        ProductOp product = create(builder, op, way, {}, {}, false, Type(), reduce.getY().getType());
        Operation *behind = product;
        for (Operation *reader : llvm::to_vector(reduce.getY().getUsers()))
          if (reader->isBeforeInBlock(product)) {
            reader->moveAfter(behind);
            behind = reader;
          }
        reduce.getY().replaceAllUsesWith(product.getSums());
        op.getY().replaceAllUsesWith(product.getY());
        erase(reduce, op);
        return true;
      }
    }
    return false;
  }

  /// Whether what reads `reduce` stands behind the product or can be put there: to move the product would take away
  /// what communication hides behind.
  static bool comesBehind(graph::ReduceOp reduce, graph::ContractOp product) {
    return llvm::all_of(reduce.getY().getUsers(), [&](Operation *user) {
      if (user->getBlock() != product->getBlock() || product->isBeforeInBlock(user))
        return true;
      auto accumulate = dyn_cast<spmd::AccumulateOp>(user);
      for (Operation *op = user->getNextNode(); accumulate && op != product; op = op->getNextNode()) {
        auto other = dyn_cast<spmd::AccumulateOp>(op);
        bool elsewhere = other && other.getOffset() != accumulate.getOffset();
        if (!elsewhere && names(op, accumulate.getBucketAttr()))
          return false;
      }
      return bool(accumulate);
    });
  }
  /// Whether gradients are kept in a narrower type: a product with sums would write them to memory of its own first.
  static bool isRounded(graph::ReduceOp reduce) {
    return llvm::any_of(reduce.getY().getUsers(), [&](Operation *user) {
      auto accumulate = dyn_cast<spmd::AccumulateOp>(user);
      auto bucket = accumulate ? SymbolTable::lookupNearestSymbolFrom<spmd::BucketOp>(
                                     user->getParentOfType<spmd::ProgramOp>(), accumulate.getBucketAttr())
                               : spmd::BucketOp();
      return bucket && bucket.getElementType() != typeOf(reduce.getY()).getElementType();
    });
  }
  static bool names(Operation *op, FlatSymbolRefAttr bucket) {
    bool found = false;
    op->getAttrDictionary().walk([&](FlatSymbolRefAttr symbol) { found |= symbol == bucket; });
    return found;
  }

  /// The product is there already: what it replaces goes, and broadcasts that nobody else reads.
  static void erase(Operation *last, graph::ContractOp op) {
    SmallVector<graph::BroadcastOp> rows;
    for (Value operand : last->getOperands())
      if (auto broadcast = operand.getDefiningOp<graph::BroadcastOp>())
        rows.push_back(broadcast);
    if (last != op)
      last->erase();
    op.erase();
    for (graph::BroadcastOp row : rows)
      if (row->use_empty())
        row.erase();
  }
};
} // namespace
} // namespace dtcc::exec
