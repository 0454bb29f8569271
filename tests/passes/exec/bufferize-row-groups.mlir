// RUN: dtcc-opt --exec-bufferize --split-input-file %s | FileCheck %s

// The loss takes positions 1 to 6 of 8. The rows of such logits come in groups with gaps between them, and the library takes
// rows at one distance: it reads a copy. The gradient is written to memory of its own, and all who read it read it there.
// CHECK-LABEL: exec.program @step
// CHECK: exec.library "cross_entropy_grad" {{.*}} outs(%[[ROWS:.*]] : memref<12x5xf32>)
// CHECK: %[[FROM:.*]] = exec.view @[[BUFFER:cross_entropy_grad_0]][0] : memref<2x6x5xf32>
// CHECK: exec.copy ins(%[[FROM]] : memref<2x6x5xf32>) outs(%{{.*}} : memref<2x6x5xf32, strided<[40, 5, 1]>>)
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
spmd.bucket parameter @params.0 : 128 x f32
spmd.bucket gradient @grads.0 : 128 x f32 of @params.0
spmd.bucket scalar @scalars : 16 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.view @params.0[0] : tensor<2x8x8xf32>
    %w = spmd.view @params.0[0] : tensor<5x8xf32>
    %labels = spmd.input "labels" of !spmd.tensor<2x6xi64, @mesh, [{}, {}]> : tensor<2x6xi64>
    %all = graph.contract "btc,vc->btv" %x, %w : (tensor<2x8x8xf32>, tensor<5x8xf32>) -> tensor<2x8x5xf32>
    %logits = graph.slice %all [0, 1, 0] [1, 1, 1] : (tensor<2x8x5xf32>) -> tensor<2x6x5xf32>
    %max, %sum, %target = graph.cross_entropy_stats %logits, %labels {classes = 5 : i64}
        : (tensor<2x6x5xf32>, tensor<2x6xi64>) -> (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>)
    %loss, %count, %lse = graph.cross_entropy_loss %max, %sum, %target, %labels
        : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x6xf32>)
    spmd.accumulate %loss into @scalars[0] : tensor<f32>
    %dlogits = graph.cross_entropy_grad %logits, %labels, %lse
        : (tensor<2x6x5xf32>, tensor<2x6xi64>, tensor<2x6xf32>) -> tensor<2x6x5xf32>
    %dall = graph.pad %dlogits [0, 1, 0] [0, 1, 0] 0.0 : (tensor<2x6x5xf32>) -> tensor<2x8x5xf32>
    %dw = graph.contract "btv,btc->vc" %dall, %x : (tensor<2x8x5xf32>, tensor<2x8x8xf32>) -> tensor<5x8xf32>
    spmd.accumulate %dw into @grads.0[0] : tensor<5x8xf32>
  }
}

// -----

// The classes of each pixel of an image lie a whole image apart. With one image all pixels are rows at one distance, and still
// the library cannot work in their place.
// CHECK-LABEL: exec.program @step
// CHECK: exec.library "cross_entropy_grad" {{.*}} outs(%{{.*}} : memref<12x5xf32>)
// CHECK: %[[FROM:.*]] = exec.view @cross_entropy_grad_0[0] : memref<1x3x4x5xf32>
// CHECK: exec.kernel {{.*}} ins(%[[FROM]] : memref<1x3x4x5xf32>)
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
spmd.bucket parameter @params.0 : 64 x f32
spmd.bucket gradient @grads.0 : 64 x f32 of @params.0
spmd.bucket scalar @scalars : 16 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.view @params.0[0] : tensor<1x5x3x4xf32>
    %labels = spmd.input "labels" of !spmd.tensor<1x3x4xi64, @mesh, [{}, {}, {}]> : tensor<1x3x4xi64>
    %double = exec.fused(%x) : (tensor<1x5x3x4xf32>) -> tensor<1x5x3x4xf32> {
    ^bb0(%a: tensor<1x5x3x4xf32>):
      %sum = graph.add %a, %a : (tensor<1x5x3x4xf32>, tensor<1x5x3x4xf32>) -> tensor<1x5x3x4xf32>
      exec.yield %sum : tensor<1x5x3x4xf32>
    }
    %logits = graph.transpose %double [0, 2, 3, 1] : (tensor<1x5x3x4xf32>) -> tensor<1x3x4x5xf32>
    %max, %sum, %target = graph.cross_entropy_stats %logits, %labels {classes = 5 : i64}
        : (tensor<1x3x4x5xf32>, tensor<1x3x4xi64>) -> (tensor<1x3x4xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>)
    %loss, %count, %lse = graph.cross_entropy_loss %max, %sum, %target, %labels
        : (tensor<1x3x4xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>, tensor<1x3x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<1x3x4xf32>)
    spmd.accumulate %loss into @scalars[0] : tensor<f32>
    %dlogits = graph.cross_entropy_grad %logits, %labels, %lse
        : (tensor<1x3x4x5xf32>, tensor<1x3x4xi64>, tensor<1x3x4xf32>) -> tensor<1x3x4x5xf32>
    %total = exec.fused(%dlogits) : (tensor<1x3x4x5xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<1x3x4x5xf32>):
      %all = graph.reduce sum %a [0, 1, 2, 3] : (tensor<1x3x4x5xf32>) -> tensor<f32>
      exec.yield %all : tensor<f32>
    }
    spmd.accumulate %total into @scalars[1] : tensor<f32>
  }
}
