// Gradients are reduced over the ranks that keys are gathered over. Those are wanted at once and the gradients are not: over
// a communicator of their own they move, with the one order that each group has on all ranks.
// RUN: dtcc-opt %s -split-input-file -exec-separate-parameters -exec-assign-streams | FileCheck %s
// RUN: dtcc-opt %s -split-input-file -exec-separate-parameters -exec-assign-streams -exec-plan-arena -exec-verify -o /dev/null
// RUN: dtcc-opt %s -split-input-file -exec-assign-streams | FileCheck %s --check-prefix=TOGETHER
// Whether that is enough of what the group exchanges is asked of the bytes of a step.
// RUN: dtcc-opt %s -split-input-file -exec-separate-parameters=least=0.7 | FileCheck %s --check-prefix=MORE
// TOGETHER: exec.program @step mesh
// TOGETHER-NOT: stream =
// TOGETHER: exec.program @together
// MORE-NOT: parameters over

// CHECK: exec.communicator @over.cp over ["cp"]
// CHECK-NEXT: exec.communicator @over.cp.parameters over ["cp"] {ofParameters}
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"cp", 2, rank>]
exec.program @step mesh @mesh {
  exec.communicator @over.cp over ["cp"]
  exec.arena @state : 0
  exec.arena @activations : 0
  exec.buffer @x : 64 in @state persistent
  exec.buffer @g : 64 in @state persistent
  exec.buffer @k : 32 in @activations
  exec.buffer @keys : 64 in @activations
  exec.phase @microbatch repeat 2 {
    %x = exec.view @x[0] : memref<4x4xf32>
    %g = exec.view @g[0] : memref<4x4xf32>
    %k = exec.view @k[0] : memref<2x4xf32>
    %keys = exec.view @keys[0] : memref<4x4xf32>
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%g : memref<4x4xf32>) [0, 0]
    // CHECK: exec.collective all_reduce sum on @over.cp.parameters slot 1 {{.*}} {ofParameters, stream = 1 : i64}
    exec.collective all_reduce sum on @over.cp slot 1 ins(%g : memref<4x4xf32>) outs(%g : memref<4x4xf32>) {ofParameters}
    exec.fill 1.0 : f32 outs(%k : memref<2x4xf32>)
    // CHECK: exec.collective all_gather sum on @over.cp ins(%{{[^)]*}}) outs(%{{[^)]*}}){{$}}
    exec.collective all_gather sum on @over.cp ins(%k : memref<2x4xf32>) outs(%keys : memref<4x4xf32>)
    exec.library "matmul" ins(%keys, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%x : memref<4x4xf32>) [0, 0]
  }
  // What stays in another phase has the order of its communicator there too.
  exec.phase @update {
    %g = exec.view @g[0] : memref<4x4xf32>
    // CHECK: exec.collective all_gather sum on @over.cp.parameters ins(%{{[^)]*}}) outs(%{{[^)]*}}) {ofParameters}
    %s = exec.view @g[0] block 0 of @over.cp : memref<2x4xf32>
    exec.collective all_gather sum on @over.cp ins(%s : memref<2x4xf32>) outs(%g : memref<4x4xf32>) {ofParameters}
  }
}

// -----

// All may move together, and what is no parameter is a loss: one communicator will do.
// CHECK-NOT: parameters over
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]
exec.program @together mesh @mesh {
  exec.communicator @over.dp over ["dp"]
  exec.arena @state : 0
  exec.buffer @x : 64 in @state persistent
  exec.buffer @g : 64 in @state persistent
  exec.buffer @h : 64 in @state persistent
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<4x4xf32>
    %g = exec.view @g[0] : memref<4x4xf32>
    %h = exec.view @h[0] : memref<1xf32>
    // CHECK: exec.collective all_reduce sum on @over.dp {{.*}} {stream = 1 : i64}
    exec.collective all_reduce sum on @over.dp ins(%h : memref<1xf32>) outs(%h : memref<1xf32>)
    // CHECK: exec.collective all_reduce sum on @over.dp {{.*}} {ofParameters, stream = 1 : i64}
    exec.collective all_reduce sum on @over.dp ins(%g : memref<4x4xf32>) outs(%g : memref<4x4xf32>) {ofParameters}
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%x : memref<4x4xf32>) [0, 0]
  }
}

