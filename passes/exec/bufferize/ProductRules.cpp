//===- ProductRules.cpp - Bufferization of contractions as matrix products -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/ContractSpec.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Shapes.h"
#include "passes/exec/bufferize/OpRules.h"
#include "runtime/abi/ProductEpilogue.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace {
/// One side of a product: its letters and where it lies.
struct Term {
  std::string letters;
  Place place;
  int64_t stride(char letter) const { return place.strides[letters.find(letter)]; }
  int64_t size(char letter) const { return place.sizes[letters.find(letter)]; }
  bool has(char letter) const { return letters.find(letter) != std::string::npos; }
};

/// The letters of a product in the order in which the library walks them.
struct Walk {
  std::string batch, rows, columns, sums;
};
} // namespace

/// The letters of `group` as dimensions of `term`.
static SmallVector<int64_t> dimsOf(const Term &term, StringRef group) {
  SmallVector<int64_t> dims;
  for (char letter : group)
    dims.push_back(term.letters.find(letter));
  return dims;
}

/// The letters for which `keep` holds, outermost first as they lie in `term`.
static std::string ordered(const Term &term, llvm::function_ref<bool(char)> keep) {
  std::string letters;
  llvm::copy_if(term.letters, std::back_inserter(letters), keep);
  auto key = [&](char c) { return std::pair(-term.stride(c), term.letters.find(c)); };
  llvm::sort(letters, [&](char a, char c) { return key(a) < key(c); });
  return letters;
}

/// `term` as [batch, rows, columns], if each group lies as one dimension and the
/// library can walk it: along rows or columns without gaps.
static std::optional<Place> asMatrix(const Term &term, StringRef batch, StringRef rows, StringRef columns) {
  auto matrix = term.place.merged({dimsOf(term, batch), dimsOf(term, rows), dimsOf(term, columns)});
  if (!matrix)
    return std::nullopt;
  auto unit = [&](int64_t dim) { return matrix->sizes[dim] == 1 || matrix->strides[dim] == 1; };
  // Repeated cells (stride 0) are no matrix of the library's.
  for (int64_t dim : {1, 2})
    if (matrix->sizes[dim] > 1 && matrix->strides[dim] == 0)
      return std::nullopt;
  if (!unit(1) && !unit(2))
    return std::nullopt;
  return matrix;
}

/// Views a term as a matrix whose rows have adjacent cells, as a bias and an activation's input must have.
static std::optional<Place> asRows(const Term &term, const Walk &walk) {
  auto matrix = asMatrix(term, walk.batch, walk.rows, walk.columns);
  return matrix && (matrix->sizes[2] == 1 || matrix->strides[2] == 1) ? matrix : std::nullopt;
}

/// Memory for a value with `letters` in the order `order`.
static Term packed(const Term &term, StringRef order, StringRef name, Bufferizer &b) {
  Place like = term.place.transposed(dimsOf(term, order));
  return {order.str(), b.storage.allocate(RankedTensorType::get(like.sizes, like.element), name)};
}

/// `term` copied to batch, rows, columns where it cannot be read as it lies. Matrices may lie by columns, too: adjacent
/// cells stay so, and the copy transposes nothing.
static Place readMatrix(const Term &term, StringRef batch, StringRef rows, StringRef columns, Bufferizer &b) {
  if (auto matrix = asMatrix(term, batch, rows, columns))
    return *matrix;
  bool byColumns = llvm::any_of(rows, [&](char letter) { return term.size(letter) > 1 && term.stride(letter) == 1; });
  Term copy = packed(term, byColumns ? (batch + columns + rows).str() : (batch + rows + columns).str(), "packed", b);
  b.copy(term.place.transposed(dimsOf(term, copy.letters)), copy.place, "pack");
  return *asMatrix(copy, batch, rows, columns);
}

static LogicalResult checkTypes(Operation *op, ArrayRef<Value> values) {
  for (Value value : values)
    if (auto element = dyn_cast<FloatType>(cast<ShapedType>(value.getType()).getElementType());
        !element || element.isF64())
      return op->emitOpError("has no library op for ") << value.getType() << ": products are of f32, bf16 and f16";
  return success();
}

/// Rows and columns follow the result, so that it need not be copied; sums follow the larger operand.
static Walk walkOf(const Term &lhs, const Term &rhs, const Term &out) {
  const Term &larger = lhs.place.elements() >= rhs.place.elements() ? lhs : rhs;
  return {ordered(out, [&](char c) { return lhs.has(c) && rhs.has(c); }),
          ordered(out, [&](char c) { return lhs.has(c) && !rhs.has(c); }),
          ordered(out, [&](char c) { return !lhs.has(c) && rhs.has(c); }),
          ordered(larger, [&](char c) { return lhs.has(c) && rhs.has(c) && !out.has(c); })};
}

