//===- FoldEpilogues.cpp - What products do before they store
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each of three patterns replaces a contraction and its neighbours. The gradient of a bias is computed by the product
// that computes the gradient of its weight, because that result is f32. The product for the gradient of the input
// (cublasLt's DGELU_BGRAD) would sum in the compute type.
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

/// The library keeps the input of an activation in rows of a multiple of this many cells
/// (CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD).
constexpr int64_t kKeptRow = 8;

ShapedType typeOf(Value value) { return cast<ShapedType>(value.getType()); }

/// Operands of an exec.product: those of a contraction, or the same exchanged.
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

/// Returns the factors with the one as rhs whose letters stand last in the result; nothing if the letters are mixed.
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

/// Whether the library can compute an activation of `y`.
bool activates(graph::ContractOp op, const Factors &factors) {
  return typeOf(op.getLhs()).getElementType() == typeOf(op.getY()).getElementType() &&
         columnsOf(factors, op.getY()) % kKeptRow == 0;
}

/// Returns the bias of `sum`: the operand of a broadcast along all dimensions but the columns. Null if there is none.
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

/// Whether no reader of the value can be fused with its maker, so that it is stored in any case.
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

  /// Folds product + bias, gelu(product) and gelu(product + bias).
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

  /// Folds the slope of gelu times the product.
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

  /// Folds the gradient of a bias, which is a sum of a factor, into the gradient of its weight.
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

  /// Whether all readers of `reduce` stand behind the product or can be moved there. The product itself stays, because
  /// communication is hidden behind it.
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

  /// Erases the ops that a product replaces, with broadcasts that no other op reads.
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
