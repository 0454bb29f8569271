// Dimensions of views that lie as one in memory are folded: those of a kernel's operands each for themselves, those of a
// copy together, never a block's into the one around it, and never a library op's.
// RUN: dtcc-opt %s -exec-fold-dimensions | FileCheck %s
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>, #spmd.axis<"tp", 2, rank>]
exec.program @step mesh @mesh {
  exec.communicator @over.dp over ["dp"]
  exec.communicator @over.tp over ["tp"]
  exec.arena @state : 0
  exec.buffer @x : 4096 in @state persistent
  exec.buffer @y : 4096 in @state persistent
  exec.phase @microbatch repeat 1 {
    // 2 x 2 lie as 4; rows of 16 lie apart.
    // CHECK: %[[X:.*]] = exec.view @x[0] : memref<4x4x8xf32, strided<[128, 16, 1]>>
    %x = exec.view @x[0] : memref<4x2x2x8xf32, strided<[128, 32, 16, 1]>>
    // CHECK: %[[Y:.*]] = exec.view @y[0] : memref<128xf32>
    %y = exec.view @y[0] : memref<4x2x1x2x8xf32>
    // CHECK: exec.kernel @k ins(%[[X]] : {{.*}}) outs(%[[Y]] :
    exec.kernel @k ins(%x : memref<4x2x2x8xf32, strided<[128, 32, 16, 1]>>) outs(%y : memref<4x2x1x2x8xf32>)

    // What one side keeps apart stays apart on both.
    // CHECK: %[[FROM:.*]] = exec.view @x[0] : memref<6x4xf32, strided<[4, 30]>>
    // CHECK: %[[TO:.*]] = exec.view @y[0] : memref<6x4xf32>
    // CHECK: exec.copy ins(%[[FROM]] : {{.*}}) outs(%[[TO]] :
    %from = exec.view @x[0] : memref<2x3x4xf32, strided<[12, 4, 30]>>
    %to = exec.view @y[0] : memref<2x3x4xf32>
    exec.copy ins(%from : memref<2x3x4xf32, strided<[12, 4, 30]>>) outs(%to : memref<2x3x4xf32>)

    // The rank's half of 4: what is inside it may join it.
    // CHECK: %[[BLOCK:.*]] = exec.view @x[0] block 1 of @over.dp : memref<4x16xf32, strided<[32, 1]>>
    // CHECK: exec.fill {{.*}} outs(%[[BLOCK]] :
    %block = exec.view @x[0] block 2 of @over.dp : memref<2x2x2x8xf32, strided<[64, 32, 8, 1]>>
    exec.fill 1.0 : f32 outs(%block : memref<2x2x2x8xf32, strided<[64, 32, 8, 1]>>)

    // Each side of a copy has the dimension of its own blocks.
    // CHECK: %[[TURNED:.*]] = exec.view @x[0] block 1 of @over.dp : memref<2x4xf32, strided<[1, 2]>>
    // CHECK: %[[ROWS:.*]] = exec.view @y[0] block 0 of @over.tp : memref<2x4xf32>
    // CHECK: exec.copy ins(%[[TURNED]] : {{.*}}) outs(%[[ROWS]] :
    %turned = exec.view @x[0] block 1 of @over.dp : memref<2x4xf32, strided<[1, 2]>>
    %rows = exec.view @y[0] block 0 of @over.tp : memref<2x4xf32>
    exec.copy ins(%turned : memref<2x4xf32, strided<[1, 2]>>) outs(%rows : memref<2x4xf32>)

    // CHECK: exec.collective all_reduce sum on @over.dp ins({{.*}} : memref<24xf32>) outs({{.*}} : memref<24xf32>)
    exec.collective all_reduce sum on @over.dp ins(%to : memref<2x3x4xf32>) outs(%to : memref<2x3x4xf32>)
    // CHECK: exec.library "matmul" ins({{.*}} : memref<2x3x4xf32>, memref<2x3x4xf32>)
    exec.library "matmul" ins(%to, %to : memref<2x3x4xf32>, memref<2x3x4xf32>) outs(%to : memref<2x3x4xf32>) [0, 0]
  }
}