/// Matrices of fewer rows are copied together to one: a product for each would fill no tiles.
constexpr int64_t leastRowsOfBatch = 128;

/// Tells the outermost letter of `free` (rows, or columns) off as the batch where that spares copies: the letters lie
/// as one dimension in `term` and in the result without it, but not with it, as the pixels of images do whose channels
/// lie between samples and pixels. All products of the batch then share the other operand. False, and nothing changed,
/// where it does not.
static bool splitBatch(std::string &free, Walk &walk, const Term &term, const Term &out) {
  if (free.size() < 2 || !walk.batch.empty())
    return false;
  const std::string batch = free.substr(0, 1), rest = free.substr(1);
  int64_t rows = 1;
  for (char letter : rest)
    rows *= term.size(letter);
  auto lies = [&](const Term &side, StringRef batch, StringRef letters) {
    return asMatrix(side, batch, letters, ordered(side, [&](char c) { return free.find(c) == std::string::npos; }));
  };
  if (rows < leastRowsOfBatch || (lies(term, "", free) && lies(out, "", free)) || !lies(term, batch, rest) ||
      !lies(out, batch, rest))
    return false;
  walk.batch = batch, free = rest;
  return true;
}

/// Shorter sums are copied together to one: a product for each part would pass over the result too often.
constexpr int64_t leastSumsOfPart = 512;

/// The parts of `term` along `letter`, each without it.
static SmallVector<Term, 1> partsOf(const Term &term, char letter) {
  const int64_t dim = term.letters.find(letter);
  std::string rest = term.letters;
  rest.erase(dim, 1);
  SmallVector<Term, 1> parts;
  for (int64_t i = 0; i < term.place.sizes[dim]; ++i)
    parts.push_back({rest, term.place.part(dim, i)});
  return parts;
}

/// Whether a sum is a sum of products, one for each index of its outermost letter, that spare copies: the operands lie
/// as matrices for each index and not together, as the pixels of images do in the gradient of a kernel of one pixel.
static bool sumsOfParts(const Walk &walk, const Term &lhs, const Term &rhs, const Term &out) {
  // A result of 16 bits would be rounded at every part.
  if (!out.place.element.isF32() || walk.sums.size() < 2 || lhs.size(walk.sums[0]) < 2)
    return false;
  const StringRef rest = StringRef(walk.sums).drop_front();
  int64_t length = 1;
  for (char letter : rest)
    length *= lhs.size(letter);
  auto lie = [&](const Term &left, const Term &right, StringRef sums) {
    return asMatrix(left, walk.batch, walk.rows, sums) && asMatrix(right, walk.batch, sums, walk.columns);
  };
  return length >= leastSumsOfPart && !lie(lhs, rhs, walk.sums) &&
         lie(partsOf(lhs, walk.sums[0]).front(), partsOf(rhs, walk.sums[0]).front(), rest);
}

/// `matrix` of a batch of one as that of a batch of `count`, all the same.
static Place repeated(Place matrix, int64_t count) {
  matrix.sizes[0] = count, matrix.strides[0] = 0;
  return matrix;
}

/// Result of a product: the matrix or vector that the library writes, and the temporary from which it is copied to its
/// place if the library cannot write there.
struct Written {
  Place target;
  Term temporary; /* without letters: none */
  Bufferizer::Destination goal;

  int64_t accumulate() const { return temporary.letters.empty() ? goal.accumulate : int64_t(Overwrite); }
  LogicalResult finish(const Term &value, Location loc, Bufferizer &b) const {
    if (temporary.letters.empty())
      return success();
    return b.store(temporary.place, {value.place.transposed(dimsOf(value, temporary.letters)), goal.accumulate}, loc);
  }
};

static int64_t accumulateOf(Value value, Bufferizer &b) {
  auto destination = b.destinationOf(value);
  return destination ? destination->accumulate : int64_t(Overwrite);
}

