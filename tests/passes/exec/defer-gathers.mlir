// RUN: dtcc-opt %s -split-input-file -exec-defer-gathers=cluster=8xh100 | FileCheck %s
// RUN: dtcc-opt %s -split-input-file -exec-defer-gathers=cluster=8xh100 -exec-assign-streams | FileCheck %s --check-prefix=STREAM
// RUN: dtcc-opt %s -split-input-file -exec-defer-gathers=cluster=8xh100 -exec-assign-streams -exec-plan-arena -exec-verify -o /dev/null

// The copies of two layers are gathered in the first run of the next step, the second one beside the first layer. An
// evaluation begins with both. What the update reads again, and what a step reads in f32, stays.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params.0 : 16777216 x f32 flat ["dp"] {unit = "a"}
spmd.bucket compute @compute.0 : 16777216 x bf16 of @params.0 {unit = "a"}
spmd.bucket parameter @params.1 : 33554432 x f32 flat ["dp"] {unit = "b"}
spmd.bucket compute @compute.1 : 33554432 x bf16 of @params.1 {unit = "b"}
spmd.bucket parameter @params.2 : 16777216 x f32 flat ["dp"] {unit = "c"}
spmd.bucket compute @compute.2 : 16777216 x bf16 of @params.2 {unit = "c"}
spmd.bucket parameter @params.3 : 4096 x f32
exec.program @step mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @state : 0
  exec.arena @activations : 0
  exec.buffer @w0 : 33554432 in @state persistent {bucket = @compute.0}
  exec.buffer @w1 : 67108864 in @state persistent {bucket = @compute.1}
  exec.buffer @w2 : 33554432 in @state persistent {bucket = @compute.2}
  exec.buffer @norm : 16384 in @state persistent {bucket = @params.3}
  exec.buffer @x : 33554432 in @state persistent
  exec.buffer @y : 33554432 in @activations
  exec.buffer @z : 33554432 in @activations
  // CHECK-LABEL: exec.phase @microbatch
  // CHECK: exec.collective all_gather sum on @dp slot 0 {{.*}}ofParameters
  // CHECK-NEXT: exec.library "matmul"
  // CHECK: exec.collective all_gather sum on @dp slot 0 {{.*}}ofParameters
  // CHECK-NEXT: exec.library "matmul"
  // CHECK-NEXT: exec.library "matmul"
  // CHECK-NOT: all_gather
  // STREAM-LABEL: exec.phase @microbatch
  // STREAM-COUNT-2: exec.collective all_gather sum on @dp slot 0 {{.*}}stream = 1
  exec.phase @microbatch repeat 2 {
    %w0 = exec.view @w0[0] : memref<1x4096x4096xbf16>
    %w1 = exec.view @w1[0] : memref<1x4096x4096xbf16>
    %w2 = exec.view @w2[0] : memref<1x4096x4096xbf16>
    %x = exec.view @x[0] : memref<1x4096x4096xbf16>
    %y = exec.view @y[0] : memref<1x4096x4096xbf16>
    %z = exec.view @z[0] : memref<1x4096x4096xbf16>
    exec.library "matmul" ins(%x, %w0 : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%y : memref<1x4096x4096xbf16>) [0]
    exec.library "matmul" ins(%y, %w0 : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%z : memref<1x4096x4096xbf16>) [0]
    exec.library "matmul" ins(%z, %w1 : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%y : memref<1x4096x4096xbf16>) [0]
    exec.library "matmul" ins(%y, %w2 : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%x : memref<1x4096x4096xbf16>) [0]
  }
  // CHECK-LABEL: exec.phase @update
  // CHECK-COUNT-2: exec.collective all_gather
  // CHECK-NOT: all_gather
  // CHECK: exec.phase @gather_parameters
  // CHECK-COUNT-2: exec.collective all_gather sum on @dp ins
  // CHECK: exec.phase @evaluate
  exec.phase @update {
    %share0 = exec.view @w0[0] block 0 of @dp : memref<8388608xbf16>
    %all0 = exec.view @w0[0] : memref<16777216xbf16>
    %share1 = exec.view @w1[0] block 0 of @dp : memref<16777216xbf16>
    %all1 = exec.view @w1[0] : memref<33554432xbf16>
    %share2 = exec.view @w2[0] block 0 of @dp : memref<8388608xbf16>
    %all2 = exec.view @w2[0] : memref<16777216xbf16>
    %norm_share = exec.view @norm[0] block 0 of @dp : memref<2048xf32>
    %norm = exec.view @norm[0] : memref<4096xf32>
    exec.collective all_gather sum on @dp ins(%share1 : memref<16777216xbf16>) outs(%all1 : memref<33554432xbf16>) {ofParameters}
    exec.collective all_gather sum on @dp ins(%share0 : memref<8388608xbf16>) outs(%all0 : memref<16777216xbf16>) {ofParameters}
    exec.collective all_gather sum on @dp ins(%norm_share : memref<2048xf32>) outs(%norm : memref<4096xf32>) {ofParameters}
    exec.collective all_gather sum on @dp ins(%share2 : memref<8388608xbf16>) outs(%all2 : memref<16777216xbf16>) {ofParameters}
    exec.fill 1.0 : bf16 outs(%all2 : memref<16777216xbf16>)
  }
  exec.phase @evaluate {
    %w0 = exec.view @w0[0] : memref<1x4096x4096xbf16>
    %x = exec.view @x[0] : memref<1x4096x4096xbf16>
    %y = exec.view @y[0] : memref<1x4096x4096xbf16>
    exec.library "matmul" ins(%x, %w0 : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%y : memref<1x4096x4096xbf16>) [0]
  }
}

