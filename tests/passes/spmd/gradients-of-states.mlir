// RUN: dtcc-opt %s --graph-differentiate --spmd-apply-plan="parallelism=microbatches=2" --spmd-lower-to-program | FileCheck %s

// A term of the loss that depends on a parameter alone: its gradient is computed before the micro-batches, and counts in
// the first of them. What only moves its cells is done where it is added up.
// CHECK: %[[BEFORE:.*]]:2 = spmd.phase @prologue
// CHECK: %[[SUM:.*]] = graph.sub
// CHECK: spmd.yield %{{.*}}, %[[SUM]]
// CHECK: spmd.phase @microbatch repeat 2
// CHECK: %[[TURNED:.*]] = graph.transpose %[[BEFORE]]#1 [1, 0]
// CHECK: %[[ONCE:.*]] = spmd.zero_fill %[[TURNED]]
// CHECK: spmd.accumulate %[[ONCE]]
graph.state @w : tensor<3xf32> {init = #graph.init<zero>, decay = true, role = #graph<role parameter>, saved_name = "w", saved_shape = array<i64: 3>, trainable = true}
graph.state @p : tensor<4x3xf32> {init = #graph.init<zero>, decay = true, role = #graph<role parameter>, saved_name = "p", saved_shape = array<i64: 4, 3>, trainable = true}
func.func @loss(%x: tensor<4x3xf32>) -> (tensor<f32>, tensor<f32>) {
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %w = graph.read @w : tensor<3xf32>
  %wide = graph.broadcast %w [1] : (tensor<3xf32>) -> tensor<4x3xf32>
  %xw = graph.mul %x, %wide : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %data = graph.reduce sum %xw [0, 1] : (tensor<4x3xf32>) -> tensor<f32>
  %p = graph.read @p : tensor<4x3xf32>
  %turned = graph.transpose %p [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %bent = graph.tanh %turned : tensor<3x4xf32>
  %decay = graph.reduce sum %bent [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  %loss = graph.add %data, %decay : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
