// RUN: dtcc-opt %s -split-input-file -verify-diagnostics

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
spmd.bucket transient @work : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @microbatch repeat 2 {
    // expected-error@+1 {{into shares must run in every slot, got: slot 1}}
    spmd.reduce_bucket @work scatter ["dp"] into @shares slot 1
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @microbatch repeat 2 {
    // expected-error@+1 {{slot must be one of the 2 of its phase, got: 2}}
    spmd.reduce_bucket @grads sum ["dp"] slot 2
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
spmd.bucket transient @work : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{needs an axis to sum over}}
    spmd.reduce_bucket @grads
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{must go into shares to be added again, got: in place}}
    spmd.reduce_bucket @grads scatter ["dp"] again
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
spmd.bucket transient @work : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{axis must be a rank axis of the mesh, got: mb}}
    spmd.reduce_bucket @grads sum ["mb"]
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
spmd.bucket transient @work : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{axis must stand once, got twice: dp}}
    spmd.reduce_bucket @grads scatter ["dp"] sum ["dp"]
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
spmd.bucket transient @work : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{cannot be of a bucket for transients: @work}}
    spmd.reduce_bucket @work scatter ["dp"]
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
spmd.bucket transient @work : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{cannot be of a bucket for gradients: @grads}}
    spmd.reduce_bucket @grads scatter ["dp"] into @shares
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
spmd.bucket transient @work : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{shares of 64 elements cannot go into @grads, which stores 128}}
    spmd.reduce_bucket @work scatter ["dp"] into @grads
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
spmd.bucket transient @work : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{needs an spmd.bucket, got: @none}}
    spmd.reduce_bucket @none sum ["dp"]
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
spmd.bucket transient @work : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{cannot be of a bucket for gradients: @grads}}
    %u = spmd.gather_unit @grads over ["dp"] : tensor<128xf32>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
spmd.bucket transient @work : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{result must be 'tensor<128xf32>' or of a narrower float type, got: 'tensor<64xf32>'}}
    %u = spmd.gather_unit @params over ["dp"] : tensor<64xf32>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{result must be 'tensor<128xf32>' or of a narrower float type, got: 'tensor<128xf64>'}}
    %u = spmd.gather_unit @params over ["dp"] : tensor<128xf64>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads : 128 x f32 of @params
spmd.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
spmd.bucket transient @work : 128 x f32 of @params
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@+1 {{axis must be a rank axis of the mesh, got: tp}}
    %u = spmd.gather_unit @params over ["tp"] : tensor<128xf32>
  }
}

// -----

func.func @outside(%u: tensor<128xf32>) {
  // expected-error@+1 {{must lie within the 128 elements of the unit, got: [100, 132)}}
  %w = spmd.unit_view %u[100] : tensor<128xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @type(%u: tensor<128xf32>) {
  // expected-error@+1 {{element type must be 'f32', got: 'f64'}}
  %w = spmd.unit_view %u[0] : tensor<128xf32> -> tensor<4x8xf64>
  return
}

// -----

// expected-error@+1 {{needs the parameter bucket it is `of`}}
spmd.bucket transient @work : 128 x f32

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params.0 : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads.0 : 128 x f32 of @params.0 flat ["tp"]
spmd.program @step mesh @mesh {
  spmd.phase @update {
    // expected-error@-3 {{axis must be a rank axis of the mesh, got: tp}}
    spmd.reduce_bucket @grads.0 sum ["dp"]
  }
}
