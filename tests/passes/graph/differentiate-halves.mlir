// RUN: dtcc-opt %s --graph-differentiate --graph-verify-step | FileCheck %s

// What is computed of parameters alone in halves: its gradients add up in f32, and are rounded where an op multiplies them by
// halves, as that of tanh does. What moves cells moves the f32 gradient.
graph.state @w : tensor<3x2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 3, 2>, init = #graph.init<zero>}
// CHECK-LABEL: func.func @step
func.func @loss(%x: tensor<4x2xf32> {graph.name = "x", graph.role = "data"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<3x2xf32>
  %h = graph.cast %w : (tensor<3x2xf32>) -> tensor<3x2xf16>
  %s = graph.slice %h [1, 0] [1, 1] : (tensor<3x2xf16>) -> tensor<2x2xf16>
  %t = graph.tanh %s : tensor<2x2xf16>
  %a = graph.cast %t : (tensor<2x2xf16>) -> tensor<2x2xf32>
  %e = graph.exp %a : tensor<2x2xf32>
  %n = graph.neg %t : tensor<2x2xf16>
  %b = graph.cast %n : (tensor<2x2xf16>) -> tensor<2x2xf32>
  %f = graph.exp %b : tensor<2x2xf32>
  %d = graph.sub %e, %f : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = graph.contract "bc,dc->bd" %x, %d : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  // CHECK: %[[SUM:.*]] = graph.add {{.*}} phase = "W"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // CHECK: %[[HALF:.*]] = graph.cast %[[SUM]] {{.*}} : (tensor<2x2xf32>) -> tensor<2x2xf16>
  // CHECK: graph.mul %[[HALF]], %{{.*}} phase = "W"}
  %loss = graph.reduce sum %y [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  %count = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %count : tensor<f32>, tensor<f32>
}
