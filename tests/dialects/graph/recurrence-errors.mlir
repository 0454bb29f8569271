// RUN: dtcc-opt %s --split-input-file --verify-diagnostics

func.func @cell(%p: tensor<5x2x1x3xf32>, %w: tensor<1x3x3xf32>, %s: tensor<2x3xf32>) {
  // expected-error @below {{failed to parse Graph_RecurrentCellAttr}}
  // expected-error @below {{recurrent cell must be one of tanh, relu, lstm, gru, gru_reset_after, got: sigmoid}}
  %0:2 = graph.recurrence sigmoid %p, %w, %s : (tensor<5x2x1x3xf32>, tensor<1x3x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x1x3xf32>)
  return
}

// -----

func.func @operands(%p: tensor<5x2x4x3xf32>, %w: tensor<4x3x3xf32>, %s: tensor<2x3xf32>) {
  // expected-error @below {{lstm must have 4 operands, got: 3}}
  %0:3 = graph.recurrence lstm %p, %w, %s : (tensor<5x2x4x3xf32>, tensor<4x3x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<5x2x4x3xf32>)
  return
}

// -----

func.func @results(%p: tensor<5x2x4x3xf32>, %w: tensor<4x3x3xf32>, %s: tensor<2x3xf32>) {
  // expected-error @below {{lstm must have 3 results, got: 2}}
  %0:2 = graph.recurrence lstm %p, %w, %s, %s : (tensor<5x2x4x3xf32>, tensor<4x3x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x4x3xf32>)
  return
}

// -----

func.func @gates(%p: tensor<5x2x4x3xf32>, %w: tensor<4x3x3xf32>, %s: tensor<2x3xf32>) {
  // expected-error @below {{projected must have 3 gates, got: 4}}
  %0:2 = graph.recurrence gru %p, %w, %s : (tensor<5x2x4x3xf32>, tensor<4x3x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3x3xf32>)
  return
}

// -----

func.func @saved(%p: tensor<5x2x3x4xf32>, %w: tensor<3x4x4xf32>, %s: tensor<2x4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{must save 4 values a unit, got: 3}}
  %0:2 = graph.recurrence gru_reset_after %p, %w, %s, %b : (tensor<5x2x3x4xf32>, tensor<3x4x4xf32>, tensor<2x4xf32>, tensor<4xf32>) -> (tensor<5x2x4xf32>, tensor<5x2x3x4xf32>)
  return
}

// -----

func.func @square(%p: tensor<5x2x1x3xf32>, %w: tensor<1x3x4xf32>, %s: tensor<2x3xf32>) {
  // expected-error @below {{weight must have as many columns as units, got: 4 and 3}}
  %0:2 = graph.recurrence tanh %p, %w, %s : (tensor<5x2x1x3xf32>, tensor<1x3x4xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x1x3xf32>)
  return
}

// -----

func.func @samples(%p: tensor<5x2x1x3xf32>, %w: tensor<1x3x3xf32>, %s: tensor<4x3xf32>) {
  // expected-error @below {{operand #2 dimension 0 must have size 2, got: 4}}
  %0:2 = graph.recurrence tanh %p, %w, %s : (tensor<5x2x1x3xf32>, tensor<1x3x3xf32>, tensor<4x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x1x3xf32>)
  return
}

// -----

func.func @types(%p: tensor<5x2x1x3xf32>, %w: tensor<1x3x3xbf16>, %s: tensor<2x3xf32>) {
  // expected-error @below {{element types must be equal, got: 'f32' and 'bf16'}}
  %0:2 = graph.recurrence tanh %p, %w, %s : (tensor<5x2x1x3xf32>, tensor<1x3x3xbf16>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x1x3xf32>)
  return
}

// -----

func.func @memory(%d: tensor<5x2x3xf32>, %w: tensor<4x3x3xf32>, %s: tensor<2x3xf32>, %g: tensor<5x2x4x3xf32>) {
  // expected-error @below {{memory of lstm must have 2 or 3 operands, got: 1}}
  %0:3 = graph.recurrence_grad lstm %d, %w, %d, %s, %g memory(%d) : (tensor<5x2x3xf32>, tensor<4x3x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<5x2x3xf32>) -> (tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @rank(%p: tensor<5x2x3xf32>, %w: tensor<1x3x3xf32>, %s: tensor<2x3xf32>) {
  // expected-error @below {{projected must have rank 4, got: 3}}
  %0:2 = graph.recurrence tanh %p, %w, %s : (tensor<5x2x3xf32>, tensor<1x3x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x1x3xf32>)
  return
}

// -----

func.func @product_type(%p: tensor<5x2x1x3xf32>, %w: tensor<1x3x3xf32>, %s: tensor<2x3xf32>) {
  // expected-error @below {{attribute 'product_type' failed to satisfy constraint: type attribute of 16-bit float or bfloat16 type}}
  %0:2 = graph.recurrence tanh %p, %w, %s {product_type = f32} : (tensor<5x2x1x3xf32>, tensor<1x3x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x1x3xf32>)
  return
}
