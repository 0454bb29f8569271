// RUN: dtcc-opt %s -exec-bufferize -verify-diagnostics

spmd.mesh @mesh []
spmd.bucket parameter @params : 48 x f64
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %p = spmd.input "x" of !spmd.tensor<5x2x1x3xf64, @mesh, [{}, {}, {}, {}]> : tensor<5x2x1x3xf64>
    %s = spmd.input "s" of !spmd.tensor<2x3xf64, @mesh, [{}, {}]> : tensor<2x3xf64>
    %w = spmd.view @params[0] : tensor<1x3x3xf64>
    // expected-error @below {{has no library op for 'tensor<5x2x1x3xf64>': recurrent layers are of f32}}
    %h, %g = graph.recurrence tanh %p, %w, %s : (tensor<5x2x1x3xf64>, tensor<1x3x3xf64>, tensor<2x3xf64>) -> (tensor<5x2x3xf64>, tensor<5x2x1x3xf64>)
  }
}
