// RUN: dtcc-opt %s -split-input-file -verify-diagnostics --spmd-dispatch-experts

// expected-error@+1 {{needs a distributed function @step and an spmd.mesh: run spmd-apply-plan first}}
module {
}

// -----

// Rows and picks are of the same tokens.
spmd.mesh @mesh [#spmd.axis<"ep", 2, rank>]
func.func @step(%x: !spmd.tensor<8x4xf32, @mesh, [{ep},{}]>, %i: !spmd.tensor<6x2xi64, @mesh, [{},{}]>) -> !spmd.tensor<8x4xf32, @mesh, [{},{}]> {
  // expected-error@+1 {{picks must be integers for each of the rows}}
  %y = spmd.dispatch_rows %x, %i over ["ep"] experts 2 : (!spmd.tensor<8x4xf32, @mesh, [{ep},{}]>, !spmd.tensor<6x2xi64, @mesh, [{},{}]>) -> !spmd.tensor<8x4xf32, @mesh, [{},{}]>
  return %y : !spmd.tensor<8x4xf32, @mesh, [{},{}]>
}

// -----

// The result lies as after a gather.
spmd.mesh @mesh [#spmd.axis<"ep", 2, rank>]
func.func @step(%x: !spmd.tensor<8x4xf32, @mesh, [{ep},{}]>, %i: !spmd.tensor<8x2xi64, @mesh, [{},{}]>) -> !spmd.tensor<8x4xf32, @mesh, [{ep},{}]> {
  // expected-error@+1 {{result must be '!spmd.tensor<8x4xf32, @mesh, [{},{}]>'}}
  %y = spmd.dispatch_rows %x, %i over ["ep"] experts 2 : (!spmd.tensor<8x4xf32, @mesh, [{ep},{}]>, !spmd.tensor<8x2xi64, @mesh, [{},{}]>) -> !spmd.tensor<8x4xf32, @mesh, [{ep},{}]>
  return %y : !spmd.tensor<8x4xf32, @mesh, [{ep},{}]>
}

// -----

spmd.mesh @mesh [#spmd.axis<"ep", 2, rank>]
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.view @params.0[0] : tensor<8x4xf32>
    %i = graph.constant dense<0> : tensor<8x2xi64> : tensor<8x2xi64>
    // expected-error@+1 {{result must be 'tensor<4x4xf32>', got: 'tensor<2x4xf32>'}}
    %y = spmd.combine_rows %x, %i over ["ep"] experts 2 : (tensor<8x4xf32>, tensor<8x2xi64>) -> tensor<2x4xf32>
  }
}
spmd.bucket parameter @params.0 : 128 x f32

// -----

// With room, rows lie packed on one side.
spmd.mesh @mesh [#spmd.axis<"ep", 2, rank>]
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.view @params.0[0] : tensor<4x4xf32>
    %i = graph.constant dense<0> : tensor<8x2xi64> : tensor<8x2xi64>
    // expected-error@+1 {{packed rows must be 'tensor<10x4xf32>', got: 'tensor<8x4xf32>'}}
    %y = spmd.dispatch_rows %x, %i over ["ep"] experts 2 room 10 : (tensor<4x4xf32>, tensor<8x2xi64>) -> tensor<8x4xf32>
  }
}
spmd.bucket parameter @params.0 : 128 x f32

// -----

// Picks are of the tokens of all members.
spmd.mesh @mesh [#spmd.axis<"ep", 2, rank>]
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.view @params.0[0] : tensor<10x4xf32>
    %i = graph.constant dense<0> : tensor<6x2xi64> : tensor<6x2xi64>
    // expected-error@+1 {{picks must be integers for each of the rows of all members of}}
    %y = spmd.combine_rows %x, %i over ["ep"] experts 2 room 10 : (tensor<10x4xf32>, tensor<6x2xi64>) -> tensor<4x4xf32>
  }
}
spmd.bucket parameter @params.0 : 128 x f32

// -----

spmd.mesh @mesh [#spmd.axis<"ep", 2, rank>]
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %i = graph.constant dense<0> : tensor<8x2xi64> : tensor<8x2xi64>
    // expected-error@+1 {{must have picks [room, 1] and places [room], got: 'tensor<10x1xi64>' and 'tensor<9xi64>'}}
    %p, %q = spmd.pack_picks %i over ["ep"] experts 2 : tensor<8x2xi64> -> tensor<10x1xi64>, tensor<9xi64>
  }
}
