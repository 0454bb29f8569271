// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s

// CHECK: spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>, #spmd.axis<"tp", 2, rank>]
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>, #spmd.axis<"tp", 2, rank>]

// CHECK: spmd.bucket parameter @params.0 : 128 x f32 sharded ["tp"]
spmd.bucket parameter @params.0 : 128 x f32 sharded ["tp"]
// CHECK: spmd.bucket compute @compute.0 : 128 x bf16 of @params.0
spmd.bucket compute @compute.0 : 128 x bf16 of @params.0
// CHECK: spmd.bucket gradient @grads.0 : 128 x f32 of @params.0 sharded ["tp"]
spmd.bucket gradient @grads.0 : 128 x f32 of @params.0 sharded ["tp"]
// CHECK: spmd.bucket slot @slots.0.0 : 128 x f32 of @params.0 slot 0 sharded ["tp"] flat ["dp"]
spmd.bucket slot @slots.0.0 : 128 x f32 of @params.0 slot 0 sharded ["tp"] flat ["dp"]
// CHECK: spmd.bucket factors @factors.0 : 12 x f32 of @params.0
spmd.bucket factors @factors.0 : 12 x f32 of @params.0
// CHECK: spmd.bucket buffer @buffers.0 : 32 x f32
spmd.bucket buffer @buffers.0 : 32 x f32
// CHECK: spmd.bucket scalar @scalars : 16 x f32
spmd.bucket scalar @scalars : 16 x f32

// The layouts of whole tensors.
// CHECK-LABEL: func.func @layouts
// CHECK-SAME: !spmd.tensor<8x128x768xf32, @mesh, [{mb,dp},{},{tp}]>
// CHECK-SAME: !spmd.tensor<f32, @mesh, [], partial(sum {dp,mb})>
func.func @layouts(%x: !spmd.tensor<8x128x768xf32, @mesh, [{mb,dp},{},{tp}]>,
                   %s: !spmd.tensor<f32, @mesh, [], partial(sum {mb,dp})>) {
  // CHECK: spmd.reshard {{.*}} -> !spmd.tensor<8x128x768xf32, @mesh, [{mb,dp},{tp},{}]>
  %y = spmd.reshard %x : !spmd.tensor<8x128x768xf32, @mesh, [{mb,dp},{},{tp}]> -> !spmd.tensor<8x128x768xf32, @mesh, [{mb,dp},{tp},{}]>
  return
}

// Padding is written where it is not zero.
// CHECK-LABEL: func.func @padded
// CHECK-SAME: !spmd.tensor<257x66xf32, @mesh, [{tp},{}], pad [258,66]>
// CHECK-SAME: !spmd.tensor<4x4xf32, @mesh, [{},{}], partial(max {tp})>
func.func @padded(%x: !spmd.tensor<257x66xf32, @mesh, [{tp},{}], pad [258,66]>,
                  %y: !spmd.tensor<4x4xf32, @mesh, [{},{}], partial(max {tp}), pad [4,4]>) {
  return
}

