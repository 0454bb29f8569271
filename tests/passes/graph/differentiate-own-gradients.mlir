// RUN: dtcc-opt %s --graph-differentiate --graph-verify-step | FileCheck %s
// What a model says of its own gradients is followed, and leaves no op behind.

graph.state @w : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4>, init = #graph.init<zero>}
graph.state @v : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "v", saved_shape = array<i64: 4>, init = #graph.init<zero>}
graph.state @stopped : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "stopped", saved_shape = array<i64: 4>, init = #graph.init<zero>}

// CHECK-LABEL: func.func @step
// CHECK-NOT: graph.stop_gradient
// CHECK-NOT: graph.replace_gradient
func.func @loss(%x: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  // CHECK-DAG: %[[W:.*]] = graph.read @w
  // CHECK-DAG: %[[V:.*]] = graph.read @v
  // CHECK-DAG: %[[STOPPED:.*]] = graph.read @stopped
  %w = graph.read @w : tensor<4xf32>
  %v = graph.read @v : tensor<4xf32>
  %stopped = graph.read @stopped : tensor<4xf32>
  // The sum of w's two gradients belongs to no op that vanishes.
  %constant = graph.stop_gradient %stopped : tensor<4xf32>
  // CHECK: %[[A:.*]] = graph.mul %[[W]], %[[STOPPED]]
  %a = graph.mul %w, %constant : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[FLOOR:.*]] = graph.floor %[[A]]
  %f = graph.floor %a : tensor<4xf32>
  %r = graph.replace_gradient %f, %a : tensor<4xf32>
  %aa = graph.replace_gradient %a, %v : tensor<4xf32>
  %b = graph.mul %r, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = graph.mul %a, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = graph.add %b, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = graph.add %d, %aa : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %sum = graph.reduce sum %e [0] : (tensor<4xf32>) -> tensor<f32>
  return %sum, %one : tensor<f32>, tensor<f32>
}
// CHECK: graph.update {{.*}} to [@w, @v]
