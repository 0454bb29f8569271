//===- ChunkExchanges.cpp - Products and their exchanges in parts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows are a dimension of the activation that is the outermost of more than one cell. If the exchange joins or
// splits another dimension, a part is a slice of the rows. If it joins or splits the rows, a part has some rows of each
// rank: the rows are seen as [ranks, parts, rows of a part], and the product walks the ranks as a batch.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/ContractSpec.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/IRMapping.h"
#include "passes/exec/MachinePass.h"
#include "passes/exec/Passes.h"
#include "passes/exec/local/BlockOrder.h"
#include "passes/spmd/reshard/PriceMoves.h"
#include "planner/cost/ExchangeChunks.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_CHUNKEXCHANGES
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value reshape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  return graph::ReshapeOp::create(builder, loc, typeOf(value).clone(shape), value);
}

/// `size` cells of a dimension from `from` on.
Value slice(OpBuilder &builder, Location loc, Value value, int64_t dim, int64_t from, int64_t size) {
  SmallVector<int64_t> shape(typeOf(value).getShape()), offsets(shape.size(), 0), strides(shape.size(), 1);
  shape[dim] = size;
  offsets[dim] = from;
  return graph::SliceOp::create(builder, loc, typeOf(value).clone(shape), value, offsets, strides);
}

Value concat(OpBuilder &builder, Location loc, ArrayRef<Value> parts, int64_t dim) {
  SmallVector<int64_t> shape(typeOf(parts.front()).getShape());
  shape[dim] *= int64_t(parts.size());
  return graph::ConcatOp::create(builder, loc, typeOf(parts.front()).clone(shape), parts, dim);
}

/// The outermost dimension of more than one cell.
std::optional<int64_t> outermost(ArrayRef<int64_t> shape) {
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size > 1)
      return dim;
  return std::nullopt;
}

/// A product and the dimensions of the rows in its activation and its result.
struct Product {
  graph::ContractOp op;
  graph::ContractSpec spec;
  unsigned operand = 0;
  int64_t dim = 0, resultDim = 0;
  const std::string &letters() const { return operand == 0 ? spec.lhs : spec.rhs; }
};

/// The product `op` with rows in dimension `dim` of its operand; nothing if that is not the outermost dimension of
/// operand and result, or is one of both operands, or if the product belongs to a backward pass.
std::optional<Product> productOf(graph::ContractOp op, unsigned operand, int64_t dim) {
  graph::Phase phase = graph::getPhase(op);
  if (op.getLhs() == op.getRhs() || (phase != graph::Phase::Forward && phase != graph::Phase::Recompute))
    return std::nullopt;
  Product product{op, graph::ContractSpec::parse(op.getSpec()), operand, dim, 0};
  const std::string &other = operand == 0 ? product.spec.rhs : product.spec.lhs;
  char letter = product.letters()[dim];
  size_t at = product.spec.result.find(letter);
  if (at == std::string::npos || other.find(letter) != std::string::npos)
    return std::nullopt;
  product.resultDim = int64_t(at);
  // Parts of inner dimensions would be copied together.
  bool isOutermost = outermost(typeOf(op->getOperand(operand)).getShape()) == dim &&
                     outermost(typeOf(op.getY()).getShape()) == product.resultDim;
  return isOutermost ? std::optional(product) : std::nullopt;
}

cost::Gemm gemmOf(const Product &product) {
  graph::ContractOp op = product.op;
  cost::Gemm gemm{1, 1, 1, 1, typeOf(op.getLhs()).getElementTypeBitWidth() == 16 ? cost::Width::B16 : cost::Width::F32};
  gemm.together = gemm.alignedRows = true;
  const graph::ContractSpec &spec = product.spec;
  const std::string &rows = product.letters(), &columns = product.operand == 0 ? spec.rhs : spec.lhs;
  auto sizeOf = [&](char letter) {
    size_t left = spec.lhs.find(letter);
    return left != std::string::npos ? double(typeOf(op.getLhs()).getDimSize(left))
                                     : double(typeOf(op.getRhs()).getDimSize(spec.rhs.find(letter)));
  };
  for (char letter : spec.letters()) {
    bool ofRows = rows.find(letter) != std::string::npos, ofColumns = columns.find(letter) != std::string::npos;
    bool ofResult = spec.result.find(letter) != std::string::npos;
    (ofRows && ofColumns ? (ofResult ? gemm.count : gemm.k) : ofRows ? gemm.m : gemm.n) *= sizeOf(letter);
  }
  return gemm;
}

