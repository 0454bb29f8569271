//===- CrossEntropy.cpp - Cross entropy of picked logarithms
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loss written out picks one class a row by comparing labels with a count:
// -sum(select(iota == label, log_softmax(x), 0)). Anchored on the logarithm of a softmax
// over its last dimension; the picked sum becomes that of cross_entropy, and its count
// stays as the file computes it.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/recover/Cells.h"
#include "passes/graph/recover/Recover.h"
#include "passes/graph/recover/Region.h"
#include "passes/graph/recover/Views.h"
#include <cmath>

using namespace mlir;

namespace dtcc::graph {

namespace {

class CrossEntropyRecovery {
public:
  explicit CrossEntropyRecovery(SoftmaxOp softmax) : softmax(softmax) {}

  void run() {
    int64_t last = rankOf(softmax.getX()) - 1;
    if (!softmax.getLog() || softmax.getDims() != ArrayRef<int64_t>{last} || !softmax->hasOneUse())
      return;
    // The comparison of labels with classes, above the first user.
    Operation *user = *softmax->user_begin();
    for (Value operand : user->getOperands())
      for (Value value : ancestors(operand, 16))
        if (auto compare = value.getDefiningOp<CompareOp>())
          for (Value side : {compare.getLhs(), compare.getRhs()}) {
            View view = View::of(side, false);
            if (!isFloat(view.base) && !isStatic(view.base) && view.dims.back() < 0 &&
                ArrayRef(view.dims).drop_back() == ArrayRef<int64_t>(range(0, last)))
              labels = view.base;
          }
    if (!labels || rankOf(labels) != last)
      return;
    for (Value root : descendants(softmax.getY(), 16))
      if (rankOf(root) == 0 && isFloat(root) && isPickedSum(root)) {
        replace(root);
        return;
      }
  }

private:
  /// Whether root is -sum of the picked cells, for labels of all rows at once: a cell of
  /// the logarithm is a number of its own, and a label -1 picks nothing.
  bool isPickedSum(Value root) {
    std::optional<Region> region = Region::between({softmax.getY(), labels}, root, 32);
    if (!region || !region->isClosed())
      return false;
    int64_t classes = shapeOf(softmax.getX()).back(), rows = product(shapeOf(labels));
    // Each cell is read once a trial: large losses are left alone.
    if (rows * classes > (1 << 20))
      return false;
    for (int64_t trial = 0; trial < 3; ++trial) {
      auto labelOf = [&](int64_t row) { return (row * 7 + trial * 3) % (classes + 1) - 1; };
      auto cellOf = [&](int64_t cell) { return std::sin(1.0 + cell * 1.7); };
      Cells cells([&](Value value, ArrayRef<int64_t> index) -> std::optional<double> {
        if (value == labels)
          return labelOf(positionOf(index, rowMajorStrides(shapeOf(labels))));
        if (value == softmax.getY())
          return cellOf(positionOf(index, rowMajorStrides(shapeOf(softmax.getY()))));
        return std::nullopt;
      });
      double expected = 0;
      for (int64_t row = 0; row < rows; ++row)
        if (labelOf(row) >= 0)
          expected -= cellOf(row * classes + labelOf(row));
      std::optional<double> sum = cells.at(root, {});
      if (!sum || std::fabs(*sum - expected) > 1e-9 * (1 + std::fabs(expected)))
        return false;
    }
    return true;
  }

  void replace(Value root) {
    OpBuilder builder(root.getDefiningOp());
    // Labels outside of the classes pick nothing in the file: -1 is named, others are the loader's error.
    auto loss = CrossEntropyOp::create(builder, softmax.getLoc(), root.getType(), root.getType(),
                                       withShape(softmax.getType(), shapeOf(labels)), softmax.getX(), labels,
                                       builder.getI64IntegerAttr(-1));
    root.replaceAllUsesWith(loss.getSum());
  }

  SoftmaxOp softmax;
  Value labels;
};
} // namespace

void recoverCrossEntropy(func::FuncOp function) {
  SmallVector<SoftmaxOp> anchors(function.getOps<SoftmaxOp>());
  for (SoftmaxOp anchor : anchors)
    CrossEntropyRecovery(anchor).run();
}

} // namespace dtcc::graph
