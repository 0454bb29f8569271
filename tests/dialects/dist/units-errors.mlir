// RUN: dtcc-opt %s -split-input-file -verify-diagnostics

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
dist.bucket transient @work : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @microbatch repeat 2 {
    // expected-error@+1 {{into shares must run in every slot, got: slot 1}}
    dist.reduce_bucket @work scatter ["dp"] into @shares slot 1
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32
dist.bucket gradient @grads : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @microbatch repeat 2 {
    // expected-error@+1 {{slot must be one of the 2 of its phase, got: 2}}
    dist.reduce_bucket @grads sum ["dp"] slot 2
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @grads : 128 x f32 of @params
dist.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
dist.bucket transient @work : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{needs an axis to sum over}}
    dist.reduce_bucket @grads
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @grads : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{must go into shares to be added again, got: in place}}
    dist.reduce_bucket @grads scatter ["dp"] again
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @grads : 128 x f32 of @params
dist.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
dist.bucket transient @work : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{axis must be a rank axis of the mesh, got: mb}}
    dist.reduce_bucket @grads sum ["mb"]
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @grads : 128 x f32 of @params
dist.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
dist.bucket transient @work : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{axis must stand once, got twice: dp}}
    dist.reduce_bucket @grads scatter ["dp"] sum ["dp"]
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @grads : 128 x f32 of @params
dist.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
dist.bucket transient @work : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{cannot be of a bucket for transients: @work}}
    dist.reduce_bucket @work scatter ["dp"]
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @grads : 128 x f32 of @params
dist.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
dist.bucket transient @work : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{cannot be of a bucket for gradients: @grads}}
    dist.reduce_bucket @grads scatter ["dp"] into @shares
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @grads : 128 x f32 of @params
dist.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
dist.bucket transient @work : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{shares of 64 elements cannot go into @grads, which stores 128}}
    dist.reduce_bucket @work scatter ["dp"] into @grads
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @grads : 128 x f32 of @params
dist.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
dist.bucket transient @work : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{needs a dist.bucket, got: @none}}
    dist.reduce_bucket @none sum ["dp"]
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @grads : 128 x f32 of @params
dist.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
dist.bucket transient @work : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{cannot be of a bucket for gradients: @grads}}
    %u = dist.gather_unit @grads over ["dp"] : tensor<128xf32>
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @grads : 128 x f32 of @params
dist.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
dist.bucket transient @work : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{result must be 'tensor<128xf32>' or of a narrower float type, got: 'tensor<64xf32>'}}
    %u = dist.gather_unit @params over ["dp"] : tensor<64xf32>
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{result must be 'tensor<128xf32>' or of a narrower float type, got: 'tensor<128xf64>'}}
    %u = dist.gather_unit @params over ["dp"] : tensor<128xf64>
  }
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
dist.bucket parameter @params : 128 x f32 flat ["dp"]
dist.bucket gradient @grads : 128 x f32 of @params
dist.bucket gradient @shares : 128 x f32 of @params flat ["dp"]
dist.bucket transient @work : 128 x f32 of @params
dist.program @step mesh @mesh {
  dist.phase @update {
    // expected-error@+1 {{axis must be a rank axis of the mesh, got: tp}}
    %u = dist.gather_unit @params over ["tp"] : tensor<128xf32>
  }
}

// -----

func.func @outside(%u: tensor<128xf32>) {
  // expected-error@+1 {{must lie within the 128 elements of the unit, got: [100, 132)}}
  %w = dist.unit_view %u[100] : tensor<128xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @type(%u: tensor<128xf32>) {
  // expected-error@+1 {{element type must be 'f32', got: 'f64'}}
  %w = dist.unit_view %u[0] : tensor<128xf32> -> tensor<4x8xf64>
  return
}

// -----

// expected-error@+1 {{needs the parameter bucket it is `of`}}
dist.bucket transient @work : 128 x f32
