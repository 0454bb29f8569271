// RUN: dtcc-opt %s -split-input-file -verify-diagnostics

func.func @part(%q: tensor<2x4x3x4xf32>, %o: tensor<2x4x3x4xf32>) {
  // expected-error @below {{must go on from 2 values, got: 1}}
  %0, %1 = graph.attention_part %q, %q, %q onto(%o) <> {scale = 0.5, length = 8 : i64, query_length = 8 : i64}
    : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x3x4xf32>)
  return
}

// -----

func.func @part(%q: tensor<2x4x3x4xf32>) {
  // expected-error @below {{shift must be 0 where keys are whole, and not negative, got: 1}}
  %0, %1 = graph.attention_part %q, %q, %q <> {scale = 0.5, length = 8 : i64, query_length = 8 : i64, shift = 1 : i64}
    : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x3x4xf32>)
  return
}

// -----

func.func @part(%q: tensor<2x4x3x4xf32>) {
  // expected-error @below {{mask needs 1 operands, got: 0}}
  %0, %1 = graph.attention_part %q, %q, %q <key = true> {scale = 0.5, length = 8 : i64, query_length = 8 : i64}
    : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x3x4xf32>)
  return
}

// -----

func.func @part(%q: tensor<2x4x3x4xf32>, %l: tensor<2x3x4xf32>) {
  // expected-error @below {{chunks must be even, got: 3}}
  %0:3 = graph.attention_part_grad %q, %q, %q out %q, %l, %q <> {scale = 0.5, length = 8 : i64, query_length = 8 : i64, chunks = 3 : i64}
    : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>, tensor<2x3x4xf32>, tensor<2x4x3x4xf32>)
      -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  return
}

// -----

func.func @order(%x: tensor<8x32xi64>) {
  // expected-error @below {{chunks must be even, got: 5}}
  %y = graph.reorder %x dim 1 chunks 5 : (tensor<8x32xi64>) -> tensor<8x32xi64>
  return
}

// -----

func.func @order(%x: tensor<8x5xi64>) {
  // expected-error @below {{5 positions are too few for 4 chunks: padding would fill more than one}}
  %y = graph.reorder %x dim 1 chunks 4 : (tensor<8x5xi64>) -> tensor<8x5xi64>
  return
}

// -----

func.func @order(%x: tensor<8x32xi64>) {
  // expected-error @below {{dim must be in [0, 2), got: 2}}
  %y = graph.reorder %x dim 2 chunks 4 : (tensor<8x32xi64>) -> tensor<8x32xi64>
  return
}
