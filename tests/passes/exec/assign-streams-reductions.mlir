// RUN: dtcc-opt %s -exec-assign-streams | FileCheck %s

// A gradient is summed over dp, and what each rank has of it over tp, whose stream also has the message to the next stage and
// the sum of an activation. Both would wait for the sum over dp behind the second sum of the gradient, and the stages before
// this one with them: that sum stands at the end. Three sums of gradients are under way at the last product, because their
// memory is always there.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>, #spmd.axis<"tp", 2, rank>, #spmd.axis<"pp", 2, rank>]
exec.program @step mesh @mesh {
  exec.communicator @over.dp over ["dp"]
  exec.communicator @over.tp over ["tp"]
  exec.communicator @over.pp over ["pp"]
  exec.arena @state : 0
  exec.arena @activations : 0
  exec.buffer @x : 64 in @state persistent
  exec.buffer @grads.0 : 64 in @state persistent
  exec.buffer @grads.1 : 64 in @state persistent
  exec.buffer @grads.2 : 64 in @state persistent
  exec.buffer @a : 64 in @activations
  exec.buffer @b : 64 in @activations
  exec.buffer @c : 64 in @activations
  exec.buffer @d : 64 in @activations
  exec.phase @backward {
    %x = exec.view @x[0] : memref<4x4xf32>
    %first = exec.view @grads.0[0] : memref<16xf32>
    %share = exec.view @grads.0[0] : memref<8xf32>
    %second = exec.view @grads.1[0] : memref<16xf32>
    %third = exec.view @grads.2[0] : memref<16xf32>
    %a = exec.view @a[0] : memref<4x4xf32>
    %b = exec.view @b[0] : memref<4x4xf32>
    %c = exec.view @c[0] : memref<4x4xf32>
    %d = exec.view @d[0] : memref<4x4xf32>
    // CHECK: %[[FIRST:.*]] = exec.collective reduce_scatter sum on @over.dp {{.*}}stream = 1
    exec.collective reduce_scatter sum on @over.dp ins(%first : memref<16xf32>) outs(%share : memref<8xf32>) {ofParameters}
    // CHECK: exec.collective all_reduce sum on @over.dp {{.*}}stream = 1
    // CHECK-NOT: ofParameters
    exec.collective all_reduce sum on @over.tp ins(%share : memref<8xf32>) outs(%share : memref<8xf32>) {ofParameters}
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>) [0, 0]
    exec.collective all_reduce sum on @over.dp ins(%second : memref<16xf32>) outs(%second : memref<16xf32>) {ofParameters}
    // CHECK: exec.collective all_reduce sum on @over.tp {{.*}}stream = 4
    exec.collective all_reduce sum on @over.tp ins(%a : memref<4x4xf32>) outs(%a : memref<4x4xf32>)
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>) [0, 0]
    // CHECK: exec.collective all_reduce sum on @over.dp {{.*}}stream = 1
    exec.collective all_reduce sum on @over.dp ins(%third : memref<16xf32>) outs(%third : memref<16xf32>) {ofParameters}
    // CHECK: exec.send to 0 on @over.pp {{.*}}stream = 4
    exec.send to 0 on @over.pp ins(%b : memref<4x4xf32>)
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>) [0, 0]
    // CHECK: exec.library "matmul" {{.*}}outs(%[[D:.*]] : memref<4x4xf32>) [0, 0]{{$}}
    exec.library "matmul" ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%d : memref<4x4xf32>) [0, 0]
    // CHECK: exec.collective all_reduce sum on @over.tp {{.*}}after({{.*}}%[[FIRST]]) {ofParameters, stream = 4 : i64}{{$}}
    // CHECK-NEXT: }
  }
}
