// RUN: dtcc-opt %s -exec-bufferize -verify-diagnostics

spmd.mesh @mesh []
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.input "x" of !spmd.tensor<2x8xf64, @mesh, [{}, {}]> : tensor<2x8xf64>
    // expected-error @below {{has no library op for 'tensor<2x8xf64>': windows slide over f32}}
    %y = graph.max_pool %x {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>} : (tensor<2x8xf64>) -> tensor<2x4xf64>
  }
}
