// Numbers of the whole batch that no micro-batch computes.
// RUN: dtcc-opt %s -split-input-file --graph-differentiate --spmd-apply-plan="parallelism=microbatches=2,zero=0" --verify-diagnostics

// A trained state reaches the divisor, though no gradient does.
graph.state @w : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<8x4xf32> {graph.name = "x", graph.role = "data"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4xf32>
  %b = graph.broadcast %w [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %y = graph.mul %x, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %sum = graph.reduce sum %y [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  %fixed = graph.stop_gradient %y : tensor<8x4xf32>
  %most = graph.reduce max %fixed [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  // expected-error@+1 {{samples of other micro-batches are out of reach: this needs a number of the whole batch that depends on parameters}}
  %loss = graph.div %sum, %most : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}

// -----

// A product with a frozen state would be that of the whole batch in each micro-batch.
graph.state @w : tensor<4xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 4>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @frozen : tensor<4xf32> {role = #graph<role parameter>, trainable = false, decay = false, saved_name = "frozen", saved_shape = array<i64: 4>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<8x4xf32> {graph.name = "x", graph.role = "data"}) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4xf32>
  %y = graph.contract "bk,k->b" %x, %w : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %sum = graph.reduce sum %y [0] : (tensor<8xf32>) -> tensor<f32>
  %frozen = graph.read @frozen : tensor<4xf32>
  %z = graph.contract "bk,k->b" %x, %frozen : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %most = graph.reduce max %z [0] : (tensor<8xf32>) -> tensor<f32>
  // expected-error@+1 {{samples of other micro-batches are out of reach}}
  %loss = graph.div %sum, %most : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
