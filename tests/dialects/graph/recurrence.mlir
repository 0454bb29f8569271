// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s
// Recurrent layers in their syntax.

// CHECK-LABEL: func.func @lstm
func.func @lstm(%p: tensor<5x2x4x3xf32>, %w: tensor<4x3x3xf32>, %s: tensor<2x3xf32>, %d: tensor<5x2x3xf32>) {
  // CHECK: graph.recurrence lstm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<5x2x4x3xf32>, tensor<4x3x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<5x2x4x3xf32>)
  %h, %c, %g = graph.recurrence lstm %p, %w, %s, %s : (tensor<5x2x4x3xf32>, tensor<4x3x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<5x2x4x3xf32>)
  // CHECK: graph.recurrence_grad lstm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} memory(%{{.*}}, %{{.*}}) : (
  %1:3 = graph.recurrence_grad lstm %d, %w, %h, %s, %g memory(%c, %s) : (tensor<5x2x3xf32>, tensor<4x3x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // Something flows back to c.
  // CHECK: graph.recurrence_grad lstm %{{.*}} memory(%{{.*}}, %{{.*}}, %{{.*}}) {reverse} : (
  %2:3 = graph.recurrence_grad lstm %d, %w, %h, %s, %g memory(%c, %s, %d) {reverse} : (tensor<5x2x3xf32>, tensor<4x3x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<5x2x3xf32>) -> (tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// CHECK-LABEL: func.func @gru
func.func @gru(%p: tensor<5x2x3x4xf32>, %w: tensor<3x4x4xf32>, %s: tensor<2x4xf32>, %b: tensor<4xf32>, %d: tensor<5x2x4xf32>) {
  // CHECK: graph.recurrence gru %{{.*}}, %{{.*}}, %{{.*}} {reverse} : (
  %0:2 = graph.recurrence gru %p, %w, %s {reverse} : (tensor<5x2x3x4xf32>, tensor<3x4x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<5x2x3x4xf32>)
  // CHECK: graph.recurrence gru_reset_after %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (
  %1:2 = graph.recurrence gru_reset_after %p, %w, %s, %b : (tensor<5x2x3x4xf32>, tensor<3x4x4xf32>, tensor<2x4xf32>, tensor<4xf32>) -> (tensor<5x2x4xf32>, tensor<5x2x4x4xf32>)
  // CHECK: graph.recurrence_grad gru_reset_after {{.*}} -> (tensor<5x2x3x4xf32>, tensor<2x4xf32>, tensor<5x2x3x4xf32>)
  %2:3 = graph.recurrence_grad gru_reset_after %d, %w, %1#0, %s, %1#1 : (tensor<5x2x4xf32>, tensor<3x4x4xf32>, tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<5x2x4x4xf32>) -> (tensor<5x2x3x4xf32>, tensor<2x4xf32>, tensor<5x2x3x4xf32>)
  return
}

// CHECK-LABEL: func.func @rnn
func.func @rnn(%p: tensor<5x2x1x4xf32>, %w: tensor<1x4x4xf32>, %s: tensor<2x4xf32>) {
  // CHECK: graph.recurrence tanh
  %0:2 = graph.recurrence tanh %p, %w, %s : (tensor<5x2x1x4xf32>, tensor<1x4x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<5x2x1x4xf32>)
  // CHECK: graph.recurrence relu %{{.*}}, %{{.*}}, %{{.*}} {product_type = bf16} : (
  %1:2 = graph.recurrence relu %p, %w, %s {product_type = bf16} : (tensor<5x2x1x4xf32>, tensor<1x4x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<5x2x1x4xf32>)
  return
}
