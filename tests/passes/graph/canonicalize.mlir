// RUN: dtcc-opt %s --graph-canonicalize | FileCheck %s

// CHECK-LABEL: func.func @operand
// CHECK-NOT: graph.transpose
// CHECK: graph.contract "bk,nk->bn" %arg0, %arg1
func.func @operand(%x: tensor<2x4xf32>, %w: tensor<6x4xf32>) -> tensor<2x6xf32> {
  %t = graph.transpose %w [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %y = graph.contract "bk,kn->bn" %x, %t : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// CHECK-LABEL: func.func @result
// CHECK: graph.contract "btc,chd->bhtd" %arg0, %arg1
// CHECK-NOT: graph.transpose
// CHECK: return
func.func @result(%x: tensor<2x3x4xf32>, %w: tensor<4x5x6xf32>) -> tensor<2x5x3x6xf32> {
  %y = graph.contract "btc,chd->bthd" %x, %w : (tensor<2x3x4xf32>, tensor<4x5x6xf32>) -> tensor<2x3x5x6xf32>
  %t = graph.transpose %y [0, 2, 1, 3] : (tensor<2x3x5x6xf32>) -> tensor<2x5x3x6xf32>
  return %t : tensor<2x5x3x6xf32>
}

// A result that others read stays.
// CHECK-LABEL: func.func @shared
// CHECK: graph.contract "bk,kn->bn"
// CHECK: graph.transpose
func.func @shared(%x: tensor<2x4xf32>, %w: tensor<4x6xf32>) -> (tensor<2x6xf32>, tensor<6x2xf32>) {
  %y = graph.contract "bk,kn->bn" %x, %w : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  %t = graph.transpose %y [1, 0] : (tensor<2x6xf32>) -> tensor<6x2xf32>
  return %y, %t : tensor<2x6xf32>, tensor<6x2xf32>
}

// CHECK-LABEL: func.func @pair
// CHECK-NEXT: return %arg0
func.func @pair(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %a = graph.transpose %x [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %b = graph.transpose %a [2, 0, 1] : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  return %b : tensor<2x3x4xf32>
}
