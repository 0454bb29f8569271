// RUN: dtcc-opt %s -pass-pipeline="builtin.module(exec.program(exec-plan-arena),exec-verify)" | FileCheck %s

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>]

// A chain of three needs two at a time; what the prologue leaves for the repeated
// phase is nobody else's until that ends.
// CHECK: exec.arena @activations : 320
// CHECK: exec.buffer @kept : 64 in @activations at 256
// CHECK: exec.buffer @a : 128 in @activations at 0
// CHECK: exec.buffer @b : 128 in @activations at 128
// CHECK: exec.buffer @c : 128 in @activations at 0
// CHECK: exec.buffer @late : 64 in @activations at 0
exec.program @step mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @kept : 64 in @activations
  exec.buffer @a : 128 in @activations
  exec.buffer @b : 128 in @activations
  exec.buffer @c : 128 in @activations
  exec.buffer @late : 64 in @activations
  exec.phase @prologue {
    %kept = exec.view @kept[0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%kept : memref<16xf32>)
  }
  exec.phase @microbatch repeat 2 {
    %kept = exec.view @kept[0] : memref<16xf32>
    %part = exec.view @a[0] : memref<16xf32>
    %a = exec.view @a[0] : memref<32xf32>
    %b = exec.view @b[0] : memref<32xf32>
    %c = exec.view @c[0] : memref<32xf32>
    exec.fill 0.0 : f32 outs(%a : memref<32xf32>)
    exec.copy ins(%kept : memref<16xf32>) outs(%part : memref<16xf32>)
    exec.copy ins(%a : memref<32xf32>) outs(%b : memref<32xf32>)
    exec.copy ins(%b : memref<32xf32>) outs(%c : memref<32xf32>)
  }
  exec.phase @update {
    %late = exec.view @late[0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%late : memref<16xf32>)
  }
}
