//===- Optimizers.cpp - The formulas of the optimizers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AdamW: Loshchilov and Hutter 2019; Adam, SGD, Adagrad: as PyTorch has them; variants
// of Adam as ONNX and ONNX Runtime do. Lion: Chen et al. 2023, "Symbolic discovery of
// optimization algorithms", algorithm 2.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;
using namespace dtcc::graph;

using Slots = ArrayRef<double *>;
using Rounding = llvm::function_ref<double(double)>;
using Names = SmallVector<StringRef>;

Names AdamAttr::getSlotNames() const { return {"exp_avg", "exp_avg_sq"}; }
double AdamAttr::getLearningRate() const { return getLr(); }
double AdamAttr::getDecay() const { return getWeightDecay(); }
StringRef AdamAttr::getLibraryOp() const { return "adamw"; }
SmallVector<Attribute> AdamAttr::getLibraryParameters(Builder b) const {
  return {b.getF64FloatAttr(getBeta1()),
          b.getF64FloatAttr(getBeta2()),
          b.getF64FloatAttr(getEps()),
          b.getF64FloatAttr(getPostDecay()),
          b.getI64IntegerAttr(!getDecoupled()  ? 0
                              : getDecayLast() ? 2
                                               : 1),
          b.getI64IntegerAttr(getRawEps() ? 2 : 1),
          b.getI64IntegerAttr(getStart())};
}
void AdamAttr::updateCell(double g, double decay, int64_t step, double &p, Slots slots, Rounding rounded) const {
  double kept = 1 - getPostDecay();
  if (!getDecoupled())
    g += decay * p;
  else if (getDecayLast())
    kept *= 1 - getLr() * decay;
  else
    p = rounded(p * (1 - getLr() * decay));
  double &m = *slots[0], &v = *slots[1];
  m = rounded(getBeta1() * m + (1 - getBeta1()) * g);
  v = rounded(getBeta2() * v + (1 - getBeta2()) * g * g);
  int64_t count = step + getStart();
  double meanBias = count < 1 ? 1 : 1 - std::pow(getBeta1(), count);
  double root = std::sqrt(count < 1 ? 1 : 1 - std::pow(getBeta2(), count));
  double denominator = getRawEps() ? (std::sqrt(v) + getEps()) / root : std::sqrt(v) / root + getEps();
  p = rounded((p - getLr() * (m / meanBias) / denominator) * kept);
}

Names SgdAttr::getSlotNames() const { return getMomentum() != 0 ? Names{"momentum_buffer"} : Names(); }
double SgdAttr::getLearningRate() const { return getLr(); }
double SgdAttr::getDecay() const { return getWeightDecay(); }
StringRef SgdAttr::getLibraryOp() const { return "sgd"; }
SmallVector<Attribute> SgdAttr::getLibraryParameters(Builder b) const {
  return {b.getF64FloatAttr(getMomentum()), b.getF64FloatAttr(getDampening()), b.getI64IntegerAttr(getNesterov()),
          b.getI64IntegerAttr(getStart())};
}
void SgdAttr::updateCell(double g, double decay, int64_t step, double &p, Slots slots, Rounding rounded) const {
  g += decay * p;
  if (getMomentum() != 0) {
    double &buffer = *slots[0];
    buffer = rounded(getMomentum() * buffer + (step + getStart() <= 1 ? 1 : 1 - getDampening()) * g);
    g = getNesterov() ? g + getMomentum() * buffer : buffer;
  }
  p = rounded(p - getLr() * g);
}

Names AdagradAttr::getSlotNames() const { return {"sum"}; }
double AdagradAttr::getLearningRate() const { return getLr(); }
double AdagradAttr::getDecay() const { return getWeightDecay(); }
StringRef AdagradAttr::getLibraryOp() const { return "adagrad"; }
SmallVector<Attribute> AdagradAttr::getLibraryParameters(Builder b) const {
  return {b.getF64FloatAttr(getLrDecay()), b.getF64FloatAttr(getEps()), b.getI64IntegerAttr(getStart())};
}
void AdagradAttr::updateCell(double g, double decay, int64_t step, double &p, Slots slots, Rounding rounded) const {
  g += decay * p;
  double &sum = *slots[0];
  sum = rounded(sum + g * g);
  double rate = getLr() / (1 + static_cast<double>(step + getStart() - 1) * getLrDecay());
  p = rounded(p - rate * g / (std::sqrt(sum) + getEps()));
}

Names LionAttr::getSlotNames() const { return {"exp_avg"}; }
double LionAttr::getLearningRate() const { return getLr(); }
double LionAttr::getDecay() const { return getWeightDecay(); }
StringRef LionAttr::getLibraryOp() const { return "lion"; }
SmallVector<Attribute> LionAttr::getLibraryParameters(Builder b) const {
  return {b.getF64FloatAttr(getBeta1()), b.getF64FloatAttr(getBeta2())};
}
void LionAttr::updateCell(double g, double decay, int64_t, double &p, Slots slots, Rounding rounded) const {
  double &m = *slots[0], mixed = getBeta1() * m + (1 - getBeta1()) * g;
  double sign = mixed > 0 ? 1 : mixed < 0 ? -1 : 0;
  p = rounded(p * (1 - getLr() * decay) - getLr() * sign);
  m = rounded(getBeta2() * m + (1 - getBeta2()) * g);
}
