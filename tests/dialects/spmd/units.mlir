// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>, #spmd.axis<"tp", 2, rank>]
spmd.bucket parameter @params.0 : 128 x f32 flat ["dp"]
spmd.bucket gradient @grads.0 : 128 x f32 of @params.0 flat ["dp"]
// CHECK: spmd.bucket transient @work.0 : 128 x f32 of @params.0
spmd.bucket transient @work.0 : 128 x f32 of @params.0

spmd.program @step mesh @mesh {
  spmd.phase @microbatch repeat 2 {
    // CHECK: %[[U:.*]] = spmd.gather_unit @params.0 over ["dp"] : tensor<128xf32>
    %u = spmd.gather_unit @params.0 over ["dp"] : tensor<128xf32>
    // CHECK: %[[W:.*]] = spmd.unit_view %[[U]][16] : tensor<128xf32> -> tensor<4x8xf32>
    %w = spmd.unit_view %u[16] : tensor<128xf32> -> tensor<4x8xf32>
    // CHECK: spmd.accumulate %[[W]] into @work.0[16]
    spmd.accumulate %w into @work.0[16] : tensor<4x8xf32>
    // CHECK: spmd.gather_unit @params.0 over ["dp"] : tensor<128xbf16>
    %h = spmd.gather_unit @params.0 over ["dp"] : tensor<128xbf16>
    // CHECK: spmd.release %[[U]] : tensor<128xf32>
    spmd.release %u : tensor<128xf32>
    // CHECK: spmd.reduce_bucket @work.0 scatter ["dp"] into @grads.0
    spmd.reduce_bucket @work.0 scatter ["dp"] into @grads.0
    // CHECK: spmd.reduce_bucket @work.0 scatter ["dp"] into @grads.0 again
    spmd.reduce_bucket @work.0 scatter ["dp"] into @grads.0 again
  }
  spmd.phase @update {
    // CHECK: spmd.reduce_bucket @grads.0 sum ["tp"]
    spmd.reduce_bucket @grads.0 sum ["tp"]
  }
}
