// RUN: dtcc-opt %s --split-input-file --verify-diagnostics --graph-verify-step

// expected-error @below {{needs a function @step of one block}}
module {}

// -----

// expected-error @below {{must return sum, count and norm, got: 1 values}}
func.func @step(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{must hold one graph.update}}
func.func @step(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  return %x, %x, %x : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

func.func @step(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  // expected-error @below {{must have an origin and a phase}}
  %n = graph.update %x, () to [] {optimizer = #graph.sgd<lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false>} : (tensor<f32>) -> tensor<f32>
  return %x, %x, %n : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

func.func @step(%x: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %y = graph.neg %x {origin = 0 : i64, phase = "F"} : tensor<2x3xf32>
  // expected-error @below {{origin_factors must have 2 entries, got: 1}}
  %dx = graph.neg %y {origin = 0 : i64, phase = "I", origin_factors = array<i64: 0>} : tensor<2x3xf32>
  %n = graph.update %s, () to [] {origin = 2 : i64, phase = "U", optimizer = #graph.sgd<lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false>} : (tensor<f32>) -> tensor<f32>
  return %s, %s, %n : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

func.func @step(%x: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %y = graph.neg %x {origin = 0 : i64, phase = "F"} : tensor<2x3xf32>
  // expected-error @below {{factor must have the size of its origin, 3, got: 2}}
  %dx = graph.neg %y {origin = 0 : i64, phase = "I", origin_factors = array<i64: 1, 0>} : tensor<2x3xf32>
  %n = graph.update %s, () to [] {origin = 2 : i64, phase = "U", optimizer = #graph.sgd<lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false>} : (tensor<f32>) -> tensor<f32>
  return %s, %s, %n : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

func.func @step(%x: tensor<2xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  // expected-error @below {{origin must be a forward op before it, got: 5}}
  %dx = graph.neg %x {origin = 5 : i64, phase = "I", origin_factors = array<i64: 0>} : tensor<2xf32>
  %n = graph.update %s, () to [] {origin = 2 : i64, phase = "U", optimizer = #graph.sgd<lr = 0.1, momentum = 0.0, dampening = 0.0, weight_decay = 0.0, nesterov = false>} : (tensor<f32>) -> tensor<f32>
  return %s, %s, %n : tensor<f32>, tensor<f32>, tensor<f32>
}
