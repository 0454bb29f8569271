// RUN: dtcc-opt --exec-bufferize=row-alignment=128 %s | FileCheck %s
// RUN: dtcc-opt --exec-bufferize %s | FileCheck %s --check-prefix=DENSE --implicit-check-not='strided<[2080'

// Rows of 2051 logits are 8204 bytes of f32 and 4102 of bf16: they stand 8320 and 4224 apart. Statistics and gradients are
// taken of such rows, and products read them as they are.
// CHECK-LABEL: exec.program @step
// CHECK-DAG: exec.buffer @contract_0 {{.*}}133120
// CHECK-DAG: exec.buffer @cross_entropy_grad_0 {{.*}}67584
// CHECK: exec.library "matmul" {{.*}} outs(%{{.*}} : memref<1x16x2051xf32, strided<[{{[0-9]+}}, 2080, 1]>>)
// CHECK: exec.library "cross_entropy_stats" ins(%{{.*}}, %{{.*}} : memref<16x2051xf32, strided<[2080, 1]>>, memref<16xi64>)
// CHECK: exec.library "cross_entropy_grad" ins(%{{.*}} : memref<16x2051xf32, strided<[2080, 1]>>, {{.*}}) outs(%{{.*}} : memref<16x2051xbf16, strided<[2112, 1]>>)
// CHECK: exec.library "matmul" ins(%{{.*}}, %{{.*}} : memref<1x16x2051xbf16, strided<[{{[0-9]+}}, 2112, 1]>>, memref<1x2051x8xbf16>)
// CHECK: exec.library "matmul" ins(%{{.*}}, %{{.*}} : memref<1x2051x16xbf16, strided<[{{[0-9]+}}, 1, 2112]>>, memref<1x16x8xbf16>)
// CHECK-NOT: exec.copy

// DENSE: exec.library "cross_entropy_grad" ins(%{{.*}} : memref<16x2051xf32>, {{.*}}) outs(%{{.*}} : memref<16x2051xbf16>)
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>]
spmd.bucket parameter @params.0 : 16408 x bf16
spmd.bucket gradient @grads.0 : 16408 x f32 of @params.0
spmd.bucket scalar @scalars : 16 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.view @params.0[0] : tensor<2x8x8xbf16>
    %w = spmd.view @params.0[0] : tensor<2051x8xbf16>
    %labels = spmd.input "labels" of !spmd.tensor<2x8xi64, @mesh, [{}, {}]> : tensor<2x8xi64>
    %logits = graph.contract "btc,vc->btv" %x, %w : (tensor<2x8x8xbf16>, tensor<2051x8xbf16>) -> tensor<2x8x2051xf32>
    %max, %sum, %target = graph.cross_entropy_stats %logits, %labels {classes = 2051 : i64}
        : (tensor<2x8x2051xf32>, tensor<2x8xi64>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
    %loss, %count, %lse = graph.cross_entropy_loss %max, %sum, %target, %labels
        : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x8xf32>)
    spmd.accumulate %loss into @scalars[0] : tensor<f32>
    %dlogits = graph.cross_entropy_grad %logits, %labels, %lse
        : (tensor<2x8x2051xf32>, tensor<2x8xi64>, tensor<2x8xf32>) -> tensor<2x8x2051xbf16>
    %dx = graph.contract "btv,vc->btc" %dlogits, %w : (tensor<2x8x2051xbf16>, tensor<2051x8xbf16>) -> tensor<2x8x8xf32>
    %dw = graph.contract "btv,btc->vc" %dlogits, %x : (tensor<2x8x2051xbf16>, tensor<2x8x8xbf16>) -> tensor<2051x8xf32>
    spmd.accumulate %dw into @grads.0[0] : tensor<2051x8xf32>
    %squares = graph.contract "btc,btc->" %dx, %dx : (tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<f32>
    spmd.accumulate %squares into @scalars[1] : tensor<f32>
  }
}
