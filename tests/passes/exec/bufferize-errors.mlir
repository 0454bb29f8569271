// RUN: dtcc-opt %s -exec-bufferize -split-input-file -verify-diagnostics

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.program @step mesh @mesh {
  spmd.phase @only {
    %x = spmd.input "x" of !spmd.tensor<8x4xf32, @mesh, [{dp}, {}]> : tensor<4x4xf32>
    // expected-error@+1 {{has no kernel and no library op for these types}}
    %y = graph.cumsum %x {dim = 0 : i64} : tensor<4x4xf32>
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.program @step mesh @mesh {
  spmd.phase @only {
    %x = spmd.input "x" of !spmd.tensor<8x4xf64, @mesh, [{dp}, {}]> : tensor<4x4xf64>
    // expected-error@+1 {{has no library op for 'tensor<4x4xf64>': products are of f32}}
    %y = graph.contract "ab,bc->ac" %x, %x : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  }
}
