// RUN: dtcc-opt --exec-expand-composites %s | FileCheck %s

// CHECK-LABEL: func.func @rms_norm
// CHECK: %[[SQUARE:.*]] = graph.mul %arg0, %arg0
// CHECK: %[[SUM:.*]] = graph.reduce sum %[[SQUARE]] [2]
// CHECK: %[[RSTD:.*]] = graph.rsqrt
// CHECK: graph.broadcast %[[RSTD]] [0, 1]
// CHECK: graph.broadcast %arg1 [2]
// CHECK-NOT: graph.rms_norm
func.func @rms_norm(%x: tensor<2x3x8xf32>, %s: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %y, %rstd = graph.rms_norm %x, %s [2] {eps = 1.0e-5 : f64}
      : (tensor<2x3x8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3xf32>)
  return %y : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @rotary
// CHECK: %[[X:.*]]:2 = graph.unstack %arg0 {dim = 2 : i64}
// CHECK: graph.broadcast %arg1 [1, 2]
// CHECK: graph.stack %{{.*}}, %{{.*}} {dim = 2 : i64}
func.func @rotary(%x: tensor<2x3x2x4xf32>, %cos: tensor<3x4xf32>, %sin: tensor<3x4xf32>) -> tensor<2x3x2x4xf32> {
  %y = graph.rotary %x, %cos, %sin [1, 3] {pair = 2 : i64}
      : (tensor<2x3x2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x2x4xf32>
  return %y : tensor<2x3x2x4xf32>
}
