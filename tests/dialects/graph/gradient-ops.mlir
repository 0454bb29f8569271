// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s
// Ops that a model's own gradients are said by.

// CHECK-LABEL: func.func @both
func.func @both(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: graph.stop_gradient %{{.*}} : tensor<2x3xf32>
  %s = graph.stop_gradient %x : tensor<2x3xf32>
  // CHECK: graph.replace_gradient %{{.*}}, %{{.*}} : tensor<2x3xf32>
  %r = graph.replace_gradient %s, %y : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
