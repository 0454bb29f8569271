// RUN: dtcc-opt %s -graph-narrow-doubles -verify-diagnostics | FileCheck %s
// A loss in double precision is computed in f32, and a remark tells.

graph.state @w : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4>, init = #graph.init<normal, 0.0, 0.02>}

// CHECK-LABEL: func.func @loss(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<f32>, tensor<f32>)
func.func @loss(%x: tensor<4xf32>, %wanted: tensor<4xf64>) -> (tensor<f64>, tensor<f32>) {
  // CHECK: %[[W:.*]] = graph.read @w : tensor<4xf32>
  %w = graph.read @w : tensor<4xf32>
  // CHECK: %[[Y:.*]] = graph.mul %arg0, %[[W]]
  %y = graph.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[S:.*]] = graph.constant dense<1.100000e+00> : tensor<4xf32>
  %s = graph.constant dense<1.1> : tensor<4xf64> : tensor<4xf64>
  // expected-remark@+1 {{computes in double precision, which the step does in single (f32)}}
  %d = graph.cast %y : (tensor<4xf32>) -> tensor<4xf64>
  // CHECK: %[[P:.*]] = graph.mul %[[Y]], %[[S]] : {{.*}} -> tensor<4xf32>
  %p = graph.mul %d, %s : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  // CHECK: %[[E:.*]] = graph.sub %[[P]], %arg1 :
  %e = graph.sub %p, %wanted : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  // CHECK: graph.reduce sum %[[E]] [0] : (tensor<4xf32>) -> tensor<f32>
  %sum = graph.reduce sum %e [0] : (tensor<4xf64>) -> tensor<f64>
  %count = graph.constant dense<4.0> : tensor<f32> : tensor<f32>
  return %sum, %count : tensor<f64>, tensor<f32>
}
