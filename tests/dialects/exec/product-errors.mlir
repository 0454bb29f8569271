// RUN: dtcc-opt %s -split-input-file -verify-diagnostics

func.func @sizes(%x: tensor<4x2xf32>, %w: tensor<3x8xf32>) {
  // expected-error@+1 {{letter 'b' must have one size, got: 2 and 3}}
  %y = exec.product "ab,bc->ac" %x, %w gelu : tensor<4x2xf32>, tensor<3x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @batch(%x: tensor<4x2xf32>, %w: tensor<4x2x8xf32>) {
  // expected-error@+1 {{must have no batch, got the letter 'a' in all of "ab,abc->ac"}}
  %y = exec.product "ab,abc->ac" %x, %w gelu : tensor<4x2xf32>, tensor<4x2x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @both(%x: tensor<4x2xf32>, %w: tensor<2x8xf32>, %at: tensor<4x8xf32>) {
  // expected-error@+1 {{must have a bias, gelu or both, or a slope, or sums}}
  %y = exec.product "ab,bc->ac" %x, %w slope %at : tensor<4x8xf32> gelu : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @keeps(%x: tensor<4x2xf32>, %w: tensor<2x8xf32>) {
  // expected-error@+1 {{must take gelu to keep what it was taken of}}
  %y, %kept = exec.product "ab,bc->ac" %x, %w : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<4x8xf32> keeps tensor<4x8xf32>
  return
}

// -----

func.func @columns(%x: tensor<4x2xf32>, %w: tensor<2x8xf32>) {
  // expected-error@+1 {{letters of rhs alone must stand last in the result, got: "ab,bc->ca"}}
  %y = exec.product "ab,bc->ca" %x, %w gelu : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @bias(%x: tensor<4x2xbf16>, %w: tensor<2x8xbf16>, %b: tensor<8xf32>) {
  // expected-error@+1 {{bias must be 'tensor<8xbf16>', got: 'tensor<8xf32>'}}
  %y = exec.product "ab,bc->ac" %x, %w bias %b : tensor<8xf32> : tensor<4x2xbf16>, tensor<2x8xbf16> -> tensor<4x8xbf16>
  return
}

// -----

func.func @slope(%x: tensor<4x2xf32>, %w: tensor<2x8xf32>, %at: tensor<8x4xf32>) {
  // expected-error@+1 {{must take and keep activations as 'tensor<4x8xf32>', got: 'tensor<8x4xf32>'}}
  %y = exec.product "ab,bc->ac" %x, %w slope %at : tensor<8x4xf32> : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @sums(%x: tensor<4x2xf32>, %w: tensor<2x8xf32>) {
  // expected-error@+1 {{sums must be 'tensor<8xf32>', got: 'tensor<4xf32>'}}
  %y, %sums = exec.product "ab,bc->ac" %x, %w : tensor<4x2xf32>, tensor<2x8xf32> -> tensor<4x8xf32> sums tensor<4xf32>
  return
}