/// How the rows of the whole lie in parts.
struct Cut {
  int64_t parts = 1;
  /// Number of ranks of which each part holds some rows. 1: a part is a contiguous slice of the rows.
  int64_t ranks = 1;
};

/// Part `part` of the activation, as the product wants it.
Value activationOf(OpBuilder &builder, Location loc, Value x, int64_t dim, const Cut &cut, int64_t part) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  int64_t rows = shape[dim] / (cut.parts * cut.ranks);
  if (cut.ranks == 1)
    return slice(builder, loc, x, dim, part * rows, rows);
  shape[dim] = rows;
  shape.insert(shape.begin() + dim, {cut.ranks, cut.parts});
  Value rowsOfPart = slice(builder, loc, reshape(builder, loc, x, shape), dim + 1, part, 1);
  shape.erase(shape.begin() + dim + 1);
  return reshape(builder, loc, rowsOfPart, shape);
}

/// The product of a part of the activation. If the part has rows of several ranks, the ranks are a dimension before
/// them.
Value productOfPart(OpBuilder &builder, const Product &product, Value x, const Cut &cut) {
  graph::ContractOp op = product.op;
  graph::ContractSpec spec = product.spec;
  SmallVector<int64_t> shape(typeOf(op.getY()).getShape());
  shape[product.resultDim] /= cut.parts * cut.ranks;
  if (cut.ranks > 1) {
    char letter = 'A';
    (product.operand == 0 ? spec.lhs : spec.rhs).insert(product.dim, 1, letter);
    spec.result.insert(product.resultDim, 1, letter);
    shape.insert(shape.begin() + product.resultDim, cut.ranks);
  }
  Value left = product.operand == 0 ? x : op.getLhs(), right = product.operand == 0 ? op.getRhs() : x;
  auto made = graph::ContractOp::create(builder, op.getLoc(), typeOf(op.getY()).clone(shape), spec.str(), left, right);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return made.getY();
}

class ExchangeChunker {
public:
  /// `parts`: number of parts of each product that can be cut; 0: the number that the cost model finds fastest.
  ExchangeChunker(const cost::Machine &machine, const spmd::Mesh &mesh, int64_t parts)
      : machine(machine), mesh(mesh), parts(parts), kernels(machine.device, machine.constants),
        collectives(machine.fabric, machine.constants) {}

  void run(Block &block) {
    bool changed = false;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto sum = dyn_cast<spmd::ReduceScatterOp>(op))
        changed |= sum.getKind() == Reduction::Sum && cutSum(&op, sum.getX(), sum.getDim());
      else if (auto sum = dyn_cast<spmd::AllReduceOp>(op))
        changed |= sum.getKind() == Reduction::Sum && !sum.getMembers() && cutSum(&op, sum.getX(), -1);
    }
    for (auto gather : llvm::make_early_inc_range(block.getOps<spmd::AllGatherOp>()))
      changed |= cutGather(gather);
    if (changed)
      restoreOrder(block);
  }

