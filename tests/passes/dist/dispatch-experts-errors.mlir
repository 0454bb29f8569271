// RUN: dtcc-opt %s -split-input-file -verify-diagnostics --dist-dispatch-experts

// expected-error@+1 {{needs a distributed function @step and its plan: run dist-apply-plan first}}
module {
}

// -----

// Rows and picks are of the same tokens.
dist.mesh @mesh [#dist.axis<"ep", 2, rank>]
func.func @step(%x: !dist.tensor<8x4xf32, @mesh, [{ep},{}]>, %i: !dist.tensor<6x2xi64, @mesh, [{},{}]>) -> !dist.tensor<8x4xf32, @mesh, [{},{}]> {
  // expected-error@+1 {{picks must be integers for each of the rows}}
  %y = dist.dispatch_rows %x, %i over ["ep"] experts 2 : (!dist.tensor<8x4xf32, @mesh, [{ep},{}]>, !dist.tensor<6x2xi64, @mesh, [{},{}]>) -> !dist.tensor<8x4xf32, @mesh, [{},{}]>
  return %y : !dist.tensor<8x4xf32, @mesh, [{},{}]>
}

// -----

// The result lies as after a gather.
dist.mesh @mesh [#dist.axis<"ep", 2, rank>]
func.func @step(%x: !dist.tensor<8x4xf32, @mesh, [{ep},{}]>, %i: !dist.tensor<8x2xi64, @mesh, [{},{}]>) -> !dist.tensor<8x4xf32, @mesh, [{ep},{}]> {
  // expected-error@+1 {{result must be '!dist.tensor<8x4xf32, @mesh, [{},{}]>'}}
  %y = dist.dispatch_rows %x, %i over ["ep"] experts 2 : (!dist.tensor<8x4xf32, @mesh, [{ep},{}]>, !dist.tensor<8x2xi64, @mesh, [{},{}]>) -> !dist.tensor<8x4xf32, @mesh, [{ep},{}]>
  return %y : !dist.tensor<8x4xf32, @mesh, [{ep},{}]>
}

// -----

dist.mesh @mesh [#dist.axis<"ep", 2, rank>]
dist.program @step mesh @mesh {
  dist.phase @microbatch {
    %x = dist.view @params.0[0] : tensor<8x4xf32>
    %i = graph.constant dense<0> : tensor<8x2xi64> : tensor<8x2xi64>
    // expected-error@+1 {{result must be 'tensor<4x4xf32>', got: 'tensor<2x4xf32>'}}
    %y = dist.combine_rows %x, %i over ["ep"] experts 2 : (tensor<8x4xf32>, tensor<8x2xi64>) -> tensor<2x4xf32>
  }
}
dist.bucket parameter @params.0 : 128 x f32
