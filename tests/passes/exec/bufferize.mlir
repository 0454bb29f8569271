// RUN: dtcc-opt %s -exec-fuse -exec-bufferize -cse | FileCheck %s
// RUN: dtcc-opt %inputs/mlp.mlir -exec-fuse -exec-bufferize -cse | FileCheck %s --check-prefix=MLP

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
spmd.bucket parameter @params : 96 x f32
spmd.bucket gradient @grads : 96 x f32 of @params

// Two equal fused bodies over equal layouts are one function.
// CHECK-COUNT-1: graph.exp
// CHECK-LABEL: exec.program @step
spmd.program @step mesh @mesh {
  // CHECK: exec.phase @microbatch repeat 2
  spmd.phase @microbatch repeat 2 {
    %x = spmd.input "x" of !spmd.tensor<16x4x6xf32, @mesh, [{mb,dp}, {}, {}]> : tensor<4x4x6xf32>
    // The storage of a bucket is read where it lies.
    // CHECK: %[[W:.*]] = exec.view @params[0] : memref<1x6x16xf32>
    %w = spmd.view @params[0] : tensor<6x2x8xf32>
    // Rows b and t, columns s and h are one dimension each: no copies.
    // CHECK: %[[Y:.*]] = exec.view @[[YB:.*]][0] : memref<1x16x16xf32>
    // CHECK: exec.library "matmul" ins(%{{.*}}, %[[W]] : memref<1x16x6xf32>, memref<1x6x16xf32>) outs(%[[Y]] : memref<1x16x16xf32>) [0, 0]
    %y = graph.contract "btc,csh->btsh" %x, %w : (tensor<4x4x6xf32>, tensor<6x2x8xf32>) -> tensor<4x4x2x8xf32>
    // Parts of a value are strided views of it; results of kernels that are stacked are written in place.
    // CHECK-NOT: exec.copy
    // CHECK-DAG: %[[A:.*]] = exec.view @[[YB]][0] : memref<4x4x8xf32, strided<[64, 16, 1]>>
    // CHECK-DAG: %[[S0:.*]] = exec.view @[[STACK:.*]][0] : memref<4x4x8xf32, strided<[64, 16, 1]>>
    // CHECK: exec.kernel @[[EXP:.*]] ins(%[[A]] : {{.*}}) outs(%[[S0]] : {{.*}})
    // CHECK-DAG: %[[B:.*]] = exec.view @[[YB]][32] : memref<4x4x8xf32, strided<[64, 16, 1]>>
    // CHECK-DAG: %[[S1:.*]] = exec.view @[[STACK]][32] : memref<4x4x8xf32, strided<[64, 16, 1]>>
    // CHECK: exec.kernel @[[EXP]] ins(%[[B]] : {{.*}}) outs(%[[S1]] : {{.*}})
    %a, %b = graph.unstack %y {dim = 2 : i64} : (tensor<4x4x2x8xf32>) -> (tensor<4x4x8xf32>, tensor<4x4x8xf32>)
    %ea = exec.fused(%a) : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32> {
    ^bb0(%v: tensor<4x4x8xf32>):
      %e = graph.exp %v {origin = 1 : i64} : tensor<4x4x8xf32>
      exec.yield %e : tensor<4x4x8xf32>
    }
    %eb = exec.fused(%b) : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32> {
    ^bb0(%v: tensor<4x4x8xf32>):
      %e = graph.exp %v {origin = 2 : i64} : tensor<4x4x8xf32>
      exec.yield %e : tensor<4x4x8xf32>
    }
    %dy = graph.stack %ea, %eb {dim = 2 : i64} : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x2x8xf32>
    // A gradient is a product that adds to its bucket, transposed or not.
    // CHECK: %[[G:.*]] = exec.view @grads[0] : memref<1x6x16xf32>
    // CHECK: exec.library "matmul" ins({{.*}}) outs(%[[G]] : memref<1x6x16xf32>) [2, 0] {{.*}}updates
    // CHECK-NOT: exec.copy
    // CHECK: }
    %dw = graph.contract "btc,btsh->shc" %x, %dy : (tensor<4x4x6xf32>, tensor<4x4x2x8xf32>) -> tensor<2x8x6xf32>
    %t = graph.transpose %dw [2, 0, 1] : (tensor<2x8x6xf32>) -> tensor<6x2x8xf32>
    spmd.accumulate %t into @grads[0] : tensor<6x2x8xf32>
  }
  // CHECK: exec.phase @update
  spmd.phase @update {
    // The inner dimension is brought to the front for the collective, and back.
    // CHECK: exec.collective all_gather sum on @over.dp ins(%{{.*}} : memref<4x24xf32>) outs(%{{.*}} : memref<2x4x24xf32>)
    // CHECK: exec.copy ins(%{{.*}} : memref<2x4x24xf32>) outs(%{{.*}} : memref<2x4x24xf32, strided<[24, 48, 1]>>)
    %g = spmd.view @grads[0] : tensor<4x24xf32>
    %whole = spmd.all_gather %g dim 1 over ["dp"] : tensor<4x24xf32> -> tensor<4x48xf32>
    // This rank's slice of what it holds whole is a view.
    // CHECK: exec.view @{{.*}}[0] block 1 of @over.dp : memref<4x24xf32, strided<[48, 1]>>
    %own = spmd.local_slice %whole dim 1 over ["dp"] : tensor<4x48xf32> -> tensor<4x24xf32>
    %n = spmd.sum_squares %own : (tensor<4x24xf32>) -> tensor<f32>
    spmd.report loss_sum %n, count %n : tensor<f32>, tensor<f32>
  }
}

// The update works on the rank's share of the bucket; the gather is in place.
// MLP: %[[SHARE:.*]] = exec.view @params.0[0] block 0 of @over.dp : memref<80xf32>
// MLP: exec.library "adamw" ins({{.*}}) outs(%[[SHARE]], {{.*}}) [@params.0, @over.dp, {{.*}}updates
// MLP: exec.collective all_gather sum on @over.dp ins(%[[SHARE]] : memref<80xf32>) outs(%{{.*}} : memref<160xf32>)
