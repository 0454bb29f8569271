//===- ops/Einsum.cpp - Products and sums by letters
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "bqhd,bkhd->bhqk": a term an operand, a letter a dimension, "..." what the letters leave
// over. Operands are multiplied from left to right; a letter that neither the rest nor the
// result has is summed over as soon as it can be, inside a contraction where both factors
// have it. torch.einsum is exported as this.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Products.h"
#include "frontends/onnx/emit/Reductions.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// Operands of one product.
static constexpr unsigned kMostFactors = 16;

namespace {

/// A tensor whose dimensions are named by letters, each once.
struct Factor {
  Tensor value;
  std::string letters;
};

/// Letters of the dimensions of "...", aligned right.
constexpr StringLiteral kSpares = "0123456789";

class Einsum {
public:
  explicit Einsum(OpBinder &node) : node(node), emit(node.emit()) {}

  LogicalResult run() {
    std::string equation = node.text("equation", "");
    llvm::erase(equation, ' ');
    auto [left, right] = StringRef(equation).split("->");
    SmallVector<StringRef> terms;
    left.split(terms, ',');
    if (node.numInputs() > kMostFactors)
      return node.error("must have at most " + Twine(kMostFactors) + " operands, got: " + Twine(node.numInputs()));
    if (terms.size() != node.numInputs())
      return node.error("the equation must have a term for each of the " + Twine(node.numInputs()) +
                        " operands, got: " + equation);
    for (auto [i, term] : llvm::enumerate(terms))
      if (failed(read(node.input(i), term)))
        return failure();
    if (failed(StringRef(equation).contains("->") ? readResult(right) : inferResult(left)))
      return failure();
    Factor product = summed(std::move(factors[0]), 1);
    for (size_t i = 1; i < factors.size() && product.value; ++i)
      product = multiply(std::move(product), summed(std::move(factors[i]), i + 1, product.letters), i + 1);
    return node.result(0, ordered(product, result));
  }

private:
  static bool isLetter(char c) { return llvm::isAlpha(c); }

  static int64_t lettersOf(StringRef term) { return int64_t(term.size()) - (term.contains("...") ? 3 : 0); }

  /// The letters of a term of `rank` dimensions, those of "..." filled in.
  FailureOr<std::string> expand(StringRef term, int64_t rank) {
    auto [before, after] = term.split("...");
    if (!llvm::all_of(before, isLetter) || !llvm::all_of(after, isLetter))
      return node.error("a term must have a letter for each dimension, or '...' once for the rest, got: " + term);
    int64_t rest = rank - lettersOf(term);
    if (rest < 0 || rest > (term.contains("...") ? int64_t(kSpares.size()) : 0))
      return node.error("term '" + term + "' must name " + Twine(rank) + " dimensions, at most " +
                        Twine(kSpares.size()) + " of them by '...'");
    return (before + kSpares.take_back(rest) + after).str();
  }

  /// An operand, its diagonals taken and its dimensions of size 1 dropped where others are larger.
  LogicalResult read(const Tensor &x, StringRef term) {
    if (!isFloat(x))
      return node.error("must multiply floats");
    FailureOr<std::string> letters = expand(term, rankOf(x));
    if (failed(letters))
      return failure();
    Factor factor{x, *letters};
    for (size_t i = 0; i < factor.letters.size(); ++i)
      for (size_t j = factor.letters.size() - 1; j > i; --j)
        if (factor.letters[i] == factor.letters[j])
          if (factor = diagonal(factor, i, j); !factor.value)
            return failure();
    for (auto [letter, size] : llvm::zip_equal(factor.letters, shapeOf(factor.value))) {
      int64_t &known = sizes.try_emplace(letter, 1).first->second;
      if (known != 1 && size != 1 && known != size)
        return node.error("dimensions of one letter must agree, got: " + Twine(known) + " and " + Twine(size) +
                          " for " + (isLetter(letter) ? std::string("'") + letter + "'" : std::string("'...'")));
      known = known == 1 ? size : known;
    }
    factors.push_back(std::move(factor));
    return success();
  }

  /// Infers a result that is not stated: the dimensions of "...", then the letters that occur once, in the alphabet's
  /// order.
  LogicalResult inferResult(StringRef left) {
    for (auto [letter, size] : sizes)
      if (!isLetter(letter) || left.count(letter) == 1)
        result += letter;
    return success();
  }

