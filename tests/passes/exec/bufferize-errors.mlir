// RUN: dtcc-opt %s -exec-bufferize -split-input-file -verify-diagnostics

dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
dist.program @step mesh @mesh {
  dist.phase @only {
    %x = dist.input "x" of !dist.tensor<8x4xf32, @mesh, [{dp}, {}]> : tensor<4x4xf32>
    // expected-error@+1 {{has no kernel and no library op for these types}}
    %y = graph.cumsum %x {dim = 0 : i64} : tensor<4x4xf32>
  }
}

// -----

dist.mesh @mesh [#dist.axis<"dp", 2, rank>]
dist.program @step mesh @mesh {
  dist.phase @only {
    %x = dist.input "x" of !dist.tensor<8x4xf64, @mesh, [{dp}, {}]> : tensor<4x4xf64>
    // expected-error@+1 {{has no library op for 'tensor<4x4xf64>': products are of f32}}
    %y = graph.contract "ab,bc->ac" %x, %x : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  }
}
