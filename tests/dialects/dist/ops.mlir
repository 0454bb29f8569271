// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s

// CHECK: dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>, #dist.axis<"tp", 2, rank>]
dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>, #dist.axis<"tp", 2, rank>]

// CHECK: dist.bucket parameter @params.0 : 128 x f32 sharded ["tp"]
dist.bucket parameter @params.0 : 128 x f32 sharded ["tp"]
// CHECK: dist.bucket compute @compute.0 : 128 x bf16 of @params.0
dist.bucket compute @compute.0 : 128 x bf16 of @params.0
// CHECK: dist.bucket gradient @grads.0 : 128 x f32 of @params.0 sharded ["tp"]
dist.bucket gradient @grads.0 : 128 x f32 of @params.0 sharded ["tp"]
// CHECK: dist.bucket slot @slots.0.0 : 128 x f32 of @params.0 slot 0 sharded ["tp"] flat ["dp"]
dist.bucket slot @slots.0.0 : 128 x f32 of @params.0 slot 0 sharded ["tp"] flat ["dp"]
// CHECK: dist.bucket buffer @buffers.0 : 32 x f32
dist.bucket buffer @buffers.0 : 32 x f32
// CHECK: dist.bucket scalar @scalars : 16 x f32
dist.bucket scalar @scalars : 16 x f32

// The layouts of whole tensors.
// CHECK-LABEL: func.func @layouts
// CHECK-SAME: !dist.tensor<8x128x768xf32, @mesh, [{mb,dp},{},{tp}]>
// CHECK-SAME: !dist.tensor<f32, @mesh, [], partial(sum {dp,mb})>
func.func @layouts(%x: !dist.tensor<8x128x768xf32, @mesh, [{mb,dp},{},{tp}]>,
                   %s: !dist.tensor<f32, @mesh, [], partial(sum {mb,dp})>) {
  // CHECK: dist.reshard {{.*}} -> !dist.tensor<8x128x768xf32, @mesh, [{mb,dp},{tp},{}]>
  %y = dist.reshard %x : !dist.tensor<8x128x768xf32, @mesh, [{mb,dp},{},{tp}]> -> !dist.tensor<8x128x768xf32, @mesh, [{mb,dp},{tp},{}]>
  return
}

// Padding is written where it is not zero.
// CHECK-LABEL: func.func @padded
// CHECK-SAME: !dist.tensor<257x66xf32, @mesh, [{tp},{}], pad [258,66]>
// CHECK-SAME: !dist.tensor<4x4xf32, @mesh, [{},{}], partial(max {tp})>
func.func @padded(%x: !dist.tensor<257x66xf32, @mesh, [{tp},{}], pad [258,66]>,
                  %y: !dist.tensor<4x4xf32, @mesh, [{},{}], partial(max {tp}), pad [4,4]>) {
  return
}