// -----

// Nothing is computed behind the reduction: it would not move.
spmd.mesh @mesh [#spmd.axis<"cp", 2, rank>]
exec.program @atonce mesh @mesh {
  exec.communicator @over.cp over ["cp"]
  exec.arena @state : 0
  exec.buffer @x : 64 in @state persistent
  exec.buffer @g : 64 in @state persistent
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<4x4xf32>
    %g = exec.view @g[0] : memref<4x4xf32>
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%g : memref<4x4xf32>) [0, 0]
    // CHECK: exec.collective all_reduce sum on @over.cp {{.*}} {ofParameters}
    exec.collective all_reduce sum on @over.cp ins(%g : memref<4x4xf32>) outs(%g : memref<4x4xf32>) {ofParameters}
    exec.collective all_reduce sum on @over.cp ins(%x : memref<4x4xf32>) outs(%x : memref<4x4xf32>)
  }
}

// -----

// The scales of norms, beside what ranks of tp sum up for each layer: not worth what a communicator takes.
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
exec.program @little mesh @mesh {
  exec.communicator @over.tp over ["tp"]
  exec.arena @state : 0
  exec.buffer @x : 4096 in @state persistent
  exec.buffer @g : 64 in @state persistent
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<32x32xf32>
    %g = exec.view @g[0] : memref<4x4xf32>
    // CHECK: exec.collective all_reduce sum on @over.tp {{.*}} {ofParameters}
    exec.collective all_reduce sum on @over.tp ins(%g : memref<4x4xf32>) outs(%g : memref<4x4xf32>) {ofParameters}
    exec.library "matmul" ins(%x, %x : memref<32x32xf32>, memref<32x32xf32>) outs(%x : memref<32x32xf32>) [0, 0]
    exec.collective all_reduce sum on @over.tp ins(%x : memref<32x32xf32>) outs(%x : memref<32x32xf32>)
  }
}

// -----

// Members of other stages run other programs.
spmd.mesh @mesh [#spmd.axis<"pp", 2, rank>]
exec.program @step.0 mesh @mesh stage 0 over "pp" {
  exec.communicator @over.pp over ["pp"]
  exec.arena @state : 0
  exec.buffer @x : 64 in @state persistent
  exec.buffer @g : 64 in @state persistent
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<4x4xf32>
    %g = exec.view @g[0] : memref<4x4xf32>
    // CHECK: exec.collective all_reduce sum on @over.pp {{.*}} {ofParameters}
    exec.collective all_reduce sum on @over.pp ins(%g : memref<4x4xf32>) outs(%g : memref<4x4xf32>) {ofParameters}
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%x : memref<4x4xf32>) [0, 0]
    exec.collective all_reduce sum on @over.pp ins(%x : memref<4x4xf32>) outs(%x : memref<4x4xf32>)
  }
}

// -----

// A message, which another stage waits for, does not stand behind gradients.
spmd.mesh @mesh [#spmd.axis<"pp", 2, rank>, #spmd.axis<"dp", 2, rank>]
exec.program @step.0 mesh @mesh stage 0 over "pp" {
  exec.communicator @over.dp over ["dp"]
  exec.communicator @channel.pp.0 over ["pp"]
  exec.arena @state : 0
  exec.buffer @x : 64 in @state persistent
  exec.buffer @g : 64 in @state persistent
  exec.buffer @k : 64 in @state persistent
  exec.phase @backward {
    %x = exec.view @x[0] : memref<4x4xf32>
    %g = exec.view @g[0] : memref<4x4xf32>
    %k = exec.view @k[0] : memref<4x4xf32>
    // CHECK: exec.collective all_reduce sum on @over.dp {{.*}} {ofParameters, stream = 1 : i64}
    exec.collective all_reduce sum on @over.dp ins(%g : memref<4x4xf32>) outs(%g : memref<4x4xf32>) {ofParameters}
    // CHECK: exec.send to 1 on @channel.pp.0 {{.*}} {stream = 4 : i64}
    exec.send to 1 on @channel.pp.0 ins(%k : memref<4x4xf32>)
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%x : memref<4x4xf32>) [0, 0]
  }
}
