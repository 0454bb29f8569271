// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]

// CHECK-LABEL: exec.program @step mesh @mesh {
exec.program @step mesh @mesh {
  // CHECK: exec.communicator @dp over ["dp"]
  exec.communicator @dp over ["dp"]
  // CHECK: exec.arena @state : 256
  exec.arena @state : 256
  // CHECK: exec.arena @activations : 128
  exec.arena @activations : 128
  // CHECK: exec.buffer @params : 64 in @state at 0 persistent {bucket = @params.0}
  exec.buffer @params : 64 in @state at 0 persistent {bucket = @params.0}
  // CHECK: exec.buffer @x : 64 in @activations at 64
  exec.buffer @x : 64 in @activations at 64
  // CHECK: exec.buffer @ids : 64 in @state at 64 persistent
  exec.buffer @ids : 64 in @state at 64 persistent
  // CHECK: exec.slot_order @order [1, 0]
  exec.slot_order @order [1, 0]
  // CHECK: exec.view @ids[0 + slot * 32 by @order] : memref<4xi64>
  %ordered = exec.view @ids[0 + slot * 32 by @order] : memref<4xi64>
  // CHECK: exec.view @ids[0 + slot * 32] : memref<4xi64>
  %ids = exec.view @ids[0 + slot * 32] : memref<4xi64>
  // CHECK: exec.input "ids" tokens %{{.*}} : memref<4xi64> {axes = {{.*}}, padded = array<i64: 16>, sizes = array<i64: 16>}
  exec.input "ids" tokens %ids : memref<4xi64> {axes = [["mb", "dp"]], padded = array<i64: 16>, sizes = array<i64: 16>}
  // CHECK: exec.phase @microbatch repeat 2 {
  exec.phase @microbatch repeat 2 {
    // CHECK: exec.view @params[0] block 0 of @dp : memref<8xf32>
    %share = exec.view @params[0] block 0 of @dp : memref<8xf32>
    %all = exec.view @params[0] : memref<16xf32>
    %x = exec.view @x[0] : memref<4x2xf32, strided<[4, 1]>>
    %row = exec.view @x[0] : memref<f32>
    // CHECK: exec.fill 1.000000e+00 : f32 outs(%{{.*}} : memref<4x2xf32, strided<[4, 1]>>)
    exec.fill 1.0 : f32 outs(%x : memref<4x2xf32, strided<[4, 1]>>)
    // CHECK: %[[DONE:.*]] = exec.collective all_gather sum on @dp ins(%{{.*}} : memref<8xf32>) outs(%{{.*}} : memref<16xf32>) {stream = 1 : i64} -> !exec.event
    %done = exec.collective all_gather sum on @dp ins(%share : memref<8xf32>) outs(%all : memref<16xf32>) {stream = 1 : i64} -> !exec.event
    // CHECK: exec.library "sum_squares" ins(%{{.*}} : memref<16xf32>) outs(%{{.*}} : memref<f32>) [0] after(%[[DONE]])
    exec.library "sum_squares" ins(%all : memref<16xf32>) outs(%row : memref<f32>) [0] after(%done)
    // CHECK: exec.kernel @k ins(%{{.*}} : memref<16xf32>) outs(%{{.*}} : memref<f32>) {accumulates = array<i1: true>}
    exec.kernel @k ins(%all : memref<16xf32>) outs(%row : memref<f32>) {accumulates = array<i1: true>}
  }
}
