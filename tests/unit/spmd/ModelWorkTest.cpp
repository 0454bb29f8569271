//===- ModelWorkTest.cpp - The operations of a step by its definition
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/step/ModelWork.h"
#include "StepFixture.h"

using namespace dtcc;
using namespace dtcc::spmd;

namespace {

struct ModelWorkTest : StepFixture {
  double flopsOf(llvm::StringRef text) {
    whole = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return whole ? modelFlops(whole->lookupSymbol<mlir::func::FuncOp>("step")) : -1;
  }
};

TEST_F(ModelWorkTest, ProductsCountAndOtherOpsDoNot) {
  EXPECT_EQ(flopsOf(R"(
func.func @step(%x: tensor<8x16xf32>, %w: tensor<32x16xf32>) {
  %0 = graph.contract "ab,cb->ac" %x, %w : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  %1 = graph.exp %0 : tensor<8x32xf32>
  return
})"),
            2 * 8 * 16 * 32);
}

TEST_F(ModelWorkTest, RecurrentLayersCountForwardAndBackward) {
  // Five steps of two samples: each of four gates of three units sums three products.
  const double products = 5 * 2 * 4 * 3 * 2 * 3, gates = 5 * 2 * 4 * 3 * 30;
  EXPECT_EQ(flopsOf(R"(
func.func @step(%p: tensor<5x2x4x3xf32>, %w: tensor<4x3x3xf32>, %s: tensor<2x3xf32>, %d: tensor<5x2x3xf32>) {
  %h, %c, %g = graph.recurrence lstm %p, %w, %s, %s : (tensor<5x2x4x3xf32>, tensor<4x3x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<5x2x4x3xf32>)
  %1:3 = graph.recurrence_grad lstm %d, %w, %h, %s, %g memory(%c, %s) : (tensor<5x2x3xf32>, tensor<4x3x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
})"),
            2 * (products + gates));
}

} // namespace
