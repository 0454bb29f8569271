//===- ExpertOps.cpp - Factors and verifiers of routing and experts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/GroupedSpec.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

FactorMap TopKOp::getFactorMap() {
  FactorMap map;
  Dims x = addFactors(map, getX());
  setFactorKind(map, x.back(), FactorKind::Replicate);
  Dims picked(ArrayRef(x).drop_back());
  picked.push_back(map.add(shapeOf(getValues()).back(), FactorKind::Replicate));
  map.operands = {x};
  map.results = {picked, picked};
  return map;
}
double TopKOp::getFlops(ArrayRef<int64_t> sizes) { return product(sizes); }
LogicalResult TopKOp::verify() {
  if (failed(verifyRankAtLeast(*this, "x", getX(), 1)) || failed(verifyRankAtLeast(*this, "values", getValues(), 1)) ||
      failed(verifySameElement(*this, getX(), getValues())))
    return failure();
  int64_t count = shapeOf(getX()).back(), picked = shapeOf(getValues()).back();
  if (picked < 1 || picked > count)
    return emitOpError() << "must pick between 1 and " << count << " cells, got: " << picked;
  return success();
}

//===----------------------------------------------------------------------===//
// grouped_contract
//===----------------------------------------------------------------------===//

GroupedSpec GroupedSpec::parse(StringRef spec, StringRef rows) {
  GroupedSpec grouped{ContractSpec::parse(spec), rows.str()};
  const ContractSpec &terms = grouped.terms;
  char first = terms.result.empty() ? '\0' : terms.result[0];
  grouped.byGroup = first && (terms.lhs + terms.rhs + grouped.rows).find(first) == std::string::npos;
  grouped.group = grouped.byGroup ? first : terms.rhs.empty() ? '\0' : terms.rhs[0];
  return grouped;
}