// -----

// Stages of a pipeline: the layers of the second phase arrive during the runs of the first one. The first run waits for the
// first layers. Each of the two behind it gets one of the gathers that the second phase needs, though these take longer
// than a run: other stages do not wait for both in one run. A phase without commands has no place for a gather.
spmd.mesh @mesh [#spmd.axis<"mb", 4, time>, #spmd.axis<"pp", 2, rank>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params.0 : 251658240 x f32 flat ["dp"] {unit = "a"}
spmd.bucket compute @compute.0 : 251658240 x bf16 of @params.0 {unit = "a"}
spmd.bucket parameter @params.1 : 67108864 x f32 flat ["dp"] {unit = "b"}
spmd.bucket compute @compute.1 : 67108864 x bf16 of @params.1 {unit = "b"}
spmd.bucket parameter @params.2 : 67108864 x f32 flat ["dp"] {unit = "c"}
spmd.bucket compute @compute.2 : 67108864 x bf16 of @params.2 {unit = "c"}
exec.program @step.0 mesh @mesh stage 0 over "pp" actions [prologue 0, forward.0 0, forward.0 1, forward.0 2, forward.1 0, forward.1 1, forward.1 2, update 0, evaluate 0] {
  exec.communicator @dp over ["dp"]
  exec.arena @state : 0
  exec.arena @activations : 0
  exec.buffer @w0 : 503316480 in @state persistent {bucket = @compute.0}
  exec.buffer @w1 : 134217728 in @state persistent {bucket = @compute.1}
  exec.buffer @w2 : 134217728 in @state persistent {bucket = @compute.2}
  exec.buffer @x : 33554432 in @state persistent
  exec.buffer @y : 33554432 in @activations
  // CHECK: exec.program @step.0 {{.*}} update 0, gather_parameters 0, evaluate 0]
  // CHECK-LABEL: exec.phase @forward.0
  // CHECK: exec.collective all_gather sum on @dp slot 0
  // CHECK-DAG: exec.collective all_gather sum on @dp slot 1
  // CHECK-DAG: exec.collective all_gather sum on @dp slot 2
  // CHECK-LABEL: exec.phase @forward.1
  // CHECK-NOT: all_gather
  // CHECK-LABEL: exec.phase @update
  exec.phase @prologue {
  }
  exec.phase @forward.0 repeat 3 {
    %w = exec.view @w0[0] : memref<1x4096x4096xbf16>
    %x = exec.view @x[0] : memref<1x4096x4096xbf16>
    %y = exec.view @y[0] : memref<1x4096x4096xbf16>
    exec.library "matmul" ins(%x, %w : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%y : memref<1x4096x4096xbf16>) [0]
  }
  exec.phase @forward.1 repeat 3 {
    %w = exec.view @w1[0] : memref<1x4096x4096xbf16>
    %x = exec.view @w2[0] : memref<1x4096x4096xbf16>
    %y = exec.view @y[0] : memref<1x4096x4096xbf16>
    exec.library "matmul" ins(%x, %w : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%y : memref<1x4096x4096xbf16>) [0]
  }
  exec.phase @update {
    %share0 = exec.view @w0[0] block 0 of @dp : memref<125829120xbf16>
    %all0 = exec.view @w0[0] : memref<251658240xbf16>
    %share1 = exec.view @w1[0] block 0 of @dp : memref<33554432xbf16>
    %all1 = exec.view @w1[0] : memref<67108864xbf16>
    exec.collective all_gather sum on @dp ins(%share0 : memref<125829120xbf16>) outs(%all0 : memref<251658240xbf16>) {ofParameters}
    %share2 = exec.view @w2[0] block 0 of @dp : memref<33554432xbf16>
    %all2 = exec.view @w2[0] : memref<67108864xbf16>
    exec.collective all_gather sum on @dp ins(%share1 : memref<33554432xbf16>) outs(%all1 : memref<67108864xbf16>) {ofParameters}
    exec.collective all_gather sum on @dp ins(%share2 : memref<33554432xbf16>) outs(%all2 : memref<67108864xbf16>) {ofParameters}
  }
  exec.phase @evaluate {
    %w = exec.view @w1[0] : memref<1x4096x4096xbf16>
    %x = exec.view @x[0] : memref<1x4096x4096xbf16>
    %y = exec.view @y[0] : memref<1x4096x4096xbf16>
    exec.library "matmul" ins(%x, %w : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%y : memref<1x4096x4096xbf16>) [0]
  }
}
