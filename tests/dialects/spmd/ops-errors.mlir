// RUN: dtcc-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{mesh axis size must be at least 1, got: 0}}
spmd.mesh @mesh [#spmd.axis<"dp", 0, rank>]

// -----

// expected-error@+1 {{axis names must differ, got twice: "dp"}}
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>, #spmd.axis<"dp", 2, rank>]

// -----

// expected-error@+1 {{time axis must stand first, got position: 1}}
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>, #spmd.axis<"mb", 2, time>]

// -----

// expected-error@+1 {{axis must stand once in a layout, got twice: dp}}
func.func private @f(!spmd.tensor<8x4xf32, @mesh, [{dp},{dp}]>)

// -----

// expected-error@+1 {{axis must stand once in a layout, got twice: dp}}
func.func private @f(!spmd.tensor<8x4xf32, @mesh, [{dp},{}], partial(sum {dp})>)

// -----

// expected-error@+1 {{layout must list the axes of 2 dimensions, got: 1}}
func.func private @f(!spmd.tensor<8x4xf32, @mesh, [{dp}]>)

// -----

// expected-error@+1 {{padded size must be at least 8, got: 6}}
func.func private @f(!spmd.tensor<8x4xf32, @mesh, [{dp},{}], pad [6,4]>)

// -----

// expected-error@+2 {{reduction must be one of sum, max, min, got: mean}}
// expected-error@+1 {{failed to parse Spmd_ReductionAttr parameter 'value'}}
func.func private @f() attributes {kind = #spmd<reduction mean>}

// -----

// expected-error@+1 {{partial kind must be sum, max or min, got: mean}}
func.func private @f(!spmd.tensor<8x4xf32, @mesh, [{},{}], partial(mean {dp})>)

// -----

func.func @f(%x: !spmd.tensor<8xf32, @mesh, [{dp}]>) {
  // expected-error@+1 {{must keep shape and element type}}
  %y = spmd.reshard %x : !spmd.tensor<8xf32, @mesh, [{dp}]> -> !spmd.tensor<9xf32, @mesh, [{dp}]>
  return
}

// -----

func.func @f(%x: !spmd.tensor<7xf32, @mesh, [{dp}], pad [8]>) {
  // expected-error@+1 {{must keep the padded sizes}}
  %y = spmd.reshard %x : !spmd.tensor<7xf32, @mesh, [{dp}], pad [8]> -> !spmd.tensor<7xf32, @mesh, [{}]>
  return
}

// -----

// expected-error@+1 {{needs the parameter bucket it is `of`}}
spmd.bucket gradient @g : 16 x f32

// -----

// Codes of 8 bits have four bytes more for each block of 256.
spmd.bucket parameter @p : 512 x f32
// expected-error@+1 {{length must be that of its parameters, 520, got: 512}}
spmd.bucket slot @s : 512 x i8 of @p slot 0

// -----

spmd.bucket parameter @p : 32 x f32
// expected-error@+1 {{length must be that of its parameters, 32, got: 16}}
spmd.bucket gradient @g : 16 x f32 of @p

// -----

// expected-error@+1 {{needs an spmd.mesh, got: @mesh}}
spmd.program @step mesh @mesh {
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch repeat 2 {
    // expected-error@+1 {{must lie within the 32 elements of @p, got: [24, 40)}}
    %w = spmd.view @p[24] : tensor<16xf32>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch repeat 2 {
    %w = spmd.view @p[0] : tensor<16xf32>
    // expected-error@+1 {{cannot communicate over the time axis: mb}}
    %y = spmd.all_reduce sum %w over ["mb"] : tensor<16xf32>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %w = spmd.view @p[0] : tensor<16xf32>
    // expected-error@+1 {{axis must be one of the mesh, got: tp}}
    %y = spmd.all_reduce sum %w over ["tp"] : tensor<16xf32>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %w = spmd.view @p[0] : tensor<3x5xf32>
    // expected-error@+1 {{dimension 1 must divide by the group of 2, got: 5}}
    %y = spmd.reduce_scatter sum %w dim 1 over ["dp"] : tensor<3x5xf32> -> tensor<3x2xf32>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %w = spmd.view @p[0] : tensor<4x4xf32>
    // expected-error@+1 {{result must be 'tensor<8x4xf32>', got: 'tensor<4x8xf32>'}}
    %y = spmd.all_gather %w dim 0 over ["dp"] : tensor<4x4xf32> -> tensor<4x8xf32>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.program @step mesh @mesh {
  // expected-error@+1 {{yields nothing when repeated}}
  %v = spmd.phase @microbatch repeat 2 {
    %w = spmd.view @p[0] : tensor<4x4xf32>
    spmd.yield %w : tensor<4x4xf32>
  } : tensor<4x4xf32>
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.bucket slot @m : 32 x f32 of @p slot 0
spmd.program @step mesh @mesh {
  spmd.phase @update {
    %g = spmd.view @p[0] : tensor<16xf32>
    %s = spmd.view @p[0] : tensor<f32>
    // expected-error@+1 {{slots must hold the share of 16 elements, got 32 in @m}}
    spmd.update_bucket @p, %g, %s slots [@m] flat ["dp"] optimizer("any") : tensor<16xf32>, tensor<f32>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.bucket factors @f : 12 x f32 of @p
spmd.program @step mesh @mesh {
  spmd.phase @update {
    %g = spmd.view @p[0] : tensor<16xf32>
    %s = spmd.view @p[0] : tensor<f32>
    // expected-error@+1 {{must read a sum of squares for each of the 12 factors in @f, got: 0}}
    %u = spmd.make_direction @p, %g, %s slots [@f] flat ["dp"] optimizer("any") : tensor<16xf32>, tensor<f32> -> tensor<16xf32>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>, #spmd.axis<"tp", 2, rank>]
spmd.bucket parameter @p : 32 x f32 sharded ["tp"]
spmd.program @step mesh @mesh {
  spmd.phase @update {
    %u = spmd.view @p[0] : tensor<32xf32>
    // expected-error@+1 {{must read the 64 elements of all shards, got: 'tensor<32xf32>'}}
    %o = spmd.orthogonalize @p, %u over ["tp"] optimizer("any") : (tensor<32xf32>) -> tensor<32xf32>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.bucket slot @m : 32 x f32 of @p slot 0
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{slots must hold the share of 16 elements, got 32 in @m}}
    spmd.average_bucket @p into @m decay 0.9 flat ["dp"]
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.bucket parameter @q : 32 x f32
spmd.bucket compute @c : 32 x bf16 of @q
spmd.program @step mesh @mesh {
  spmd.phase @update {
    %g = spmd.view @p[0] : tensor<32xf32>
    %s = spmd.view @p[0] : tensor<f32>
    // expected-error@+1 {{copy must be of @p, got: @c}}
    spmd.update_bucket @p, %g, %s slots [] copy @c optimizer("any") : tensor<32xf32>, tensor<f32>
  }
}

// -----

// Readers do not write.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.bucket compute @c : 32 x bf16 of @p
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %w = spmd.view @c[0] : tensor<4x8xbf16>
    // expected-error@+1 {{cannot be of a bucket for computes: @c}}
    spmd.store %w into @c[0] : tensor<4x8xbf16>
  }
}

// -----

// expected-error@+1 {{needs the parameter bucket it is `of`}}
spmd.bucket compute @c : 32 x bf16

// -----

// Parameters are updated, never overwritten.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @p : 32 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %w = spmd.view @p[0] : tensor<4x4xf32>
    // expected-error@+1 {{cannot be of a bucket for parameters: @p}}
    spmd.store %w into @p[0] : tensor<4x4xf32>
  }
}
