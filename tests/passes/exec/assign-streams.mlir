// RUN: dtcc-opt %s -exec-assign-streams | FileCheck %s
// RUN: dtcc-opt %s -exec-assign-streams | FileCheck %s --check-prefix=SEND
// RUN: dtcc-opt %s -exec-assign-streams | FileCheck %s --check-prefix=SMALL
// RUN: dtcc-opt %s -exec-assign-streams -exec-plan-arena -exec-verify | FileCheck %s --check-prefix=ARENA
// RUN: dtcc-opt %s -exec-plan-arena | FileCheck %s --check-prefix=SERIAL

spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>, #spmd.axis<"tp", 2, rank>]
exec.program @step mesh @mesh {
  exec.communicator @over.dp over ["dp"]
  exec.communicator @over.tp over ["tp"]
  exec.arena @state : 0
  exec.arena @activations : 0
  exec.buffer @x : 64 in @state persistent
  exec.buffer @share : 32 in @state persistent
  exec.buffer @large : 64 in @state persistent
  exec.buffer @small : 8 in @state persistent
  // A buffer that is reduced beside the next product cannot lend it its memory.
  // ARENA: exec.arena @activations : 192
  // SERIAL: exec.arena @activations : 128
  exec.buffer @a : 64 in @activations
  exec.buffer @b : 64 in @activations
  exec.buffer @c : 64 in @activations
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<4x4xf32>
    %share = exec.view @share[0] : memref<8xf32>
    %a = exec.view @a[0] : memref<4x4xf32>
    %aflat = exec.view @a[0] : memref<16xf32>
    %b = exec.view @b[0] : memref<4x4xf32>
    %c = exec.view @c[0] : memref<4x4xf32>
    // CHECK: %[[MADE:.*]] = exec.library "matmul" {{.*}} -> !exec.event
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>) [0, 0]
    // The two products behind it do not need the reduction.
    // CHECK: %[[REDUCED:.*]] = exec.collective reduce_scatter sum on @over.dp {{.*}}after(%[[MADE]]) {{.*}}stream = 1 {{.*}}-> !exec.event
    exec.collective reduce_scatter sum on @over.dp ins(%aflat : memref<16xf32>) outs(%share : memref<8xf32>)
    // CHECK-NEXT: exec.library "matmul"
    // CHECK-NOT: after
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>) [0, 0]
    // The sum over tp is needed at once: it stays.
    // CHECK: exec.collective all_reduce sum on @over.tp ins(%{{[^)]*}}) outs(%{{[^)]*}}){{$}}
    exec.collective all_reduce sum on @over.tp ins(%b : memref<4x4xf32>) outs(%b : memref<4x4xf32>)
    exec.library "matmul" ins(%b, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>) [0, 0]
    // What reads the share waits.
    // CHECK: exec.fill {{.*}}after(%[[REDUCED]])
    exec.fill 0.0 : f32 outs(%share : memref<8xf32>)
  }
  // Of parameters alone bytes decide: the small one, which is wanted at once, does not keep the large one.
  // SMALL-LABEL: exec.phase @parameters
  exec.phase @parameters {
    %x = exec.view @x[0] : memref<4x4xf32>
    %a = exec.view @large[0] : memref<4x4xf32>
    %b = exec.view @small[0] : memref<2xf32>
    %c = exec.view @share[0] : memref<2xf32>
    // SMALL-COUNT-2: exec.collective all_reduce sum on @over.dp {{.*}}ofParameters, stream = 1
    exec.collective all_reduce sum on @over.dp ins(%b : memref<2xf32>) outs(%b : memref<2xf32>) {ofParameters}
    exec.copy ins(%b : memref<2xf32>) outs(%c : memref<2xf32>)
    exec.collective all_reduce sum on @over.dp ins(%a : memref<4x4xf32>) outs(%a : memref<4x4xf32>) {ofParameters}
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%x : memref<4x4xf32>) [0, 0]
  }
  // A message goes while the next product is made, what nothing is computed behind stays.
  // SEND-LABEL: exec.phase @backward
  exec.phase @backward {
    %x = exec.view @x[0] : memref<4x4xf32>
    %a = exec.view @a[0] : memref<4x4xf32>
    %b = exec.view @b[0] : memref<4x4xf32>
    // SEND: %[[MADE:.*]] = exec.library "matmul" {{.*}} -> !exec.event
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>) [0, 0]
    // SEND: exec.send to 0 on @over.dp ins({{.*}}) after(%[[MADE]]) {stream = 1 : i64}
    exec.send to 0 on @over.dp ins(%a : memref<4x4xf32>)
    exec.library "matmul" ins(%a, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>) [0, 0]
    // SEND: exec.send to 0 on @over.tp ins(%{{[^)]*}}){{$}}
    exec.send to 0 on @over.tp ins(%b : memref<4x4xf32>)
  }
}