FactorMap GroupedContractOp::getFactorMap() {
  GroupedSpec spec = GroupedSpec::parse(getSpec(), getRows());
  FactorMap map;
  map.linear = {{0}, {1}};
  if (getLhs() == getRhs())
    map.linear.clear();
  auto sizeOf = [&](char letter) {
    for (auto [term, value] : {std::pair(spec.terms.lhs, getLhs()), std::pair(spec.terms.rhs, getRhs())})
      if (size_t at = term.find(letter); at != std::string::npos)
        return shapeOf(value)[at];
    if (size_t at = spec.rows.find(letter); at != std::string::npos)
      return shapeOf(getIds())[at];
    return shapeOf(getY())[spec.terms.result.find(letter)];
  };
  for (char letter : spec.terms.letters()) {
    int64_t factor = map.add(sizeOf(letter));
    if (letter == spec.group) {
      setFactorKind(map, factor, FactorKind::Index, PaddingNeed::Skipped);
      map.factors[factor].partial = !spec.byGroup;
    } else if (spec.terms.result.find(letter) == std::string::npos) {
      setFactorKind(map, factor, FactorKind::Reduce, PaddingNeed::Neutral);
    }
  }
  map.operands = {spec.terms.factorsOf(spec.terms.lhs), spec.terms.factorsOf(spec.terms.rhs),
                  spec.terms.factorsOf(spec.rows)};
  map.results = {spec.terms.factorsOf(spec.terms.result)};
  return map;
}
double GroupedContractOp::getFlops(ArrayRef<int64_t> sizes) {
  // A row meets one group.
  int64_t group = GroupedSpec::parse(getSpec(), getRows()).groupFactor();
  return sizes[group] ? 2 * product(sizes) / sizes[group] : 0;
}
LogicalResult GroupedContractOp::verify() {
  StringRef text = getSpec();
  if (text.count(',') != 1 || text.count("->") != 1)
    return emitOpError() << "spec must be of the form \"ab,ebc->ac\", got: \"" << text << "\"";
  GroupedSpec spec = GroupedSpec::parse(text, getRows());
  if (failed(verifyTerm(*this, spec.terms.lhs, "lhs", getLhs())) ||
      failed(verifyTerm(*this, spec.terms.rhs, "rhs", getRhs())) ||
      failed(verifyTerm(*this, spec.rows, "ids", getIds())) ||
      failed(verifyTerm(*this, spec.terms.result, "result", getY())))
    return failure();
  if (failed(verifySumElement(*this, getLhs(), getY())) || failed(verifySameElement(*this, getLhs(), getRhs())))
    return failure();
  const std::string &others = spec.byGroup ? spec.terms.lhs + spec.terms.rhs : spec.terms.lhs + spec.terms.result;
  if ((others + spec.rows).find(spec.group) != std::string::npos || !spec.group)
    return emitOpError() << "the group must stand first in rhs or in the result and nowhere else, got: \"" << text
                         << "\"";
  for (char letter : spec.rows)
    if (spec.terms.letters().find(letter) == std::string::npos)
      return emitOpError() << "every letter of rows must stand in a term, got: '" << letter << "'";
  for (char letter : spec.terms.letters()) {
    if (letter == spec.group)
      continue;
    bool inLhs = spec.terms.lhs.find(letter) != std::string::npos;
    bool inRhs = spec.terms.rhs.find(letter) != std::string::npos;
    bool inRows = spec.rows.find(letter) != std::string::npos;
    if (!inLhs && !inRhs && !inRows)
      return emitOpError() << "every letter of the result must stand in an operand, got: '" << letter << "'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// experts
//===----------------------------------------------------------------------===//

namespace {
/// The factors that experts and its backward ops share.
struct ExpertFactors {
  Dims tokens;
  int64_t picked, experts, pair, width, in, out;

  /// `pickedIds` [n.., k], `hidden` [n.., k, g, f]; sizes of the other dimensions.
  ExpertFactors(FactorMap &map, Value pickedIds, Value hidden, int64_t expertCount, int64_t inSize, int64_t outSize) {
    tokens = addFactors(map, pickedIds);
    picked = tokens.pop_back_val();
    experts = map.add(expertCount);
    setFactorKind(map, experts, FactorKind::Index, PaddingNeed::Skipped);
    ArrayRef<int64_t> shape = shapeOf(hidden);
    pair = map.add(shape[shape.size() - 2], FactorKind::Replicate);
    width = map.add(shape.back());
    in = map.add(inSize);
    out = map.add(outSize);
  }
  Dims rows() const { return concat(tokens, picked); }
  Dims token(int64_t channel) const { return concat(tokens, channel); }
  Dims hidden() const { return concat(rows(), {pair, width}); }
  Dims wIn() const { return {experts, pair, width, in}; }
  Dims wOut() const { return {experts, out, width}; }
};
} // namespace

FactorMap ExpertsOp::getFactorMap() {
  FactorMap map;
  ExpertFactors f(map, getIds(), getHidden(), shapeOf(getWIn())[0], shapeOf(getX()).back(), shapeOf(getWOut())[1]);
  map.factors[f.experts].partial = true;
  setFactorKind(map, f.picked, FactorKind::Reduce, PaddingNeed::Neutral);
  setFactorKind(map, f.width, FactorKind::Reduce, PaddingNeed::Neutral);
  // The activation wants whole sums.
  setFactorKind(map, f.in, FactorKind::Replicate);
  map.operands = {f.token(f.in), f.rows(), f.rows(), f.wIn(), f.wOut()};
  map.results = {f.token(f.out), f.hidden()};
  return map;
}

FactorMap ExpertsGradOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  ExpertFactors f(map, getIds(), getHidden(), shapeOf(getWIn())[0], shapeOf(getDx()).back(), shapeOf(getDy()).back());
  map.factors[f.experts].partial = true;
  for (int64_t factor : {f.picked, f.width, f.out})
    setFactorKind(map, factor, FactorKind::Reduce, PaddingNeed::Neutral);
  map.operands = {f.token(f.out), f.rows(), f.rows(), f.wIn(), f.wOut(), f.hidden()};
  map.results = {f.token(f.in), f.rows(), f.hidden()};
  map.ownParts = {{5, f.experts, 1}};
  return map;
}

FactorMap ExpertsWeightGradOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0, 5}};
  ExpertFactors f(map, getIds(), getHidden(), shapeOf(getDwIn())[0], shapeOf(getX()).back(), shapeOf(getDy()).back());
  setFactorKind(map, f.rows(), FactorKind::Reduce, PaddingNeed::Neutral);
  map.operands = {f.token(f.out), f.token(f.in), f.rows(), f.rows(), f.hidden(), f.hidden()};
  map.results = {f.wIn(), f.wOut()};
  map.ownParts = {{4, f.experts, 2}, {5, f.experts, 2}};
  return map;
}

