// A parameter whose gradient is a constant: the constant belongs to the first stage, and the gradient to the stage that reads the
// parameter. Another has such a gradient beside one of data.
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: dtcc %s --precision=f32 --mesh=pp=2 --microbatches=2 --schedule=1f1b --verify -o two 2>&1 | FileCheck %s
// RUN: dtcc %s --precision=f32 --mesh=pp=2 --microbatches=2 --schedule=zero-bubble --verify -o two 2>&1 | FileCheck %s
// CHECK: verified: 2 steps on 2 ranks equal the whole step

graph.state @first : tensor<8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "first", saved_shape = array<i64: 8, 8>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @second : tensor<8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "second", saved_shape = array<i64: 8, 8>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @linear : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "linear", saved_shape = array<i64: 4>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<4x8xf32> {graph.name = "x", graph.role = "data"}) -> (tensor<f32>, tensor<f32>) {
  %w1 = graph.read @first : tensor<8x8xf32>
  %p1 = graph.contract "bc,dc->bd" %x, %w1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %h1 = graph.tanh %p1 : tensor<4x8xf32>
  %w2 = graph.read @second : tensor<8x8xf32>
  %p2 = graph.contract "bc,dc->bd" %h1, %w2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %h2 = graph.tanh %p2 : tensor<4x8xf32>
  %of_data = graph.reduce sum %h2 [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  %factors = graph.constant dense<[1.0, -2.0, 3.0, 0.5]> : tensor<4xf32> : tensor<4xf32>
  %l = graph.read @linear : tensor<4xf32>
  %weighted = graph.mul %l, %factors : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %of_weights = graph.reduce sum %weighted [0] : (tensor<4xf32>) -> tensor<f32>
  %of_second = graph.reduce sum %w2 [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
  %some = graph.add %of_data, %of_weights : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %sum = graph.add %some, %of_second : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %count = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %sum, %count : tensor<f32>, tensor<f32>
}