static LogicalResult lowerContract(graph::ContractOp op, Bufferizer &b) {
  if (failed(checkTypes(op, {op.getLhs(), op.getRhs(), op.getY()})))
    return failure();
  auto spec = graph::ContractSpec::parse(op.getSpec());
  Term lhs{spec.lhs, b.placeOf(op.getLhs())}, rhs{spec.rhs, b.placeOf(op.getRhs())};
  Bufferizer::Destination goal{{}, accumulateOf(op.getY(), b)};
  goal.place = b.place(op.getY());
  Term out{spec.result, goal.place};
  Walk walk = walkOf(lhs, rhs, out);
  const bool sharesRight = splitBatch(walk.rows, walk, lhs, out),
             sharesLeft = !sharesRight && splitBatch(walk.columns, walk, rhs, out);
  // The operands of the products that add up to the result.
  SmallVector<std::pair<Place, Place>, 1> factors;
  if (b.splitsSums() && !sharesRight && !sharesLeft && sumsOfParts(walk, lhs, rhs, out)) {
    const StringRef rest = StringRef(walk.sums).drop_front();
    for (auto [left, right] : llvm::zip_equal(partsOf(lhs, walk.sums[0]), partsOf(rhs, walk.sums[0])))
      factors.push_back(
          {*asMatrix(left, walk.batch, walk.rows, rest), *asMatrix(right, walk.batch, rest, walk.columns)});
  } else {
    Place left = readMatrix(lhs, sharesLeft ? "" : walk.batch, walk.rows, walk.sums, b),
          right = readMatrix(rhs, sharesRight ? "" : walk.batch, walk.sums, walk.columns, b);
    if (sharesRight)
      right = repeated(right, left.sizes[0]);
    if (sharesLeft)
      left = repeated(left, right.sizes[0]);
    factors.push_back({left, right});
  }
  Written written{{}, {}, goal};
  if (auto matrix = asMatrix(out, walk.batch, walk.rows, walk.columns)) {
    written.target = *matrix;
  } else {
    written.temporary = packed(out, walk.batch + walk.rows + walk.columns, "product", b);
    written.target = *asMatrix(written.temporary, walk.batch, walk.rows, walk.columns);
  }
  OpBuilder &builder = b.builder();
  int64_t accumulate = written.accumulate();
  for (const auto &[left, right] : factors) {
    LibraryOp command =
        b.library(op, "matmul", {b.view(left), b.view(right)}, b.view(written.target),
                  {builder.getI64IntegerAttr(accumulate), builder.getI64IntegerAttr(0)}, accumulate != 0);
    command.setFlops(llvm::APFloat(command.getFlops().convertToDouble() / double(factors.size())));
    accumulate = Add;
  }
  return written.finish(out, op.getLoc(), b);
}

//===----------------------------------------------------------------------===//
// Products with epilogues
//===----------------------------------------------------------------------===//

/// `term` as one dimension without gaps, in the order of `letters`.
static std::optional<Place> asVector(const Term &term, StringRef letters) {
  auto vector = term.place.merged({dimsOf(term, letters)});
  return vector && (vector->sizes[0] == 1 || vector->strides[0] == 1) ? vector : std::nullopt;
}

/// Rows of what activations are taken of start at multiples of 8 elements (cublasLt.h,
/// CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD).
static std::optional<Place> asKeptRows(const Term &term, const Walk &walk) {
  auto matrix = asRows(term, walk);
  return matrix && (matrix->sizes[1] == 1 || matrix->strides[1] % 8 == 0) ? matrix : std::nullopt;
}

static Place readVector(const Term &term, StringRef letters, Bufferizer &b) {
  if (auto vector = asVector(term, letters))
    return *vector;
  Term copy = packed(term, letters, "packed", b);
  b.copy(term.place.transposed(dimsOf(term, letters)), copy.place, "pack");
  return *asVector(copy, letters);
}

static Place readKept(const Term &term, const Walk &walk, Bufferizer &b) {
  if (auto matrix = asKeptRows(term, walk))
    return *matrix;
  Term copy = packed(term, walk.rows + walk.columns, "packed", b);
  b.copy(term.place.transposed(dimsOf(term, copy.letters)), copy.place, "pack");
  return *asKeptRows(copy, walk);
}

namespace {
/// A product whose epilogue is computed by the same library command.
class EpilogueProduct {
public:
  EpilogueProduct(ProductOp op, Bufferizer &b)
      : op(op), b(b), spec(graph::ContractSpec::parse(op.getSpec())), lhs{spec.lhs, b.placeOf(op.getLhs())},
        rhs{spec.rhs, b.placeOf(op.getRhs())}, accumulate(accumulateOf(op.getY(), b)),
        out{spec.result, b.place(op.getY())}, walk(walkOf(lhs, rhs, out)) {}

  LogicalResult lower() {
    readOperands();
    writeProduct();
    if (op.getKept())
      writeKept();
    if (op.getSums())
      writeSums();
    addCommand();
    if (failed(written.finish(out, op.getLoc(), b)) || (op.getKept() && failed(keeps.finish(kept, op.getLoc(), b))))
      return failure();
    return op.getSums() ? summed.finish(sums, op.getLoc(), b) : success();
  }

private:
  void readOperands() {
    Place left = readMatrix(lhs, walk.batch, walk.rows, walk.sums, b),
          right = readMatrix(rhs, walk.batch, walk.sums, walk.columns, b);
    flops = 2.0 * double(left.elements()) * double(right.sizes[2]);
    ins = {b.view(left), b.view(right)};
    llvm::copy_if(op.getSums() ? rhs.letters : out.letters, std::back_inserter(columns),
                  [&](char letter) { return walk.columns.find(letter) != std::string::npos; });
    if (op.getBias())
      ins.push_back(b.view(readVector({columns, b.placeOf(op.getBias())}, walk.columns, b)));
    if (op.getSlope())
      ins.push_back(b.view(readKept({spec.result, b.placeOf(op.getSlope())}, walk, b)));
  }

