// RUN: dtcc-opt --exec-narrow-losses %s | FileCheck %s

// Two products read the gradient of the logits in bf16: it is stored so.
// CHECK-LABEL: func.func @halves
// CHECK: %[[GRADIENT:.*]] = graph.cross_entropy_grad %arg0, %arg1, %arg2 : (tensor<8x32xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x32xbf16>
// CHECK-NOT: graph.cast
// CHECK: graph.contract "rv,vc->rc" %[[GRADIENT]], %arg3
// CHECK: graph.contract "rv,rc->vc" %[[GRADIENT]], %arg4
func.func @halves(%logits: tensor<8x32xf32>, %labels: tensor<8xi64>, %lse: tensor<8xf32>, %w: tensor<32x16xbf16>, %x: tensor<8x16xbf16>) -> (tensor<8x16xbf16>, tensor<32x16xf32>) {
  %wide = graph.cross_entropy_grad %logits, %labels, %lse : (tensor<8x32xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x32xf32>
  %gradient = graph.cast %wide : (tensor<8x32xf32>) -> tensor<8x32xbf16>
  %dx = graph.contract "rv,vc->rc" %gradient, %w : (tensor<8x32xbf16>, tensor<32x16xbf16>) -> tensor<8x16xbf16>
  %dw = graph.contract "rv,rc->vc" %gradient, %x : (tensor<8x32xbf16>, tensor<8x16xbf16>) -> tensor<32x16xf32>
  return %dx, %dw : tensor<8x16xbf16>, tensor<32x16xf32>
}

// The gradient of a bias is a sum in f32 of what is not rounded yet.
// CHECK-LABEL: func.func @bias
// CHECK: graph.cross_entropy_grad {{.*}} -> tensor<8x32xf32>
// CHECK: graph.cast
func.func @bias(%logits: tensor<8x32xf32>, %labels: tensor<8xi64>, %lse: tensor<8xf32>) -> (tensor<8x32xf16>, tensor<32xf32>) {
  %wide = graph.cross_entropy_grad %logits, %labels, %lse : (tensor<8x32xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x32xf32>
  %gradient = graph.cast %wide : (tensor<8x32xf32>) -> tensor<8x32xf16>
  %sum = graph.reduce sum %wide [0] : (tensor<8x32xf32>) -> tensor<32xf32>
  return %gradient, %sum : tensor<8x32xf16>, tensor<32xf32>
}

// The logarithm of a row's sum is stored in f64 for the gradient.
// CHECK-LABEL: func.func @logarithm
// CHECK: %[[LOSS:.*]], %[[COUNT:.*]], %[[LOG:.*]] = graph.cross_entropy_loss {{.*}} -> (tensor<f32>, tensor<f32>, tensor<8xf64>)
// CHECK: graph.cross_entropy_grad %arg0, %arg1, %[[LOG]] : (tensor<8x32xf32>, tensor<8xi64>, tensor<8xf64>) -> tensor<8x32xf32>
func.func @logarithm(%logits: tensor<8x32xf32>, %labels: tensor<8xi64>, %top: tensor<8xf32>, %sum: tensor<8xf32>, %target: tensor<8xf32>) -> (tensor<f32>, tensor<8x32xf32>) {
  %loss, %count, %lse = graph.cross_entropy_loss %top, %sum, %target, %labels : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  %gradient = graph.cross_entropy_grad %logits, %labels, %lse : (tensor<8x32xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x32xf32>
  return %loss, %gradient : tensor<f32>, tensor<8x32xf32>
}

// Another reader keeps it as it is.
// CHECK-LABEL: func.func @returned
// CHECK: graph.cross_entropy_loss {{.*}} -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
func.func @returned(%labels: tensor<8xi64>, %top: tensor<8xf32>, %sum: tensor<8xf32>, %target: tensor<8xf32>) -> tensor<8xf32> {
  %loss, %count, %lse = graph.cross_entropy_loss %top, %sum, %target, %labels : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  return %lse : tensor<8xf32>
}
