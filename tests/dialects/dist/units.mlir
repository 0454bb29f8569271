// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s

dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>, #dist.axis<"tp", 2, rank>]
dist.bucket parameter @params.0 : 128 x f32 flat ["dp"]
dist.bucket gradient @grads.0 : 128 x f32 of @params.0 flat ["dp"]
// CHECK: dist.bucket transient @work.0 : 128 x f32 of @params.0
dist.bucket transient @work.0 : 128 x f32 of @params.0

dist.program @step mesh @mesh {
  dist.phase @microbatch repeat 2 {
    // CHECK: %[[U:.*]] = dist.gather_unit @params.0 over ["dp"] : tensor<128xf32>
    %u = dist.gather_unit @params.0 over ["dp"] : tensor<128xf32>
    // CHECK: %[[W:.*]] = dist.unit_view %[[U]][16] : tensor<128xf32> -> tensor<4x8xf32>
    %w = dist.unit_view %u[16] : tensor<128xf32> -> tensor<4x8xf32>
    // CHECK: dist.accumulate %[[W]] into @work.0[16]
    dist.accumulate %w into @work.0[16] : tensor<4x8xf32>
    // CHECK: dist.gather_unit @params.0 over ["dp"] : tensor<128xbf16>
    %h = dist.gather_unit @params.0 over ["dp"] : tensor<128xbf16>
    // CHECK: dist.release %[[U]] : tensor<128xf32>
    dist.release %u : tensor<128xf32>
    // CHECK: dist.reduce_bucket @work.0 scatter ["dp"] into @grads.0
    dist.reduce_bucket @work.0 scatter ["dp"] into @grads.0
    // CHECK: dist.reduce_bucket @work.0 scatter ["dp"] into @grads.0 again
    dist.reduce_bucket @work.0 scatter ["dp"] into @grads.0 again
  }
  dist.phase @update {
    // CHECK: dist.reduce_bucket @grads.0 sum ["tp"]
    dist.reduce_bucket @grads.0 sum ["tp"]
  }
}
