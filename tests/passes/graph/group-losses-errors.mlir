// RUN: dtcc-opt %s -split-input-file --graph-group-losses --verify-diagnostics

// The largest of the batch is no sum.
module attributes {graph.loss_groups = 2 : i64} {
graph.state @w : tensor<2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 2>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<4x2xf32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<2xf32>
  %wide = graph.broadcast %w [1] : (tensor<2xf32>) -> tensor<4x2xf32>
  %p = graph.mul %x, %wide : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  // expected-error @below {{samples of the batch meet here, and micro-batches cannot do the same with their own: leave --batch-losses=microbatch out, and take --microbatches=1 if that is refused too}}
  %most = graph.reduce max %p [0] : (tensor<4x2xf32>) -> tensor<2xf32>
  %loss = graph.reduce sum %most [0] : (tensor<2xf32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
}

// -----

// Samples are compared with each other.
module attributes {graph.loss_groups = 2 : i64} {
graph.state @w : tensor<2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 2>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<4x2xf32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<2xf32>
  %wide = graph.broadcast %w [1] : (tensor<2xf32>) -> tensor<4x2xf32>
  %p = graph.mul %x, %wide : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  // expected-error @below {{samples of the batch meet here}}
  %pairs = graph.contract "bn,cn->bc" %p, %p : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %exp = graph.exp %pairs : tensor<4x4xf32>
  %loss = graph.reduce sum %exp [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
}

// -----

// A weight that depends on where a sample stands in the batch.
module attributes {graph.loss_groups = 2 : i64} {
graph.state @w : tensor<2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 2>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<4x2xf32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<2xf32>
  %wide = graph.broadcast %w [1] : (tensor<2xf32>) -> tensor<4x2xf32>
  %place = graph.constant dense<[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]> : tensor<4x2xf32> : tensor<4x2xf32>
  %q = graph.mul %x, %place : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  // expected-error @below {{samples of the batch meet here}}
  %p = graph.mul %q, %wide : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %sum = graph.reduce sum %p [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  %loss = graph.mul %sum, %sum : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
}

// -----

module attributes {graph.loss_groups = 3 : i64} {
// expected-error @below {{batch must divide by the number of micro-batches, 3, got: 4}}
func.func @loss(%x: tensor<4x2xf32>) -> (tensor<f32>, tensor<f32>) {
  %loss = graph.reduce sum %x [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
}

// -----

module attributes {graph.loss_groups = 0 : i64} {
// expected-error @below {{number of micro-batches must be at least 1, got: 0}}
func.func @loss(%x: tensor<4x2xf32>) -> (tensor<f32>, tensor<f32>) {
  %loss = graph.reduce sum %x [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
}

// -----

// A batch norm of the whole batch, which is none of two groups.
module attributes {graph.loss_groups = 2 : i64} {
graph.state @w : tensor<2xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 2>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<4x2xf32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<2xf32>
  // expected-error @below {{samples of the batch meet here}}
  %p, %m, %v = graph.batch_norm %x, %w, %w [0] {eps = 1.0e-5} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
  %exp = graph.exp %p : tensor<4x2xf32>
  %loss = graph.reduce sum %exp [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
}