// CHECK-LABEL: dist.program @step mesh @mesh
dist.program @step mesh @mesh {
  // CHECK: %[[MASK:.*]] = dist.phase @prologue {
  %mask = dist.phase @prologue {
    %m = dist.view @params.0[0] : tensor<4x8xf32>
    // CHECK: dist.yield %{{.*}} : tensor<4x8xf32>
    dist.yield %m : tensor<4x8xf32>
  } : tensor<4x8xf32>
  // CHECK: dist.phase @microbatch repeat 2 {
  dist.phase @microbatch repeat 2 {
    // CHECK: dist.input "input_ids" of !dist.tensor<8x8xi64, @mesh, [{mb,dp},{}]> {role = "tokens"} : tensor<2x8xi64>
    %ids = dist.input "input_ids" of !dist.tensor<8x8xi64, @mesh, [{mb,dp},{}]> {role = "tokens"} : tensor<2x8xi64>
    // CHECK: %[[W:.*]] = dist.view @params.0[64] : tensor<4x8xf32>
    %w = dist.view @params.0[64] : tensor<4x8xf32>
    // CHECK: dist.all_reduce sum %[[W]] over ["tp"] : tensor<4x8xf32>
    %z = dist.all_reduce sum %w over ["tp"] : tensor<4x8xf32>
    // CHECK: dist.reduce_scatter max %{{.*}} dim 1 over ["tp"] : tensor<4x8xf32> -> tensor<4x4xf32>
    %s = dist.reduce_scatter max %z dim 1 over ["tp"] : tensor<4x8xf32> -> tensor<4x4xf32>
    // CHECK: dist.all_gather %{{.*}} dim 1 over ["tp"] : tensor<4x4xf32> -> tensor<4x8xf32>
    %g = dist.all_gather %s dim 1 over ["tp"] : tensor<4x4xf32> -> tensor<4x8xf32>
    // CHECK: dist.all_to_all %{{.*}} from 0 to 1 over ["dp", "tp"] : tensor<4x8xf32> -> tensor<16x2xf32>
    %a = dist.all_to_all %g from 0 to 1 over ["dp", "tp"] : tensor<4x8xf32> -> tensor<16x2xf32>
    // CHECK: dist.local_slice %{{.*}} dim 0 over ["mb", "dp"] : tensor<16x2xf32> -> tensor<4x2xf32>
    %l = dist.local_slice %a dim 0 over ["mb", "dp"] : tensor<16x2xf32> -> tensor<4x2xf32>
    // CHECK: dist.shift %{{.*}} over ["dp", "tp"] : tensor<16x2xf32>
    %n = dist.shift %a over ["dp", "tp"] : tensor<16x2xf32>
    // CHECK: dist.zero_fill %[[MASK]] over ["tp"] : tensor<4x8xf32>
    %f = dist.zero_fill %mask over ["tp"] : tensor<4x8xf32>
    // CHECK: dist.accumulate %{{.*}} into @grads.0[64] : tensor<4x8xf32>
    dist.accumulate %f into @grads.0[64] : tensor<4x8xf32>
    // CHECK: dist.store %{{.*}} into @buffers.0[0] : tensor<4x8xf32>
    dist.store %f into @buffers.0[0] : tensor<4x8xf32>
  }
  // CHECK: dist.phase @update {
  dist.phase @update {
    %g = dist.view @grads.0[0] : tensor<128xf32>
    %share = dist.reduce_scatter sum %g dim 0 over ["dp"] : tensor<128xf32> -> tensor<64xf32>
    // CHECK: %[[SQ:.*]] = dist.sum_squares %{{.*}} : (tensor<64xf32>) -> tensor<f32>
    %sq = dist.sum_squares %share : (tensor<64xf32>) -> tensor<f32>
    %all = dist.all_reduce sum %sq over ["dp", "tp"] : tensor<f32>
    %sum = dist.view @scalars[0] : tensor<f32>
    %count = dist.view @scalars[1] : tensor<f32>
    // CHECK: %[[NORM:.*]], %[[SCALE:.*]] = dist.grad_scale %{{.*}}, %{{.*}} {clip = 1.000000e+00 : f64}
    %norm, %scale = dist.grad_scale %all, %count {clip = 1.0 : f64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    // CHECK: dist.update_bucket @params.0, %{{.*}}, %[[SCALE]] slots [@slots.0.0] flat ["dp"] optimizer("any") : tensor<64xf32>, tensor<f32>
    dist.update_bucket @params.0, %share, %scale slots [@slots.0.0] flat ["dp"] optimizer("any") : tensor<64xf32>, tensor<f32>
    // CHECK: dist.gather_bucket @params.0 over ["dp"]
    dist.gather_bucket @params.0 over ["dp"]
    // A copy in a narrower type is written beside the masters, and is what travels.
    // CHECK: dist.update_bucket @params.0, %{{.*}}, %[[SCALE]] slots [@slots.0.0] flat ["dp"] copy @compute.0 optimizer("any")
    dist.update_bucket @params.0, %share, %scale slots [@slots.0.0] flat ["dp"] copy @compute.0 optimizer("any") : tensor<64xf32>, tensor<f32>
    // CHECK: dist.gather_bucket @compute.0 over ["dp"]
    dist.gather_bucket @compute.0 over ["dp"]
    // CHECK: dist.view @compute.0[0] : tensor<4x8xbf16>
    %narrow = dist.view @compute.0[0] : tensor<4x8xbf16>
    // CHECK: dist.report loss_sum %{{.*}}, count %{{.*}}, grad_norm %[[NORM]] : tensor<f32>, tensor<f32>, tensor<f32>
    dist.report loss_sum %sum, count %count, grad_norm %norm : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
