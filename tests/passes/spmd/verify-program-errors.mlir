// RUN: dtcc-opt %s --spmd-verify-program -split-input-file -verify-diagnostics

// expected-error@+1 {{needs an spmd.program: run spmd-lower-to-program first}}
module {
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 64 x f32
// expected-error@+1 {{must have a layout and a place in a bucket once programs are made}}
graph.state @w : tensor<8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 8, 8>, init = #graph.init<normal, 0.0, 0.5>}
spmd.program @step mesh @mesh {
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 64 x f32
// expected-error@+1 {{must lie within the 64 elements of @params, got: [16, 80)}}
graph.state @w : tensor<8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 8, 8>, init = #graph.init<normal, 0.0, 0.5>, spmd.layout = !spmd.tensor<8x8xf32, @mesh, [{},{} ]>, spmd.bucket = @params, spmd.offset = 16 : i64}
spmd.program @step mesh @mesh {
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 128 x f32
graph.state @v : tensor<8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "v", saved_shape = array<i64: 8, 8>, init = #graph.init<normal, 0.0, 0.5>, spmd.layout = !spmd.tensor<8x8xf32, @mesh, [{},{} ]>, spmd.bucket = @params, spmd.offset = 0 : i64}
// expected-error@+1 {{must not share elements of @params with @v, got: [48, 112) beside [0, 64)}}
graph.state @w : tensor<8x8xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w", saved_shape = array<i64: 8, 8>, init = #graph.init<normal, 0.0, 0.5>, spmd.layout = !spmd.tensor<8x8xf32, @mesh, [{},{} ]>, spmd.bucket = @params, spmd.offset = 48 : i64}
spmd.program @step mesh @mesh {
}

// -----

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 64 x f32 flat ["dp"]
spmd.program @step mesh @mesh {
  spmd.phase @forward {
    %u = spmd.gather_unit @params over ["dp"] : tensor<64xf32>
    spmd.release %u : tensor<64xf32>
    // expected-error@+1 {{reads a unit that is released before}}
    %w = spmd.unit_view %u[0] : tensor<64xf32> -> tensor<8xf32>
  }
}

// -----

// Each stage waits for a message that the other sends later, or never.
spmd.mesh @mesh [#spmd.axis<"pp", 2, rank>]
// expected-error@+1 {{the step never ends: stage 0 waits in run 0 for a message of stage 1 on channel 0, stage 1 waits in run 0 for a message of stage 0 on channel 1}}
spmd.program @step.0 mesh @mesh stage 0 over "pp" actions [run 0] {
  spmd.phase @run {
    %x = spmd.receive from 1 over "pp" channel 0 : tensor<4xf32>
  }
}
spmd.program @step.1 mesh @mesh stage 1 over "pp" actions [run 0] {
  spmd.phase @run {
    %x = spmd.receive from 0 over "pp" channel 1 : tensor<4xf32>
    spmd.send %x to 0 over "pp" channel 0 : tensor<4xf32>
  }
}