  /// The command writes the product and its sums where they belong only if it can do so with both: it adds either of
  /// them to what is there, or neither.
  void writeProduct() {
    // An activation is taken of the sum with what is there: it cannot be what is added to that.
    const bool activates = op.getGelu() || op.getSlope(), byRows = activates || op.getBias();
    auto matrix = byRows ? asRows(out, walk) : asMatrix(out, walk.batch, walk.rows, walk.columns);
    if (op.getSums()) {
      summed.goal.accumulate = accumulateOf(op.getSums(), b);
      sums = {columns, summed.goal.place = b.place(op.getSums())};
      vector = asVector(sums, walk.columns);
    }
    isDirect = matrix && !(activates && accumulate) &&
               (!op.getSums() || (vector && (accumulate == Overwrite) == (summed.goal.accumulate == Overwrite)));
    written.goal = {out.place, accumulate};
    if (!isDirect) {
      written.temporary = packed(out, walk.rows + walk.columns, "product", b);
      matrix = asMatrix(written.temporary, "", walk.rows, walk.columns);
    }
    outs.push_back(b.view(written.target = *matrix));
  }

  /// The input of the activation, which its gradient reads.
  void writeKept() {
    keeps.goal.accumulate = accumulateOf(op.getKept(), b);
    kept = {spec.result, keeps.goal.place = b.place(op.getKept())};
    auto place = asKeptRows(kept, walk);
    if (!place || keeps.goal.accumulate) {
      keeps.temporary = packed(kept, walk.rows + walk.columns, "kept", b);
      place = asKeptRows(keeps.temporary, walk);
    }
    outs.push_back(b.view(*place));
  }

  /// Sums of the columns of an operand: the gradient of a bias.
  void writeSums() {
    if (!isDirect) {
      summed.temporary = packed(sums, walk.columns, "sums", b);
      vector = asVector(summed.temporary, walk.columns);
    }
    outs.push_back(b.view(*vector));
  }

  void addCommand() {
    auto number = [&](int64_t value) { return b.builder().getI64IntegerAttr(value); };
    ProductActivation activation = op.getSlope()  ? ProductActivation::Slope
                                   : op.getKept() ? ProductActivation::GeluKept
                                   : op.getGelu() ? ProductActivation::Gelu
                                                  : ProductActivation::None;
    LibraryOp command = b.library(op, "matmul_epilogue", ins, outs,
                                  {number(written.accumulate()), number(bool(op.getBias())),
                                   number(int64_t(activation)), number(op.getSums() ? summed.accumulate() : -1)},
                                  written.accumulate() != 0);
    command.setFlops(llvm::APFloat(flops));
  }

  ProductOp op;
  Bufferizer &b;
  graph::ContractSpec spec;
  Term lhs, rhs;
  int64_t accumulate;
  Term out;
  Walk walk;
  /// Letters of the columns, in the order of the tensors that have no other letters.
  std::string columns;
  double flops = 0;
  SmallVector<Value> ins, outs;
  Term sums, kept;
  std::optional<Place> vector; // of the sums
  bool isDirect = false;
  Written written, keeps, summed;
};
} // namespace

static LogicalResult lowerProduct(ProductOp op, Bufferizer &b) {
  if (failed(checkTypes(op, {op.getLhs(), op.getRhs(), op.getY()})))
    return failure();
  return EpilogueProduct(op, b).lower();
}

void dtcc::exec::addProductRules(OpRules &rules) {
  OpRule &contract = rules[graph::ContractOp::getOperationName()] = ruleOf<graph::ContractOp, lowerContract>();
  OpRule &product = rules[ProductOp::getOperationName()] = ruleOf<ProductOp, lowerProduct>();
  // Libraries write the type of the factors, or f32; sums beside a product have its type.
  contract.mayRound = product.mayRound = [](Value result, Type type, const Bufferizer &) {
    Operation *op = result.getDefiningOp();
    auto product = dyn_cast<ProductOp>(op);
    return graph::elementOf(op->getOperand(0)) == type && !(product && product.getSums());
  };
  for (OpRule *rule : {&contract, &product})
    rule->writesStrided = rule->accumulates = rule->takesRows = rule->wantsAlignedRows = true;
}
