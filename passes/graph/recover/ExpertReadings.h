//===- ExpertReadings.h - Which parameter is what of an expert layer -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region of an expert layer reads matrices and biases. Their sizes, and the loops that
// they share with the tokens, leave some ways to say which is what; a caller tries them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_RECOVER_EXPERTREADINGS_H
#define DTCC_PASSES_GRAPH_RECOVER_EXPERTREADINGS_H

#include "dialects/graph/Graph.h"
#include "passes/graph/recover/SmallRegion.h"
#include <vector>

namespace dtcc::graph {

/// A parameter that holds one of the three matrices or their biases, of one expert or of all.
struct ExpertPart {
  mlir::Value parameter;
  /// The dimensions of the matrix: width and channels in, or channels out and width. A bias has rows alone.
  int64_t row, column = -1;
  /// The dimension of the experts, and that of gate and up with the place there, if the parameter has them.
  int64_t expert = -1, pair = -1, place = 0;

  double cell(const HostTensor &tensor, int64_t number, int64_t r, int64_t c = 0) const {
    Dims strides = tensor.strides();
    int64_t at = r * strides[row] + (column >= 0 ? c * strides[column] : 0);
    if (expert >= 0)
      at += number * strides[expert];
    return tensor.floats[pair >= 0 ? at + place * strides[pair] : at];
  }
};

/// The weights of the experts: the picked values, their softmax, their shares of the sum, or their logistic. All but
/// the first are a way to read a region whose weights are no value with a cell for each pick, or one whose dimensions
/// are in another order.
enum class ExpertWeighing { AsTheyAre, Softmax, Shares, Logistic };

/// One way to read a region as an expert layer: which parameter is what.
struct ExpertReading {
  mlir::Value x;
  /// One part for all experts, or one for each; none of `up` if experts have no gate, and none of a missing bias.
  llvm::SmallVector<ExpertPart> gate, up, out, gateBias, upBias, outBias;
  ExpertWeighing weighing = ExpertWeighing::AsTheyAre;
  /// Whether the weight of a token's only pick multiplies what enters, as in Llama 4, and not what comes out.
  bool entering = false;
  ExpertActivation activation = ExpertActivation::silu;

  llvm::SmallVector<mlir::Value> parameters() const {
    llvm::SetVector<mlir::Value> found;
    for (const llvm::SmallVector<ExpertPart> *parts : {&gate, &up, &out, &gateBias, &upBias, &outBias})
      for (const ExpertPart &part : *parts)
        found.insert(part.parameter);
    return found.takeVector();
  }
  static const ExpertPart &of(llvm::ArrayRef<ExpertPart> parts, int64_t expert) {
    return parts[parts.size() == 1 ? 0 : expert];
  }
};

/// The ways to read the parameters of a region as those of a layer of `experts` experts: `channels` is the class of the
/// last dimension of its tokens, `result` that of its result. Tokens, weighing and activation are left to be filled in.
std::vector<ExpertReading> readExperts(SmallRegion &region, int64_t experts, unsigned channels, unsigned result);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_RECOVER_EXPERTREADINGS_H
