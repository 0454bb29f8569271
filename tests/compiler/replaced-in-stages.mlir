// A value whose gradient is that of another one: the other value is read by nothing, and keeps its place in the plan
// under pipelines too.
// RUN: dtcc %s --mesh=tp=2,pp=2 --microbatches=2 --verify -o %t 2>&1 | FileCheck %s
// CHECK: verified: 2 steps on 4 ranks

graph.state @w : tensor<8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 8, 8>, init = #graph.init<uniform, -0.5, 0.5>}
graph.state @v : tensor<8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "v", saved_shape = array<i64: 8, 8>, init = #graph.init<uniform, -0.5, 0.5>}

func.func @loss(%x: tensor<4x8xf32> {graph.name = "x", graph.role = "data"}) -> (tensor<f32>, tensor<f32>) {
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %low = graph.constant dense<-1.0> : tensor<4x8xf32> : tensor<4x8xf32>
  %w = graph.read @w : tensor<8x8xf32>
  %v = graph.read @v : tensor<8x8xf32>
  %a = graph.contract "mk,kn->mn" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %step = graph.sign %a : tensor<4x8xf32>
  %below = graph.compare  ge %low, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %line = graph.select %below, %low, %a : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = graph.replace_gradient %step, %line : tensor<4x8xf32>
  %c = graph.contract "mk,kn->mn" %b, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %sum = graph.reduce sum %c [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  return %sum, %one : tensor<f32>, tensor<f32>
}
