// Pairs of neighbours that turn, as in GPT-J: the slices that take cells in turns become one inner dimension, and the op reads it.
// RUN: dtcc-opt %s --graph-factor-dimensions --graph-recover-composites | FileCheck %s

// CHECK-LABEL: func.func @neighbours
// CHECK: %[[X:.*]] = graph.reshape %arg0 : (tensor<2x5x3x8xf32>) -> tensor<2x5x3x4x2xf32>
// CHECK: %[[Y:.*]] = graph.rotary %[[X]], %{{.*}}, %{{.*}} [1, 3] {pair = 4 : i64}
// CHECK-NOT: graph.slice
// CHECK: return
func.func @neighbours(%x: tensor<2x5x3x8xf32>, %angle: tensor<5x4xf32>) -> tensor<2x5x3x8xf32> {
  %cos = graph.cos %angle : tensor<5x4xf32>
  %sin = graph.sin %angle : tensor<5x4xf32>
  %cr = graph.broadcast %cos [0, 1] : (tensor<5x4xf32>) -> tensor<5x4x2xf32>
  %sr = graph.broadcast %sin [0, 1] : (tensor<5x4xf32>) -> tensor<5x4x2xf32>
  %ct = graph.reshape %cr : (tensor<5x4x2xf32>) -> tensor<5x8xf32>
  %st = graph.reshape %sr : (tensor<5x4x2xf32>) -> tensor<5x8xf32>
  %cb = graph.broadcast %ct [1, 3] : (tensor<5x8xf32>) -> tensor<2x5x3x8xf32>
  %sb = graph.broadcast %st [1, 3] : (tensor<5x8xf32>) -> tensor<2x5x3x8xf32>
  %even = graph.slice %x [0, 0, 0, 0] [1, 1, 1, 2] : (tensor<2x5x3x8xf32>) -> tensor<2x5x3x4xf32>
  %odd = graph.slice %x [0, 0, 0, 1] [1, 1, 1, 2] : (tensor<2x5x3x8xf32>) -> tensor<2x5x3x4xf32>
  %n = graph.neg %odd : tensor<2x5x3x4xf32>
  %pairs = graph.stack %n, %even {dim = 4 : i64} : (tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) -> tensor<2x5x3x4x2xf32>
  %turned = graph.reshape %pairs : (tensor<2x5x3x4x2xf32>) -> tensor<2x5x3x8xf32>
  %a = graph.mul %x, %cb : (tensor<2x5x3x8xf32>, tensor<2x5x3x8xf32>) -> tensor<2x5x3x8xf32>
  %b = graph.mul %turned, %sb : (tensor<2x5x3x8xf32>, tensor<2x5x3x8xf32>) -> tensor<2x5x3x8xf32>
  %y = graph.add %a, %b : (tensor<2x5x3x8xf32>, tensor<2x5x3x8xf32>) -> tensor<2x5x3x8xf32>
  return %y : tensor<2x5x3x8xf32>
}
