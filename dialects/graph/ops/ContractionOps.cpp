//===- ContractionOps.cpp - Factors and verifiers of products and reductions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/ContractSpec.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

//===----------------------------------------------------------------------===//
// contract
//===----------------------------------------------------------------------===//

ContractSpec ContractSpec::parse(StringRef spec) {
  auto [left, result] = spec.split("->");
  auto [lhs, rhs] = left.split(",");
  return {lhs.str(), rhs.str(), result.str()};
}
std::string ContractSpec::str() const { return lhs + "," + rhs + "->" + result; }
std::string ContractSpec::letters() const {
  std::string all = result;
  for (char letter : lhs + rhs)
    if (all.find(letter) == std::string::npos)
      all += letter;
  return all;
}
SmallVector<int64_t> ContractSpec::factorsOf(StringRef term) const {
  std::string all = letters();
  SmallVector<int64_t> factors;
  for (char letter : term)
    factors.push_back(static_cast<int64_t>(all.find(letter)));
  return factors;
}

FactorMap ContractOp::getFactorMap() {
  ContractSpec spec = ContractSpec::parse(getSpec());
  FactorMap map;
  map.linear = {{0}, {1}};
  if (getLhs() == getRhs())
    map.linear.clear();
  for (char letter : spec.letters()) {
    size_t inLhs = spec.lhs.find(letter), inRhs = spec.rhs.find(letter);
    int64_t factor = map.add(inLhs != std::string::npos ? shapeOf(getLhs())[inLhs] : shapeOf(getRhs())[inRhs]);
    if (spec.result.find(letter) == std::string::npos)
      setFactorKind(map, factor, FactorKind::Reduce, PaddingNeed::Neutral);
  }
  map.operands = {spec.factorsOf(spec.lhs), spec.factorsOf(spec.rhs)};
  map.results = {spec.factorsOf(spec.result)};
  return map;
}
double ContractOp::getFlops(ArrayRef<int64_t> sizes) { return 2 * product(sizes); }

LogicalResult dtcc::graph::verifyContraction(Operation *op, StringRef text, Value lhs, Value rhs, Value y) {
  if (text.count(',') != 1 || text.count("->") != 1)
    return op->emitOpError() << "spec must be of the form \"ab,bc->ac\", got: \"" << text << "\"";
  if (failed(verifySameElement(op, lhs, rhs)) || failed(verifySumElement(op, lhs, y)))
    return failure();
  ContractSpec spec = ContractSpec::parse(text);
  if (failed(verifyTerm(op, spec.lhs, "lhs", lhs)) || failed(verifyTerm(op, spec.rhs, "rhs", rhs)) ||
      failed(verifyTerm(op, spec.result, "result", y)))
    return failure();
  for (char letter : spec.letters()) {
    int terms = (spec.lhs.find(letter) != std::string::npos) + (spec.rhs.find(letter) != std::string::npos);
    bool inResult = spec.result.find(letter) != std::string::npos;
    if (terms == 0)
      return op->emitOpError() << "every letter of the result must stand in an operand, got: '" << letter << "'";
    if (terms == 1 && !inResult)
      return op->emitOpError() << "a letter of one operand alone must stand in the result, got: '" << letter << "'";
  }
  return success();
}

LogicalResult ContractOp::verify() { return verifyContraction(*this, getSpec(), getLhs(), getRhs(), getY()); }

//===----------------------------------------------------------------------===//
// reduce, softmax, cumsum
//===----------------------------------------------------------------------===//

FactorMap ReduceOp::getFactorMap() {
  FactorMap map;
  if (getKind() == Reduction::Sum)
    map.linear = {{0}};
  Dims x = addFactors(map, getX());
  setFactorKind(map, at(x, getDims()), FactorKind::Reduce, PaddingNeed::Neutral);
  for (int64_t factor : at(x, getDims()))
    map.factors[factor].reduction = getKind();
  map.operands.push_back(x);
  map.results.push_back(without(x, getDims()));
  return map;
}
double ReduceOp::getFlops(ArrayRef<int64_t> sizes) { return product(sizes); }
LogicalResult ReduceOp::verify() {
  bool sums = getKind() == Reduction::Sum;
  if (failed(sums ? verifySumElement(*this, getX(), getY()) : verifySameElement(*this, getX(), getY())))
    return failure();
  return verifyDims(*this, getDims(), rankOf(getX()));
}

FactorMap SoftmaxOp::getFactorMap() {
  FactorMap map = elementwiseFactorMap(*this);
  setFactorKind(map, getDims(), FactorKind::Decompose, PaddingNeed::Neutral);
  return map;
}
double SoftmaxOp::getFlops(ArrayRef<int64_t> sizes) { return 16 * product(sizes); }
LogicalResult SoftmaxOp::verify() { return verifyDims(*this, getDims(), rankOf(getX())); }

FactorMap CumsumOp::getFactorMap() {
  FactorMap map = elementwiseFactorMap(*this);
  map.linear = {{0}};
  map.factors[getDim()].kind = FactorKind::Replicate;
  return map;
}
double CumsumOp::getFlops(ArrayRef<int64_t> sizes) { return product(sizes); }
LogicalResult CumsumOp::verify() { return verifyDim(*this, "dim", getDim(), rankOf(getX())); }

//===----------------------------------------------------------------------===//
// embedding
//===----------------------------------------------------------------------===//

FactorMap EmbeddingOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  Dims table = addFactors(map, getTable()), ids = addFactors(map, getIds());
  map.factors[table[0]].kind = FactorKind::Index;
  map.factors[table[0]].partial = true;
  map.operands = {table, ids};
  map.results.push_back(concat(ids, ArrayRef(table).drop_front()));
  return map;
}
double EmbeddingOp::getFlops(ArrayRef<int64_t>) { return 0; }
LogicalResult EmbeddingOp::verify() {
  if (failed(verifySameElement(*this, getTable(), getY())))
    return failure();
  return verifyRankAtLeast(*this, "table", getTable(), 1);
}

FactorMap ScatterAddOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  Dims table = addFactors(map, getTable()), ids = addFactors(map, getIds());
  // No id names a padded row: it stays zero.
  setFactorKind(map, table[0], FactorKind::Index, PaddingNeed::Skipped);
  setFactorKind(map, ids, FactorKind::Reduce, PaddingNeed::Neutral);
  map.operands = {concat(ids, ArrayRef(table).drop_front()), ids};
  map.results = {table};
  return map;
}
double ScatterAddOp::getFlops(ArrayRef<int64_t> sizes) {
  // The rows do not multiply the work: each id adds one row.
  return sizes[0] ? product(sizes) / sizes[0] : 0;
}
LogicalResult ScatterAddOp::verify() {
  if (failed(verifySumElement(*this, getRows(), getTable())))
    return failure();
  return verifyRankAtLeast(*this, "result", getTable(), 1);
}
