//===- Optimizers.cpp - The formulas of the optimizers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AdamW: Loshchilov and Hutter 2019; Adam, SGD, Adagrad: as PyTorch has them; variants
// of Adam as ONNX and ONNX Runtime do. Lion: Chen et al. 2023, "Symbolic discovery of
// optimization algorithms", algorithm 2. Muon: Jordan et al. 2024, as PyTorch has it. LAMB:
// You et al. 2020, algorithm 2. Adafactor: Shazeer and Stern 2018, as PyTorch has it. AdamW
// with moments of 8 bits: Dettmers et al. 2022, "8-bit Optimizers via Block-wise Quantization".
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/StateUpdate.h"
#include "mlir/IR/Builders.h"
#include "runtime/abi/dtcc_rt.h"
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
void AdamAttr::updateCell(double g, double rate, double decay, int64_t step, double &p, Slots slots,
                          Rounding rounded) const {
  double kept = 1 - getPostDecay();
  if (!getDecoupled())
    g += decay * p;
  else if (getDecayLast())
    kept *= 1 - rate * decay;
  else
    p = rounded(p * (1 - rate * decay));
  double &m = *slots[0], &v = *slots[1];
  m = rounded(getBeta1() * m + (1 - getBeta1()) * g);
  v = rounded(getBeta2() * v + (1 - getBeta2()) * g * g);
  int64_t count = step + getStart();
  double meanBias = count < 1 ? 1 : 1 - std::pow(getBeta1(), count);
  double root = std::sqrt(count < 1 ? 1 : 1 - std::pow(getBeta2(), count));
  double denominator = getRawEps() ? (std::sqrt(v) + getEps()) / root : std::sqrt(v) / root + getEps();
  p = rounded((p - rate * (m / meanBias) / denominator) * kept);
}

/// Returns the optimizer with moments of f32.
static AdamAttr uncoded(AdamW8bitAttr optimizer) {
  return AdamAttr::get(optimizer.getContext(), optimizer.getLr(), optimizer.getBeta1(), optimizer.getBeta2(),
                       optimizer.getEps(), optimizer.getWeightDecay(), /*decoupled=*/true);
}
Names AdamW8bitAttr::getSlotNames() const { return uncoded(*this).getSlotNames(); }
double AdamW8bitAttr::getLearningRate() const { return getLr(); }
double AdamW8bitAttr::getDecay() const { return getWeightDecay(); }
StringRef AdamW8bitAttr::getLibraryOp() const { return "adamw8bit"; }
SmallVector<Attribute> AdamW8bitAttr::getLibraryParameters(Builder b) const {
  return {b.getF64FloatAttr(getBeta1()), b.getF64FloatAttr(getBeta2()), b.getF64FloatAttr(getEps())};
}
OptimizerAttrInterface AdamW8bitAttr::optimizerOf(ArrayRef<int64_t> savedShape, bool) const {
  if (llvm::product_of(savedShape) < getMinSize())
    return cast<OptimizerAttrInterface>(uncoded(*this));
  return *this;
}
int64_t AdamW8bitAttr::getSlotCodes(int64_t slot) const { return slot == 0 ? DTCC_CODES_SIGNED : DTCC_CODES_UNSIGNED; }
void AdamW8bitAttr::updateCell(double g, double rate, double decay, int64_t step, double &p, Slots slots,
                               Rounding rounded) const {
  uncoded(*this).updateCell(g, rate, decay, step, p, slots, rounded);
}

Names SgdAttr::getSlotNames() const { return getMomentum() != 0 ? Names{"momentum_buffer"} : Names(); }
double SgdAttr::getLearningRate() const { return getLr(); }
double SgdAttr::getDecay() const { return getWeightDecay(); }
StringRef SgdAttr::getLibraryOp() const { return "sgd"; }
SmallVector<Attribute> SgdAttr::getLibraryParameters(Builder b) const {
  return {b.getF64FloatAttr(getMomentum()), b.getF64FloatAttr(getDampening()), b.getI64IntegerAttr(getNesterov()),
          b.getI64IntegerAttr(getStart())};
}
void SgdAttr::updateCell(double g, double rate, double decay, int64_t step, double &p, Slots slots,
                         Rounding rounded) const {
  g += decay * p;
  if (getMomentum() != 0) {
    double &buffer = *slots[0];
    buffer = rounded(getMomentum() * buffer + (step + getStart() <= 1 ? 1 : 1 - getDampening()) * g);
    g = getNesterov() ? g + getMomentum() * buffer : buffer;
  }
  p = rounded(p - rate * g);
}

