// RUN: dtcc-opt %s -split-input-file -verify-diagnostics

// V8: a stage is a coordinate of a rank axis of the mesh.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// expected-error@+1 {{stage must be one of the 2 of axis pp, got: 2}}
spmd.program @step.2 mesh @mesh stage 2 over "pp" {
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// expected-error@+1 {{stages must lie on a rank axis of the mesh, got: mb}}
spmd.program @step.0 mesh @mesh stage 0 over "mb" {
}

// -----

// V8: to a stage that exists.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
spmd.program @step.0 mesh @mesh stage 0 over "pp" {
  spmd.phase @microbatch repeat 2 {
    %x = spmd.input "x" of !spmd.tensor<8xf32, @mesh, [{mb}]> : tensor<4xf32>
    // expected-error@+1 {{peer must be one of the 2 of axis pp, got: 2}}
    spmd.send %x to 2 over "pp" channel 0 : tensor<4xf32>
    spmd.yield
  }
}

// -----

// V8: to another than its own.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
spmd.program @step.1 mesh @mesh stage 1 over "pp" {
  spmd.phase @microbatch repeat 2 {
    // expected-error@+1 {{peer must be another stage, got: 1}}
    %x = spmd.receive from 1 over "pp" channel 0 : tensor<4xf32>
    spmd.yield
  }
}

// -----

// V8: only where there are stages.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
spmd.program @step mesh @mesh {
  spmd.phase @microbatch repeat 2 {
    // expected-error@+1 {{must stand in the program of a stage over its axis, got: pp}}
    %x = spmd.receive from 1 over "pp" channel 0 : tensor<4xf32>
    spmd.yield
  }
}

// -----

// A run is a phase and a micro-batch.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// expected-error@+2 {{expected integer value}}
// expected-error@+1 {{failed to parse}}
spmd.program @step.0 mesh @mesh stage 0 over "pp" actions [forward] {
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// expected-error@+1 {{slot of an action must be from 0 to 1, got: forward -1}}
spmd.program @step.0 mesh @mesh stage 0 over "pp" actions [forward -1] {
  spmd.phase @forward repeat 2 {
    spmd.yield
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// expected-error@+1 {{action must name a phase of the program, got: backward 0}}
spmd.program @step.0 mesh @mesh stage 0 over "pp" actions [forward 0, forward 1, backward 0] {
  spmd.phase @forward repeat 2 {
    spmd.yield
  }
}
