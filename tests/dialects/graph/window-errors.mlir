// RUN: dtcc-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<2x9x9xf32>, %k: tensor<4x3x3x3xf32>) {
  // expected-error @below {{image must have rank 4, or one more with groups, got: 3}}
  %y = graph.convolution %x, %k {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>} : (tensor<2x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x5x5xf32>
  return
}

// -----

func.func @channels(%x: tensor<2x3x9x9xf32>, %k: tensor<4x2x3x3xf32>) {
  // expected-error @below {{operand #1 dimension 1 must have size 3, got: 2}}
  %y = graph.convolution %x, %k {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>} : (tensor<2x3x9x9xf32>, tensor<4x2x3x3xf32>) -> tensor<2x4x5x5xf32>
  return
}

// -----

func.func @strides(%x: tensor<2x3x9x9xf32>, %k: tensor<4x3x3x3xf32>) {
  // expected-error @below {{strides and dilations must be at least 1, got: 0}}
  %y = graph.convolution %x, %k {strides = array<i64: 2, 0>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>} : (tensor<2x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x5x5xf32>
  return
}

// -----

func.func @low(%x: tensor<2x3x9x9xf32>, %k: tensor<4x3x3x3xf32>) {
  // expected-error @below {{low must have 2 entries, got: 1}}
  %y = graph.convolution %x, %k {strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, low = array<i64: 1>} : (tensor<2x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x5x5xf32>
  return
}

// -----

func.func @empty(%x: tensor<2x4xf32>) {
  // expected-error @below {{every window must hold a cell of the image, none in window 3 of dimension 1}}
  %y = graph.max_pool %x {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @examples(%x: tensor<4x3x5xf32>, %s: tensor<4x3xf32>) {
  // expected-error @below {{dims must begin with the samples, dimension 0, got: 2}}
  %y, %m, %v = graph.batch_norm %x, %s, %s [2] {eps = 1.0e-5} : (tensor<4x3x5xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<4x3x5xf32>, tensor<4x4x3xf32>, tensor<4x4x3xf32>)
  return
}

// -----

func.func @sums(%x: tensor<4x3xf32>) {
  // expected-error @below {{groups must divide the samples, 4, got: 3}}
  %y = graph.group_sum %x {groups = 3 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @sum_type(%x: tensor<4x3xf32>) {
  // expected-error @below {{y must have the type of x, 'tensor<4x3xf32>', got: 'tensor<4x1xf32>'}}
  %y = graph.group_sum %x : (tensor<4x3xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @groups(%x: tensor<4x3x5xf32>, %s: tensor<3xf32>) {
  // expected-error @below {{groups must divide the samples, 4, got: 3}}
  %y, %m, %v = graph.batch_norm %x, %s, %s [0, 2] {eps = 1.0e-5, groups = 3 : i64} : (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x5xf32>, tensor<4x3xf32>, tensor<4x3xf32>)
  return
}

// -----

func.func @cells(%s: tensor<3xf32>, %m: tensor<4x3xf32>) {
  // expected-error @below {{cells must be at least 2, got: 1}}
  %r:2 = graph.running_statistics %s, %s, %m, %m {momentum = 0.1, cells = 1 : i64, unbiased} : (tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}