Names AdagradAttr::getSlotNames() const { return {"sum"}; }
double AdagradAttr::getLearningRate() const { return getLr(); }
double AdagradAttr::getDecay() const { return getWeightDecay(); }
StringRef AdagradAttr::getLibraryOp() const { return "adagrad"; }
SmallVector<Attribute> AdagradAttr::getLibraryParameters(Builder b) const {
  return {b.getF64FloatAttr(getLrDecay()), b.getF64FloatAttr(getEps()), b.getI64IntegerAttr(getStart())};
}
void AdagradAttr::updateCell(double g, double rate, double decay, int64_t step, double &p, Slots slots,
                             Rounding rounded) const {
  g += decay * p;
  double &sum = *slots[0];
  sum = rounded(sum + g * g);
  rate /= 1 + static_cast<double>(step + getStart() - 1) * getLrDecay();
  p = rounded(p - rate * g / (std::sqrt(sum) + getEps()));
}

Names LionAttr::getSlotNames() const { return {"exp_avg"}; }
double LionAttr::getLearningRate() const { return getLr(); }
double LionAttr::getDecay() const { return getWeightDecay(); }
StringRef LionAttr::getLibraryOp() const { return "lion"; }
SmallVector<Attribute> LionAttr::getLibraryParameters(Builder b) const {
  return {b.getF64FloatAttr(getBeta1()), b.getF64FloatAttr(getBeta2())};
}
void LionAttr::updateCell(double g, double rate, double decay, int64_t, double &p, Slots slots,
                          Rounding rounded) const {
  double &m = *slots[0], mixed = getBeta1() * m + (1 - getBeta1()) * g;
  double sign = mixed > 0 ? 1 : mixed < 0 ? -1 : 0;
  p = rounded(p * (1 - rate * decay) - rate * sign);
  m = rounded(getBeta2() * m + (1 - getBeta2()) * g);
}

Names MuonAttr::getSlotNames() const { return {"momentum_buffer"}; }
double MuonAttr::getLearningRate() const { return getLr(); }
double MuonAttr::getDecay() const { return getWeightDecay(); }
StringRef MuonAttr::getLibraryOp() const { return "muon_direction"; }
SmallVector<Attribute> MuonAttr::getLibraryParameters(Builder b) const {
  return {b.getF64FloatAttr(getMomentum()), b.getI64IntegerAttr(getNesterov())};
}
OptimizerAttrInterface MuonAttr::optimizerOf(ArrayRef<int64_t> savedShape, bool byElement) const {
  if (savedShape.size() == 2 && !byElement)
    return *this;
  return cast<OptimizerAttrInterface>(getRest());
}
TensorNeed MuonAttr::getTensorNeed() const { return TensorNeed::Matrices; }
SmallVector<Attribute> MuonAttr::getTensorParameters(Builder b) const {
  return {b.getI64IntegerAttr(getSteps()), b.getF64FloatAttr(getA()),   b.getF64FloatAttr(getB()),
          b.getF64FloatAttr(getC()),       b.getF64FloatAttr(getEps()), b.getI64IntegerAttr(getMatchRms())};
}
void MuonAttr::updateCell(double g, double, double, int64_t, double &p, Slots slots, Rounding rounded) const {
  double &buffer = *slots[0];
  buffer = rounded(buffer + (1 - getMomentum()) * (g - buffer));
  p = getNesterov() ? g + getMomentum() * (buffer - g) : buffer;
}

