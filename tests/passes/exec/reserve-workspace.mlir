// RUN: dtcc-opt %s -pass-pipeline="builtin.module(exec.program(exec-reserve-workspace,exec-plan-arena{alignment=256}),exec-verify)" | FileCheck %s

// What needs most of it says how much there is, for all ops. Arenas are as long as what they hold, in the target's steps.
dist.mesh @mesh [#dist.axis<"mb", 1, time>]
// CHECK-LABEL: exec.program @product
// CHECK: exec.arena @activations : 768
// CHECK: exec.arena @operations : 33554432
// CHECK: exec.buffer @operations.all : 33554432 in @operations at 0 persistent
exec.program @product mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @a : 64 in @activations persistent
  exec.buffer @b : 64 in @activations persistent
  exec.buffer @c : 64 in @activations
  exec.phase @microbatch {
    %a = exec.view @a[0] : memref<1x4x4xf32>
    %b = exec.view @b[0] : memref<1x4x4xf32>
    %c = exec.view @c[0] : memref<1x4x4xf32>
    exec.library "matmul" ins(%a, %b : memref<1x4x4xf32>, memref<1x4x4xf32>) outs(%c : memref<1x4x4xf32>) [0, 0]
  }
}

// Ops that need none plan none.
// CHECK-LABEL: exec.program @merge
// CHECK-NOT: @operations
exec.program @merge mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @a : 64 in @activations persistent
  exec.buffer @b : 64 in @activations persistent
  exec.phase @microbatch {
    %a = exec.view @a[0] : memref<16xf32>
    %b = exec.view @b[0] : memref<16xf32>
    exec.copy ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
  }
}

// A product that sums gradients of a bias besides has room for them.
// CHECK-LABEL: exec.program @sums
// CHECK: exec.arena @operations : 33554688
exec.program @sums mesh @mesh {
  exec.arena @activations : 0
  exec.buffer @a : 64 in @activations persistent
  exec.buffer @b : 64 in @activations persistent
  exec.buffer @c : 64 in @activations
  exec.buffer @d : 16 in @activations
  exec.phase @microbatch {
    %a = exec.view @a[0] : memref<1x4x4xf32>
    %b = exec.view @b[0] : memref<1x4x4xf32>
    %c = exec.view @c[0] : memref<1x4x4xf32>
    %d = exec.view @d[0] : memref<4xf32>
    exec.library "matmul_epilogue" ins(%a, %b : memref<1x4x4xf32>, memref<1x4x4xf32>) outs(%c, %d : memref<1x4x4xf32>, memref<4xf32>) [0, 0, 0, 0]
  }
}