  LogicalResult readResult(StringRef given) {
    auto spares = llvm::count_if(sizes, [](auto &entry) { return !isLetter(entry.first); });
    FailureOr<std::string> letters = expand(given, lettersOf(given) + (given.contains("...") ? spares : 0));
    if (failed(letters))
      return failure();
    result = *letters;
    for (char letter : result)
      if (!sizes.count(letter) || llvm::count(result, letter) != 1)
        return node.error("each letter of the result must stand there once and in an operand, got: " + given);
    return success();
  }

  /// Dimensions i and j > i walked together, as dimension i.
  Factor diagonal(const Factor &x, size_t i, size_t j) {
    ArrayRef<int64_t> shape = shapeOf(x.value);
    if (shape[i] != shape[j]) {
      node.error("dimensions of one letter must agree, got: " + Twine(shape[i]) + " and " + Twine(shape[j]));
      return {};
    }
    auto places = RankedTensorType::get(shape, emit.getBuilder().getI64Type());
    Affine row{0, SmallVector<int64_t>(shape.size(), 0)}, column = row;
    row.steps[i] = column.steps[j] = 1;
    Tensor same = emit.compare(graph::Predicate::eq, emit.affine(places, row), emit.affine(places, column));
    Tensor kept = emit.select(same, x.value, emit.scalar(0, elementOf(x.value)));
    std::string letters = x.letters;
    letters.erase(j, 1);
    return {reduce(emit, Reduction::Sum, kept, {int64_t(j)}, /*keep=*/false), letters};
  }

  /// Whether factors from `next` on or the result have the letter.
  bool isWanted(char letter, size_t next) const {
    return StringRef(result).contains(letter) || llvm::any_of(ArrayRef(factors).drop_front(next), [&](const Factor &x) {
             return StringRef(x.letters).contains(letter);
           });
  }

  /// The factor without what nobody else has, and without dimensions that are to be broadcast.
  Factor summed(Factor x, size_t next, StringRef partner = "") {
    SmallVector<int64_t> dims;
    std::string letters;
    for (auto [dim, letter] : llvm::enumerate(x.letters))
      if ((shapeOf(x.value)[dim] == 1 && sizes.at(letter) != 1) ||
          (!isWanted(letter, next) && !partner.contains(letter)))
        dims.push_back(dim);
      else
        letters += letter;
    return {dims.empty() ? x.value : reduce(emit, Reduction::Sum, x.value, dims, /*keep=*/false), letters};
  }

  Factor multiply(const Factor &x, const Factor &y, size_t next) {
    if (!x.value || !y.value)
      return {};
    std::string letters, both;
    for (char letter : x.letters + y.letters) {
      if (StringRef(letters + both).contains(letter))
        continue;
      bool shared = StringRef(x.letters).contains(letter) && StringRef(y.letters).contains(letter);
      (shared && !isWanted(letter, next) ? both : letters) += letter;
    }
    if (both.empty())
      return {emit.mul(ordered(x, letters), ordered(y, letters)), letters};
    // A contraction's letters are those of the alphabet.
    std::string all = letters + both, spec = x.letters + "," + y.letters + "->" + letters;
    for (char &letter : spec)
      if (size_t at = all.find(letter); at != std::string::npos)
        letter = char('a' + at);
    return {contract(emit, spec, x.value, y.value), letters};
  }

  /// The factor's dimensions in the order of `letters`, of size 1 or, in the result, as large as they are where it has
  /// none.
  Tensor ordered(const Factor &x, StringRef letters) {
    if (!x.value)
      return nullptr;
    SmallVector<int64_t> turn, shape, whole;
    for (char letter : letters) {
      size_t at = x.letters.find(letter);
      shape.push_back(at == std::string::npos ? 1 : shapeOf(x.value)[at]);
      whole.push_back(sizes.at(letter));
      if (at != std::string::npos)
        turn.push_back(at);
    }
    Tensor turned = emit.reshape(emit.transpose(x.value, turn), shape);
    return letters == StringRef(result) ? emit.broadcastTo(turned, whole) : turned;
  }

  OpBinder &node;
  Emitter &emit;
  SmallVector<Factor> factors;
  /// Sizes by letter, in the alphabet's order.
  std::map<char, int64_t> sizes;
  std::string result;
};

} // namespace

static LogicalResult einsumRule(OpBinder &node) { return Einsum(node).run(); }

void dtcc::onnx::addEinsumRules(RuleTable &table) { table.on("Einsum", 12, {1, kAnyNumber}, einsumRule); }