Names LambAttr::getSlotNames() const { return {"exp_avg", "exp_avg_sq"}; }
double LambAttr::getLearningRate() const { return getLr(); }
double LambAttr::getDecay() const { return getWeightDecay(); }
StringRef LambAttr::getLibraryOp() const { return "lamb_direction"; }
SmallVector<Attribute> LambAttr::getLibraryParameters(Builder b) const {
  return {b.getF64FloatAttr(getBeta1()), b.getF64FloatAttr(getBeta2()), b.getF64FloatAttr(getEps())};
}
TensorNeed LambAttr::getTensorNeed() const { return TensorNeed::Norms; }
SmallVector<Attribute> LambAttr::getTensorParameters(Builder b) const {
  return {b.getI64IntegerAttr(getAlwaysAdapt()), b.getI64IntegerAttr(getTrustClip())};
}
void LambAttr::updateCell(double g, double, double decay, int64_t step, double &p, Slots slots,
                          Rounding rounded) const {
  double &m = *slots[0], &v = *slots[1];
  m = rounded(getBeta1() * m + (1 - getBeta1()) * g);
  v = rounded(getBeta2() * v + (1 - getBeta2()) * g * g);
  double root = std::sqrt(1 - std::pow(getBeta2(), step));
  p = m / (1 - std::pow(getBeta1(), step)) / (std::sqrt(v) / root + getEps()) + decay * p;
}

Names AdafactorAttr::getSlotNames() const { return {}; }
double AdafactorAttr::getLearningRate() const { return getLr(); }
double AdafactorAttr::getDecay() const { return getWeightDecay(); }
StringRef AdafactorAttr::getLibraryOp() const { return "adafactor_direction"; }
SmallVector<Attribute> AdafactorAttr::getLibraryParameters(Builder b) const {
  return {b.getF64FloatAttr(getBeta2Decay()), b.getF64FloatAttr(getEps1())};
}
TensorNeed AdafactorAttr::getTensorNeed() const { return TensorNeed::Factors; }
SmallVector<Attribute> AdafactorAttr::getTensorParameters(Builder b) const {
  return {b.getF64FloatAttr(getEps2()), b.getF64FloatAttr(getD())};
}
SmallVector<TensorFactor> AdafactorAttr::getFactors(ArrayRef<int64_t> savedShape) const {
  if (savedShape.size() < 2)
    return {{"variance", SmallVector<int64_t>(savedShape)}};
  SmallVector<int64_t> rows(savedShape), columns(savedShape);
  rows.back() = 1;
  columns[columns.size() - 2] = 1;
  return {{"row_var", rows}, {"col_var", columns}};
}
void AdafactorAttr::updateCell(double g, double, double, int64_t, double &p, Slots, Rounding) const {
  p = g / std::max(std::abs(g), getEps1());
}

StateUpdate dtcc::graph::updateOf(StateOp state, OptimizerAttrInterface optimizer) {
  OptimizerAttrInterface own = optimizer.optimizerOf(state.getSavedShape(), state.getByElement());
  double scale = state.getLrScale() ? state.getLrScale()->convertToDouble() : 1;
  double decay = state.getWeightDecay() ? state.getWeightDecay()->convertToDouble() : own.getDecay();
  return {own, own.getLearningRate() * scale, state.getDecay() ? decay : 0};
}

int64_t dtcc::graph::orthogonalSteps(OptimizerAttrInterface own) {
  if (own.getTensorNeed() != TensorNeed::Matrices)
    return 0;
  Builder builder(own.getContext());
  return cast<IntegerAttr>(own.getTensorParameters(builder).front()).getInt();
}

double dtcc::graph::rateScaleOf(StateOp state, OptimizerAttrInterface optimizer) {
  OptimizerAttrInterface own = optimizer.optimizerOf(state.getSavedShape(), state.getByElement());
  double scale = state.getLrScale() ? state.getLrScale()->convertToDouble() : 1, base = optimizer.getLearningRate();
  return own == optimizer || base == 0 ? scale : scale * own.getLearningRate() / base;
}
