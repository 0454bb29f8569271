// RUN: dtcc-opt %s --split-input-file --verify-diagnostics --graph-differentiate

// expected-error @below {{needs a function @loss of one block}}
module {}

// -----

// expected-error @below {{must return the loss as a pair of float scalars (sum, count)}}
func.func @loss(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{the loss depends on no parameter that trains: name one by --trainable}}
func.func @loss(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

graph.state @w : tensor<3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 3>, init = #graph.init<zero>}
func.func @loss(%one: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<3xf32>
  // expected-error @below {{has no gradient}}
  %s = graph.cumsum %w {dim = 0 : i64} : tensor<3xf32>
  %sum = graph.reduce sum %s [0] : (tensor<3xf32>) -> tensor<f32>
  return %sum, %one : tensor<f32>, tensor<f32>
}
