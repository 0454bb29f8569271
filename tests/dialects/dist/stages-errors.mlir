// RUN: dtcc-opt %s -split-input-file -verify-diagnostics

// V8: a stage is a coordinate of a rank axis of the mesh.
dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"pp", 2, rank>]
// expected-error@+1 {{stage must be one of the 2 of axis pp, got: 2}}
dist.program @step.2 mesh @mesh stage 2 over "pp" {
}

// -----

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"pp", 2, rank>]
// expected-error@+1 {{stages must lie on a rank axis of the mesh, got: mb}}
dist.program @step.0 mesh @mesh stage 0 over "mb" {
}

// -----

// V8: to a stage that exists.
dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"pp", 2, rank>]
dist.program @step.0 mesh @mesh stage 0 over "pp" {
  dist.phase @microbatch repeat 2 {
    %x = dist.input "x" of !dist.tensor<8xf32, @mesh, [{mb}]> : tensor<4xf32>
    // expected-error@+1 {{peer must be one of the 2 of axis pp, got: 2}}
    dist.send %x to 2 over "pp" channel 0 : tensor<4xf32>
    dist.yield
  }
}

// -----

// V8: to another than its own.
dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"pp", 2, rank>]
dist.program @step.1 mesh @mesh stage 1 over "pp" {
  dist.phase @microbatch repeat 2 {
    // expected-error@+1 {{peer must be another stage, got: 1}}
    %x = dist.receive from 1 over "pp" channel 0 : tensor<4xf32>
    dist.yield
  }
}

// -----

// V8: only where there are stages.
dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"pp", 2, rank>]
dist.program @step mesh @mesh {
  dist.phase @microbatch repeat 2 {
    // expected-error@+1 {{must stand in the program of a stage over its axis, got: pp}}
    %x = dist.receive from 1 over "pp" channel 0 : tensor<4xf32>
    dist.yield
  }
}
