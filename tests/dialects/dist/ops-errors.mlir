// RUN: dtcc-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{mesh axis size must be at least 1, got: 0}}
dist.mesh @mesh [#dist.axis<"dp", 0, rank>]

// -----

// expected-error@+1 {{axis names must differ, got twice: "dp"}}
dist.mesh @mesh [#dist.axis<"dp", 2, rank>, #dist.axis<"dp", 2, rank>]

// -----

// expected-error@+1 {{time axis must stand first, got position: 1}}
dist.mesh @mesh [#dist.axis<"dp", 2, rank>, #dist.axis<"mb", 2, time>]

// -----

// expected-error@+1 {{axis must stand once in a layout, got twice: dp}}
func.func private @f(!dist.tensor<8x4xf32, @mesh, [{dp},{dp}]>)

// -----

// expected-error@+1 {{axis must stand once in a layout, got twice: dp}}
func.func private @f(!dist.tensor<8x4xf32, @mesh, [{dp},{}], partial(sum {dp})>)

// -----

// expected-error@+1 {{layout must list the axes of 2 dimensions, got: 1}}
func.func private @f(!dist.tensor<8x4xf32, @mesh, [{dp}]>)

// -----

// expected-error@+1 {{padded size must be at least 8, got: 6}}
func.func private @f(!dist.tensor<8x4xf32, @mesh, [{dp},{}], pad [6,4]>)

// -----

// expected-error@+1 {{partial kind must be sum, max or min, got: mean}}
func.func private @f(!dist.tensor<8x4xf32, @mesh, [{},{}], partial(mean {dp})>)

// -----

func.func @f(%x: !dist.tensor<8xf32, @mesh, [{dp}]>) {
  // expected-error@+1 {{must keep shape and element type}}
  %y = dist.reshard %x : !dist.tensor<8xf32, @mesh, [{dp}]> -> !dist.tensor<9xf32, @mesh, [{dp}]>
  return
}

// -----

func.func @f(%x: !dist.tensor<7xf32, @mesh, [{dp}], pad [8]>) {
  // expected-error@+1 {{must keep the padded sizes}}
  %y = dist.reshard %x : !dist.tensor<7xf32, @mesh, [{dp}], pad [8]> -> !dist.tensor<7xf32, @mesh, [{}]>
  return
}

// -----

// expected-error@+1 {{needs the parameter bucket it is `of`}}
dist.bucket gradient @g : 16 x f32

// -----

dist.bucket parameter @p : 32 x f32
// expected-error@+1 {{length must be that of its parameters, 32, got: 16}}
dist.bucket gradient @g : 16 x f32 of @p

// -----

// expected-error@+1 {{needs a dist.mesh, got: @mesh}}
dist.program @step mesh @mesh {
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @p : 32 x f32
dist.program @step mesh @mesh {
  dist.phase @microbatch repeat 2 {
    // expected-error@+1 {{must lie within the 32 elements of @p, got: [24, 40)}}
    %w = dist.view @p[24] : tensor<16xf32>
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @p : 32 x f32
dist.program @step mesh @mesh {
  dist.phase @microbatch repeat 2 {
    %w = dist.view @p[0] : tensor<16xf32>
    // expected-error@+1 {{cannot communicate over the time axis: mb}}
    %y = dist.all_reduce sum %w over ["mb"] : tensor<16xf32>
  }
}

// -----

dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
dist.bucket parameter @p : 32 x f32
dist.program @step mesh @mesh {
  dist.phase @microbatch {
    %w = dist.view @p[0] : tensor<16xf32>
    // expected-error@+1 {{axis must be one of the mesh, got: tp}}
    %y = dist.all_reduce sum %w over ["tp"] : tensor<16xf32>
  }
}

// -----

dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
dist.bucket parameter @p : 32 x f32
dist.program @step mesh @mesh {
  dist.phase @microbatch {
    %w = dist.view @p[0] : tensor<3x5xf32>
    // expected-error@+1 {{dimension 1 must divide by the group of 2, got: 5}}
    %y = dist.reduce_scatter sum %w dim 1 over ["dp"] : tensor<3x5xf32> -> tensor<3x2xf32>
  }
}

// -----

dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
dist.bucket parameter @p : 32 x f32
dist.program @step mesh @mesh {
  dist.phase @microbatch {
    %w = dist.view @p[0] : tensor<4x4xf32>
    // expected-error@+1 {{result must be 'tensor<8x4xf32>', got: 'tensor<4x8xf32>'}}
    %y = dist.all_gather %w dim 0 over ["dp"] : tensor<4x4xf32> -> tensor<4x8xf32>
  }
}

// -----

dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
dist.bucket parameter @p : 32 x f32
dist.program @step mesh @mesh {
  // expected-error@+1 {{yields nothing when repeated}}
  %v = dist.phase @microbatch repeat 2 {
    %w = dist.view @p[0] : tensor<4x4xf32>
    dist.yield %w : tensor<4x4xf32>
  } : tensor<4x4xf32>
}

// -----

dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
dist.bucket parameter @p : 32 x f32
dist.bucket slot @m : 32 x f32 of @p slot 0
dist.program @step mesh @mesh {
  dist.phase @update {
    %g = dist.view @p[0] : tensor<16xf32>
    %s = dist.view @p[0] : tensor<f32>
    // expected-error@+1 {{slots must hold the share of 16 elements, got 32 in @m}}
    dist.update_bucket @p, %g, %s slots [@m] flat ["dp"] optimizer("any") : tensor<16xf32>, tensor<f32>
  }
}

// -----

dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
dist.bucket parameter @p : 32 x f32
dist.bucket parameter @q : 32 x f32
dist.bucket compute @c : 32 x bf16 of @q
dist.program @step mesh @mesh {
  dist.phase @update {
    %g = dist.view @p[0] : tensor<32xf32>
    %s = dist.view @p[0] : tensor<f32>
    // expected-error@+1 {{copy must be of @p, got: @c}}
    dist.update_bucket @p, %g, %s slots [] copy @c optimizer("any") : tensor<32xf32>, tensor<f32>
  }
}

// -----

// Readers do not write.
dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
dist.bucket parameter @p : 32 x f32
dist.bucket compute @c : 32 x bf16 of @p
dist.program @step mesh @mesh {
  dist.phase @microbatch {
    %w = dist.view @c[0] : tensor<4x8xbf16>
    // expected-error@+1 {{cannot be of a bucket for computes: @c}}
    dist.store %w into @c[0] : tensor<4x8xbf16>
  }
}

// -----

// expected-error@+1 {{needs the parameter bucket it is `of`}}
dist.bucket compute @c : 32 x bf16

// -----

// Parameters are updated, never overwritten.
dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
dist.bucket parameter @p : 32 x f32
dist.program @step mesh @mesh {
  dist.phase @microbatch {
    %w = dist.view @p[0] : tensor<4x4xf32>
    // expected-error@+1 {{cannot be of a bucket for parameters: @p}}
    dist.store %w into @p[0] : tensor<4x4xf32>
  }
}