// CHECK-LABEL: spmd.program @step mesh @mesh
spmd.program @step mesh @mesh {
  // CHECK: %[[MASK:.*]] = spmd.phase @prologue {
  %mask = spmd.phase @prologue {
    %m = spmd.view @params.0[0] : tensor<4x8xf32>
    // CHECK: spmd.yield %{{.*}} : tensor<4x8xf32>
    spmd.yield %m : tensor<4x8xf32>
  } : tensor<4x8xf32>
  // CHECK: spmd.phase @microbatch repeat 2 {
  spmd.phase @microbatch repeat 2 {
    // CHECK: spmd.input "input_ids" of !spmd.tensor<8x8xi64, @mesh, [{mb,dp},{}]> {role = "tokens"} : tensor<2x8xi64>
    %ids = spmd.input "input_ids" of !spmd.tensor<8x8xi64, @mesh, [{mb,dp},{}]> {role = "tokens"} : tensor<2x8xi64>
    // CHECK: %[[W:.*]] = spmd.view @params.0[64] : tensor<4x8xf32>
    %w = spmd.view @params.0[64] : tensor<4x8xf32>
    // CHECK: spmd.all_reduce sum %[[W]] over ["tp"] : tensor<4x8xf32>
    %z = spmd.all_reduce sum %w over ["tp"] : tensor<4x8xf32>
    // CHECK: spmd.reduce_scatter max %{{.*}} dim 1 over ["tp"] : tensor<4x8xf32> -> tensor<4x4xf32>
    %s = spmd.reduce_scatter max %z dim 1 over ["tp"] : tensor<4x8xf32> -> tensor<4x4xf32>
    // CHECK: spmd.all_gather %{{.*}} dim 1 over ["tp"] : tensor<4x4xf32> -> tensor<4x8xf32>
    %g = spmd.all_gather %s dim 1 over ["tp"] : tensor<4x4xf32> -> tensor<4x8xf32>
    // CHECK: spmd.all_to_all %{{.*}} from 0 to 1 over ["dp", "tp"] : tensor<4x8xf32> -> tensor<16x2xf32>
    %a = spmd.all_to_all %g from 0 to 1 over ["dp", "tp"] : tensor<4x8xf32> -> tensor<16x2xf32>
    // CHECK: spmd.local_slice %{{.*}} dim 0 over ["mb", "dp"] : tensor<16x2xf32> -> tensor<4x2xf32>
    %l = spmd.local_slice %a dim 0 over ["mb", "dp"] : tensor<16x2xf32> -> tensor<4x2xf32>
    // CHECK: spmd.shift %{{.*}} over ["dp", "tp"] : tensor<16x2xf32>
    %n = spmd.shift %a over ["dp", "tp"] : tensor<16x2xf32>
    // CHECK: spmd.zero_fill %[[MASK]] over ["tp"] : tensor<4x8xf32>
    %f = spmd.zero_fill %mask over ["tp"] : tensor<4x8xf32>
    // CHECK: spmd.accumulate %{{.*}} into @grads.0[64] : tensor<4x8xf32>
    spmd.accumulate %f into @grads.0[64] : tensor<4x8xf32>
    // CHECK: spmd.store %{{.*}} into @buffers.0[0] : tensor<4x8xf32>
    spmd.store %f into @buffers.0[0] : tensor<4x8xf32>
  }
  // CHECK: spmd.phase @update {
  spmd.phase @update {
    %g = spmd.view @grads.0[0] : tensor<128xf32>
    %share = spmd.reduce_scatter sum %g dim 0 over ["dp"] : tensor<128xf32> -> tensor<64xf32>
    // CHECK: %[[SQ:.*]] = spmd.sum_squares %{{.*}} : (tensor<64xf32>) -> tensor<f32>
    %sq = spmd.sum_squares %share : (tensor<64xf32>) -> tensor<f32>
    %all = spmd.all_reduce sum %sq over ["dp", "tp"] : tensor<f32>
    %sum = spmd.view @scalars[0] : tensor<f32>
    %count = spmd.view @scalars[1] : tensor<f32>
    // CHECK: %[[NORM:.*]], %[[SCALE:.*]] = spmd.grad_scale %{{.*}}, %{{.*}} {clip = 1.000000e+00 : f64}
    %norm, %scale = spmd.grad_scale %all, %count {clip = 1.0 : f64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    // CHECK: spmd.mean_scale %{{.*}}, %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %early = spmd.mean_scale %sum, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
    // CHECK: spmd.update_bucket @params.0, %{{.*}}, %[[SCALE]] slots [@slots.0.0] flat ["dp"] optimizer("any") : tensor<64xf32>, tensor<f32>
    spmd.update_bucket @params.0, %share, %scale slots [@slots.0.0] flat ["dp"] optimizer("any") : tensor<64xf32>, tensor<f32>
    // CHECK: spmd.gather_bucket @params.0 over ["dp"]
    spmd.gather_bucket @params.0 over ["dp"]
    // A copy in a narrower type is written beside the masters, and is what travels.
    // CHECK: spmd.update_bucket @params.0, %{{.*}}, %[[SCALE]] slots [@slots.0.0] flat ["dp"] copy @compute.0 optimizer("any")
    spmd.update_bucket @params.0, %share, %scale slots [@slots.0.0] flat ["dp"] copy @compute.0 optimizer("any") : tensor<64xf32>, tensor<f32>
    // An optimizer of whole tensors steps in parts.
    // CHECK: %[[U:.*]] = spmd.make_direction @params.0, %{{.*}}, %[[SCALE]] slots [@slots.0.0] flat ["dp"] optimizer("any") : tensor<64xf32>, tensor<f32> -> tensor<64xf32>
    %u = spmd.make_direction @params.0, %share, %scale slots [@slots.0.0] flat ["dp"] optimizer("any") : tensor<64xf32>, tensor<f32> -> tensor<64xf32>
    // CHECK: %[[Q:.*]] = spmd.tensor_squares @params.0, %[[U]] flat ["dp"] : (tensor<64xf32>) -> tensor<4xf32>
    %q = spmd.tensor_squares @params.0, %u flat ["dp"] : (tensor<64xf32>) -> tensor<4xf32>
    // CHECK: spmd.apply_direction @params.0, %[[U]], %[[SCALE]] squares %[[Q]] : tensor<4xf32> flat ["dp"] copy @compute.0 optimizer("any") : tensor<64xf32>, tensor<f32>
    spmd.apply_direction @params.0, %u, %scale squares %q : tensor<4xf32> flat ["dp"] copy @compute.0 optimizer("any") : tensor<64xf32>, tensor<f32>
    // CHECK: %[[F:.*]] = spmd.factor_squares @params.0, %{{.*}}, %[[SCALE]] flat ["dp"] : tensor<64xf32>, tensor<f32> -> tensor<12xf32>
    %f = spmd.factor_squares @params.0, %share, %scale flat ["dp"] : tensor<64xf32>, tensor<f32> -> tensor<12xf32>
    // CHECK: spmd.make_direction @params.0, %{{.*}}, %[[SCALE]] slots [@factors.0] squares %[[F]] : tensor<12xf32> flat ["dp"] optimizer("any")
    %uf = spmd.make_direction @params.0, %share, %scale slots [@factors.0] squares %f : tensor<12xf32> flat ["dp"] optimizer("any") : tensor<64xf32>, tensor<f32> -> tensor<64xf32>
    %bucket = spmd.all_gather %u dim 0 over ["dp"] : tensor<64xf32> -> tensor<128xf32>
    %whole = spmd.all_gather %bucket dim 0 over ["tp"] : tensor<128xf32> -> tensor<256xf32>
    // CHECK: %[[O:.*]] = spmd.orthogonalize @params.0, %{{.*}} over ["tp"] flat ["dp"] optimizer("any") : (tensor<256xf32>) -> tensor<64xf32>
    %o = spmd.orthogonalize @params.0, %whole over ["tp"] flat ["dp"] optimizer("any") : (tensor<256xf32>) -> tensor<64xf32>
    // CHECK: spmd.apply_direction @params.0, %[[O]], %[[SCALE]] flat ["dp"] optimizer("any") : tensor<64xf32>, tensor<f32>
    spmd.apply_direction @params.0, %o, %scale flat ["dp"] optimizer("any") : tensor<64xf32>, tensor<f32>
    // CHECK: spmd.average_bucket @params.0 into @slots.0.0 decay 0.9{{[0-9]+}} flat ["dp"]
    spmd.average_bucket @params.0 into @slots.0.0 decay 0.99 flat ["dp"]
    // CHECK: spmd.exchange_average @params.0 with @slots.0.0 flat ["dp"] copy @compute.0
    spmd.exchange_average @params.0 with @slots.0.0 flat ["dp"] copy @compute.0
    // CHECK: spmd.gather_bucket @compute.0 over ["dp"]
    spmd.gather_bucket @compute.0 over ["dp"]
    // CHECK: spmd.view @compute.0[0] : tensor<4x8xbf16>
    %narrow = spmd.view @compute.0[0] : tensor<4x8xbf16>
    // CHECK: spmd.report loss_sum %{{.*}}, count %{{.*}}, grad_norm %[[NORM]] : tensor<f32>, tensor<f32>, tensor<f32>
    spmd.report loss_sum %sum, count %count, grad_norm %norm : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
