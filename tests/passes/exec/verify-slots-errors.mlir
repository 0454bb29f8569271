// RUN: dtcc-opt %s --split-input-file --verify-diagnostics --exec-verify

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

// -----

// Two virtual stages share a buffer: the backward phase of the first would read what the second one left.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
exec.program @step mesh @mesh stage 0 over "pp" actions [f0 0, f0 1, f1 0, f1 1, b1 0, b1 1, b0 0, b0 1] {
  exec.slot_order @slots.0 [0, 1]
  exec.slot_order @slots.1 [0, 2]
  exec.arena @activations : 192
  exec.buffer @saved : 192 in @activations at 0
  exec.phase @f0 repeat 2 {
    %x = exec.view @saved[0 + slot * 64 by @slots.0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
  exec.phase @f1 repeat 2 {
    %x = exec.view @saved[0 + slot * 64 by @slots.1] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
  exec.phase @b1 repeat 2 {
    %x = exec.view @saved[0 + slot * 64 by @slots.1] : memref<16xf32>
    exec.copy ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
  exec.phase @b0 repeat 2 {
    %x = exec.view @saved[0 + slot * 64 by @slots.0] : memref<16xf32>
    // expected-error @+1 {{must read micro-batch 0 of buffer @saved, which holds 0 of another stage by then}}
    exec.copy ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}

// -----

// All slots of an order lie inside the buffer.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]
exec.program @step mesh @mesh stage 0 over "pp" actions [f0 0, f0 1] {
  exec.slot_order @slots.0 [0, 3]
  exec.arena @activations : 192
  exec.buffer @saved : 192 in @activations at 0
  exec.phase @f0 repeat 2 {
    // expected-error @+1 {{must stay inside its buffer of 192 bytes in every slot and on every rank, got: 256}}
    %x = exec.view @saved[0 + slot * 64 by @slots.0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
}
