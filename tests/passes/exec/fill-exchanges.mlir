// RUN: dtcc-opt %s -exec-fill-exchanges=cluster=8xh100 | FileCheck %s
// RUN: dtcc-opt %s -exec-fill-exchanges=cluster=8xh100 -exec-assign-streams | FileCheck %s --check-prefix=STREAM
// RUN: dtcc-opt %s -exec-fill-exchanges=cluster=8xh100 -exec-assign-streams -exec-plan-arena -exec-verify -o /dev/null

// Ranks of tp share out the products of a layer. The gradient of its input is summed over them, and the layer before waits
// for that; the gradient of its weight waits for nothing and nobody in the phase waits for it.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>, #spmd.axis<"tp", 4, rank>]
exec.program @step mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.communicator @tp over ["tp"]
  exec.arena @state : 0
  exec.arena @activations : 0
  exec.buffer @w : 33554432 in @state persistent
  exec.buffer @gw : 67108864 in @state persistent
  exec.buffer @gv : 67108864 in @state persistent
  exec.buffer @x : 33554432 in @state persistent
  exec.buffer @dy : 33554432 in @activations
  exec.buffer @dx : 33554432 in @activations
  exec.buffer @dz : 33554432 in @activations
  exec.buffer @du : 33554432 in @activations
  // CHECK-LABEL: exec.phase @backward
  exec.phase @backward {
    %w = exec.view @w[0] : memref<1x4096x4096xbf16>
    %x = exec.view @x[0] : memref<1x4096x4096xbf16>
    %gw = exec.view @gw[0] : memref<1x4096x4096xf32>
    %gv = exec.view @gv[0] : memref<1x4096x4096xf32>
    %dy = exec.view @dy[0] : memref<1x4096x4096xbf16>
    %dx = exec.view @dx[0] : memref<1x4096x4096xbf16>
    %dz = exec.view @dz[0] : memref<1x4096x4096xbf16>
    %du = exec.view @du[0] : memref<1x4096x4096xbf16>
    exec.fill 1.0 : bf16 outs(%dy : memref<1x4096x4096xbf16>)
    // CHECK: exec.fill
    // CHECK: exec.library "matmul" {{.*}} outs(%[[DX:[0-9a-z_]+]] : memref<1x4096x4096xbf16>)
    exec.library "matmul" ins(%dy, %w : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%dx : memref<1x4096x4096xbf16>) [0]
    // The reduction of the gradient goes along with the product that it waits for.
    // CHECK-NEXT: exec.collective all_reduce sum on @tp ins(%[[DX]]
    // CHECK-NEXT: exec.library "matmul" {{.*}} : memref<1x4096x4096xf32>)
    // CHECK-NEXT: exec.collective all_reduce sum on @dp {{.*}}ofParameters
    // CHECK-NEXT: exec.library "matmul" {{.*}} : memref<1x4096x4096xbf16>)
    // STREAM: exec.collective all_reduce sum on @tp {{.*}}stream = 4
    // STREAM-NEXT: exec.library "matmul"
    // STREAM-NEXT: exec.collective all_reduce sum on @dp {{.*}}stream = 1
    exec.library "matmul" ins(%dy, %x : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%gw : memref<1x4096x4096xf32>) [0]
    exec.collective all_reduce sum on @dp ins(%gw : memref<1x4096x4096xf32>) outs(%gw : memref<1x4096x4096xf32>) {ofParameters}
    exec.collective all_reduce sum on @tp ins(%dx : memref<1x4096x4096xbf16>) outs(%dx : memref<1x4096x4096xbf16>)
    exec.library "matmul" ins(%dx, %w : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%dz : memref<1x4096x4096xbf16>) [0]
    // CHECK-NEXT: exec.collective all_reduce sum on @tp
    // CHECK-NEXT: exec.library "matmul" {{.*}} : memref<1x4096x4096xf32>)
    // CHECK-NEXT: exec.library "matmul" {{.*}} : memref<1x4096x4096xbf16>)
    // CHECK-NEXT: exec.send
    exec.library "matmul" ins(%dx, %x : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%gv : memref<1x4096x4096xf32>) [0]
    exec.collective all_reduce sum on @tp ins(%dz : memref<1x4096x4096xbf16>) outs(%dz : memref<1x4096x4096xbf16>)
    exec.library "matmul" ins(%dz, %w : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%du : memref<1x4096x4096xbf16>) [0]
    exec.send to 1 on @tp ins(%du : memref<1x4096x4096xbf16>)
  }
  // A forward pass has nothing that could wait: all of it is on the way to the exchange, or behind it.
  // CHECK-LABEL: exec.phase @forward
  // CHECK: exec.library "matmul"
  // CHECK-NEXT: exec.collective all_reduce
  // CHECK-NEXT: exec.library "matmul"
  exec.phase @forward {
    %w = exec.view @w[0] : memref<1x4096x4096xbf16>
    %x = exec.view @x[0] : memref<1x4096x4096xbf16>
    %dx = exec.view @dx[0] : memref<1x4096x4096xbf16>
    %dz = exec.view @dz[0] : memref<1x4096x4096xbf16>
    exec.library "matmul" ins(%x, %w : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%dx : memref<1x4096x4096xbf16>) [0]
    exec.collective all_reduce sum on @tp ins(%dx : memref<1x4096x4096xbf16>) outs(%dx : memref<1x4096x4096xbf16>)
    exec.library "matmul" ins(%dx, %w : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%dz : memref<1x4096x4096xbf16>) [0]
  }
  // A gather of parameters that a later product reads stays ahead of it: only a product moves. The other sums have
  // nothing beside them and move with the first: a quarter of the exchanges of a communicator is enough.
  // CHECK-LABEL: exec.phase @gathered
  // CHECK: exec.collective all_gather {{.*}}ofParameters
  // CHECK: exec.collective all_reduce sum on @tp
  // CHECK-NEXT: exec.library "matmul"
  // STREAM-LABEL: exec.phase @gathered
  // STREAM-COUNT-3: exec.collective all_reduce sum on @tp {{.*}}stream =
  exec.phase @gathered {
    %w = exec.view @w[0] : memref<1x4096x4096xbf16>
    %half = exec.view @w[0] block 0 of @dp : memref<1x2048x4096xbf16>
    %x = exec.view @x[0] : memref<1x4096x4096xbf16>
    %dy = exec.view @dy[0] : memref<1x4096x4096xbf16>
    %dx = exec.view @dx[0] : memref<1x4096x4096xbf16>
    %dz = exec.view @dz[0] : memref<1x4096x4096xbf16>
    exec.library "matmul" ins(%x, %x : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%dx : memref<1x4096x4096xbf16>) [0]
    exec.library "matmul" ins(%x, %x : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%dy : memref<1x4096x4096xbf16>) [0]
    exec.collective all_gather sum on @dp ins(%half : memref<1x2048x4096xbf16>) outs(%w : memref<1x4096x4096xbf16>) {ofParameters}
    exec.collective all_reduce sum on @tp ins(%dx : memref<1x4096x4096xbf16>) outs(%dx : memref<1x4096x4096xbf16>)
    exec.library "matmul" ins(%dx, %w : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%dz : memref<1x4096x4096xbf16>) [0]
    exec.collective all_reduce sum on @tp ins(%dz : memref<1x4096x4096xbf16>) outs(%dz : memref<1x4096x4096xbf16>)
    exec.collective all_reduce sum on @tp ins(%dy : memref<1x4096x4096xbf16>) outs(%dy : memref<1x4096x4096xbf16>)
    exec.fill 0.0 : bf16 outs(%dz : memref<1x4096x4096xbf16>)
  }
}
