// RUN: dtcc-opt %s --verify-diagnostics --exec-verify

// The backward phase of micro-batch 0 would read what the forward phase of micro-batch 1 left.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
exec.program @step mesh @mesh stage 0 over "pp" actions [forward 0, forward 1, backward 0, backward 1] {
  exec.arena @activations : 64
  exec.buffer @saved : 64 in @activations at 0
  exec.phase @forward repeat 2 {
    %x = exec.view @saved[0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
  exec.phase @backward repeat 2 {
    %x = exec.view @saved[0] : memref<16xf32>
    // expected-error @+1 {{must read micro-batch 0 of buffer @saved, which holds 1 by then}}
    exec.copy ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}