/// 2 flops for each of `cells` weights that a picked row meets.
static double expertFlops(ArrayRef<int64_t> sizes, int64_t tokens, double products) {
  ArrayRef<int64_t> rows = sizes.take_front(tokens + 1), rest = sizes.drop_front(tokens + 1);
  // rest: experts, pair, width, in, out.
  return products * product(rows) * rest[2] * (rest[1] * rest[3] + rest[4]);
}
double ExpertsOp::getFlops(ArrayRef<int64_t> sizes) { return expertFlops(sizes, rankOf(getIds()) - 1, 2); }
double ExpertsGradOp::getFlops(ArrayRef<int64_t> sizes) { return expertFlops(sizes, rankOf(getIds()) - 1, 2); }
double ExpertsWeightGradOp::getFlops(ArrayRef<int64_t> sizes) { return expertFlops(sizes, rankOf(getIds()) - 1, 2); }

/// Ranks, the sizes that the pair may have and element types: one of `rows` and hidden, perhaps a wider one of `wider`.
/// The factor map does the rest.
static LogicalResult verifyExperts(Operation *op, Value ids, Value wIn, Value wOut, Value hidden, ArrayRef<Value> rows,
                                   ArrayRef<Value> wider, ExpertActivation activation) {
  if (failed(verifyRankAtLeast(op, "ids", ids, 1)) || failed(verifyRank(op, "w_in", wIn, 4)) ||
      failed(verifyRank(op, "w_out", wOut, 3)) || failed(verifyRank(op, "hidden", hidden, rankOf(ids) + 2)))
    return failure();
  int64_t matrices = shapeOf(wIn)[1];
  if (matrices != 1 && matrices != 2)
    return op->emitOpError() << "w_in must hold a gate and an up matrix, or one without a gate, got: " << matrices;
  if (matrices == 1 && activation == ExpertActivation::clamped_swish)
    return op->emitOpError() << "clamped_swish must have a gate and an up matrix, got: 1";
  for (Value value : rows)
    if (failed(verifySameElement(op, hidden, value)))
      return failure();
  for (Value value : wider)
    if (failed(verifySumElement(op, hidden, value)))
      return failure();
  return success();
}
LogicalResult ExpertsOp::verify() {
  if (failed(verifyRankAtLeast(*this, "x", getX(), 1)))
    return failure();
  return verifyExperts(*this, getIds(), getWIn(), getWOut(), getHidden(), {getX(), getWIn(), getWOut(), getY()},
                       {getWeights()}, getActivation());
}
LogicalResult ExpertsGradOp::verify() {
  if (failed(verifyRankAtLeast(*this, "dy", getDy(), 1)) || failed(verifyRankAtLeast(*this, "dx", getDx(), 1)))
    return failure();
  return verifyExperts(*this, getIds(), getWIn(), getWOut(), getHidden(),
                       {getDy(), getWIn(), getWOut(), getDx(), getDhidden()}, {getWeights(), getDweights()},
                       getActivation());
}
LogicalResult ExpertsWeightGradOp::verify() {
  if (failed(verifyRankAtLeast(*this, "dy", getDy(), 1)) || failed(verifyRankAtLeast(*this, "x", getX(), 1)))
    return failure();
  return verifyExperts(*this, getIds(), getDwIn(), getDwOut(), getHidden(), {getDy(), getX(), getDhidden()},
                       {getWeights(), getDwIn(), getDwOut()}, getActivation());
}
