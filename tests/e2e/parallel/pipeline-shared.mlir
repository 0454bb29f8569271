// A parameter of two stages, whose gradient the second makes before the micro-batches, as no data is in it: its share there is
// reduced too where ZeRO scatters gradients. Both stages make the gradient of another from data: each has its own bucket.
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: dtcc %s --precision=f32 --mesh=dp=2,pp=2 --zero=2 --microbatches=2 --schedule=1f1b --verify -o two 2>&1 | FileCheck %s
// RUN: dtcc %s --precision=f32 --mesh=dp=2,pp=2 --zero=3 --microbatches=2 --schedule=1f1b --verify -o two 2>&1 | FileCheck %s
// CHECK: verified: 2 steps on 4 ranks equal the whole step

graph.state @shared : tensor<8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "shared", saved_shape = array<i64: 8, 8>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @own : tensor<8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "own", saved_shape = array<i64: 8, 8>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @both : tensor<8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "both", saved_shape = array<i64: 8, 8>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<4x8xf32> {graph.name = "x", graph.role = "data"}) -> (tensor<f32>, tensor<f32>) {
  %w1 = graph.read @shared : tensor<8x8xf32>
  %w3 = graph.read @both : tensor<8x8xf32>
  %w13 = graph.add %w1, %w3 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %p1 = graph.contract "bc,dc->bd" %x, %w13 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %h1 = graph.tanh %p1 : tensor<4x8xf32>
  %w2 = graph.read @own : tensor<8x8xf32>
  %p2 = graph.contract "bc,dc->bd" %h1, %w2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %h2 = graph.tanh %p2 : tensor<4x8xf32>
  %p3 = graph.contract "bc,dc->bd" %h2, %w3 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %h3 = graph.tanh %p3 : tensor<4x8xf32>
  %of_data = graph.reduce sum %h3 [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  %again = graph.tanh %w1 : tensor<8x8xf32>
  %of_weights = graph.reduce sum %again [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
  %sum = graph.add %of_data, %of_weights : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %count = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %sum, %count : tensor<f32>, tensor<f32>
}
