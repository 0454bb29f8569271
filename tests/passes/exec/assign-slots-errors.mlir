// RUN: dtcc-opt %s --split-input-file --verify-diagnostics -pass-pipeline="builtin.module(exec.program(exec-assign-slots))"

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
exec.program @step mesh @mesh stage 0 over "pp" actions [forward 0, forward 1, backward 0, backward 1] {
  exec.arena @activations : 0
  exec.buffer @saved : 128 in @activations
  exec.phase @forward repeat 2 {
    // expected-error @+1 {{cannot look at a part for each slot of what has memory for 2 slots}}
    %x = exec.view @saved[0 + slot * 64] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
  exec.phase @backward repeat 2 {
    %x = exec.view @saved[0] : memref<16xf32>
    exec.copy ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// expected-error @+1 {{slot of an action must be from 0 to 1, got: forward 2}}
exec.program @step mesh @mesh stage 0 over "pp" actions [forward 0, forward 2] {
  exec.phase @forward repeat 2 {
  }
}

// -----

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
// expected-error @+1 {{action must name a phase of the program, got: backward 0}}
exec.program @step mesh @mesh stage 0 over "pp" actions [forward 0, backward 0] {
  exec.phase @forward repeat 2 {
  }
}