private:
  /// Bytes that are copied if the exchange is cut, because the parts are no ranges of the whole; and if it is whole,
  /// because the pieces of ranks are none.
  struct Copied {
    double ofParts = 0, ofWhole = 0;
  };
  int64_t partsOf(ArrayRef<Product> products, CommunicationOpInterface exchange, int64_t rows, const Copied &copied) {
    if (parts > 0)
      return rows % parts == 0 ? parts : 1;
    Communication what = exchange.getCommunications().front();
    cost::ChunkedProducts given;
    auto secondsToCopy = [&](double bytes) { return bytes > 0 ? kernels.secondsForStream(2 * bytes) : 0; };
    given.apart = secondsToCopy(copied.ofParts);
    given.copies = secondsToCopy(copied.ofWhole);
    for (const Product &product : products) {
      given.products.push_back(gemmOf(product));
      graph::ContractOp op = product.op;
      if (isBiased(op))
        given.apart += kernels.secondsForStream(2 * bytesOf(op.getY()));
    }
    given.exchange = {*what.collective, what.info().larger(double(what.bytesIn), double(what.bytesOut)),
                      spmd::groupOf(spmd::toAxes(what.axes), mesh)};
    given.rows = rows;
    return cost::chunkExchange(given, kernels, collectives, machine.constants).parts;
  }

  /// Cuts a product and the sum of its result, which joins or splits dimension `scattered`; -1: neither.
  bool cutSum(Operation *sum, Value summed, int64_t scattered) {
    auto made = summed.getDefiningOp<graph::ContractOp>();
    std::optional<int64_t> resultDim = outermost(typeOf(summed).getShape());
    if (!made || !summed.hasOneUse() || made->getBlock() != sum->getBlock() || !resultDim)
      return false;
    auto spec = graph::ContractSpec::parse(made.getSpec());
    char letter = spec.result[*resultDim];
    unsigned operand = spec.lhs.find(letter) == std::string::npos;
    size_t dim = (operand == 0 ? spec.lhs : spec.rhs).find(letter);
    std::optional<Product> product = productOf(made, operand, int64_t(dim));
    if (!product)
      return false;
    auto exchange = cast<CommunicationOpInterface>(sum);
    Cut cut{1, *resultDim == scattered ? mesh.product(spmd::toAxes(exchange.getCommunications().front().axes)) : 1};
    int64_t rows = typeOf(summed).getDimSize(*resultDim) / cut.ranks;
    Copied copied;
    if (cut.ranks > 1)
      copied.ofParts = bytesOf(made->getOperand(operand));
    else if (scattered >= 0)
      copied.ofWhole = bytesOf(summed);
    cut.parts = partsOf(*product, exchange, rows, copied);
    if (cut.parts == 1)
      return false;
    OpBuilder builder(sum);
    Location loc = sum->getLoc();
    SmallVector<Value> sums;
    for (int64_t part = 0; part < cut.parts; ++part) {
      Value x = activationOf(builder, loc, made->getOperand(operand), product->dim, cut, part);
      Value y = productOfPart(builder, *product, x, cut);
      SmallVector<int64_t> shape(typeOf(summed).getShape()), result(typeOf(sum->getResult(0)).getShape());
      shape[*resultDim] /= cut.parts;
      result[*resultDim] /= cut.parts;
      if (cut.ranks > 1)
        y = reshape(builder, loc, y, shape);
      IRMapping mapping;
      mapping.map(summed, y);
      Operation *clone = builder.clone(*sum, mapping);
      clone->getResult(0).setType(typeOf(sum->getResult(0)).clone(result));
      sums.push_back(clone->getResult(0));
    }
    sum->getResult(0).replaceAllUsesWith(concat(builder, loc, sums, *resultDim));
    sum->erase();
    made->erase();
    return true;
  }

  /// Cuts a gather and the products that read what it brings.
  bool cutGather(spmd::AllGatherOp gather) {
    Value whole = gather.getY();
    std::optional<int64_t> dim = outermost(typeOf(whole).getShape());
    if (!dim)
      return false;
    SmallVector<Product> products;
    bool isReadWhole = false;
    for (OpOperand &use : whole.getUses()) {
      auto op = dyn_cast<graph::ContractOp>(use.getOwner());
      std::optional<Product> product;
      if (op && op->getBlock() == gather->getBlock())
        product = productOf(op, use.getOperandNumber(), *dim);
      if (product)
        products.push_back(*product);
      else
        isReadWhole = true;
    }
    if (products.empty())
      return false;
    Cut cut{1, *dim == int64_t(gather.getDim()) ? mesh.product(spmd::toAxes(gather.getAxes())) : 1};
    Copied copied;
    if (cut.ranks > 1) {
      copied.ofParts = isReadWhole ? bytesOf(whole) : 0;
      for (Product &product : products)
        copied.ofParts += bytesOf(product.op.getY());
    } else {
      copied.ofWhole = bytesOf(whole);
    }
    cut.parts = partsOf(products, gather, typeOf(whole).getDimSize(*dim) / cut.ranks, copied);
    if (cut.parts == 1)
      return false;
    llvm::sort(products, [](const Product &a, const Product &b) { return a.op->isBeforeInBlock(b.op); });
    OpBuilder builder(products.front().op);
    Location loc = gather.getLoc();
    SmallVector<int64_t> shape(typeOf(whole).getShape());
    shape[*dim] /= cut.parts;
    SmallVector<Value> gathered;
    for (int64_t part = 0; part < cut.parts; ++part) {
      int64_t rows = typeOf(gather.getX()).getDimSize(*dim) / cut.parts;
      Value x = slice(builder, loc, gather.getX(), *dim, part * rows, rows);
      gathered.push_back(
          spmd::AllGatherOp::create(builder, loc, typeOf(whole).clone(shape), x, gather.getDim(), gather.getAxes()));
    }
    if (cut.ranks > 1) {
      shape[*dim] /= cut.ranks;
      shape.insert(shape.begin() + *dim, cut.ranks);
      for (Value &part : gathered)
        part = reshape(builder, loc, part, shape);
    }
    std::vector<SmallVector<Value>> made(products.size());
    for (Value part : gathered)
      for (auto [product, parts] : llvm::zip_equal(products, made))
        parts.push_back(productOfPart(builder, product, part, cut));
    for (auto [product, parts] : llvm::zip_equal(products, made))
      product.op.getY().replaceAllUsesWith(join(builder, loc, parts, product.resultDim, cut));
    if (isReadWhole)
      whole.replaceAllUsesWith(join(builder, loc, gathered, *dim, cut));
    for (Product &product : products)
      product.op->erase();
    gather->erase();
    return true;
  }

  /// Parts put together along `dim`, before which stand the ranks if a part has rows of several.
  static Value join(OpBuilder &builder, Location loc, ArrayRef<Value> parts, int64_t dim, const Cut &cut) {
    if (cut.ranks == 1)
      return concat(builder, loc, parts, dim);
    SmallVector<int64_t> shape(typeOf(parts.front()).getShape());
    shape.insert(shape.begin() + dim + 1, 1);
    SmallVector<Value> apart;
    for (Value part : parts)
      apart.push_back(reshape(builder, loc, part, shape));
    Value all = concat(builder, loc, apart, dim + 1);
    shape.erase(shape.begin() + dim, shape.begin() + dim + 2);
    shape[dim] *= cut.ranks * cut.parts;
    return reshape(builder, loc, all, shape);
  }

  static double bytesOf(Value value) { return double(getBytes(typeOf(value))); }
  /// Whether a row is added to every row of the result, which the library does beside a whole product.
  static bool isBiased(graph::ContractOp op) {
    return llvm::any_of(op.getY().getUsers(), [](Operation *user) {
      return isa<graph::AddOp>(user) && llvm::any_of(user->getOperands(), [](Value operand) {
               return operand.getDefiningOp<graph::BroadcastOp>() != nullptr;
             });
    });
  }

  const cost::Machine &machine;
  const spmd::Mesh &mesh;
  int64_t parts;
  cost::Kernels kernels;
  cost::Collectives collectives;
};

struct ChunkExchanges : MachinePass<dtcc::exec::impl::ChunkExchangesBase<ChunkExchanges>, spmd::ProgramOp> {
  using MachinePass::MachinePass;
  void run(spmd::ProgramOp program, const cost::Machine &machine, const spmd::Mesh &mesh) override {
    ExchangeChunker chunker(machine, mesh, parts);
    for (auto phase : program.getOps<spmd::PhaseOp>())
      chunker.run(phase.getBody().front());
  }
};
} // namespace

std::unique_ptr<Pass> dtcc::exec::createChunkExchangesFor(const cost::Machine &machine) {
  return std::make_unique<ChunkExchanges>(machine);
}
