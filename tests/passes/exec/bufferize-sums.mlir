// RUN: dtcc-opt --exec-bufferize=splits-sums %s | FileCheck %s
// RUN: dtcc-opt --exec-bufferize %s | FileCheck %s --check-prefix=COPIES

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>]
spmd.bucket parameter @params.0 : 4096 x f32
spmd.bucket gradient @grads.0 : 4096 x f32 of @params.0
spmd.bucket parameter @params.1 : 4096 x bf16
spmd.program @step mesh @mesh {

// The gradient of a kernel of one pixel sums over samples and pixels, between which channels lie: a product for each of
// two samples, the second added to the first.
// CHECK-LABEL: exec.phase @backward
// CHECK-NOT: exec.copy
// CHECK: exec.library "matmul" ins(%{{.*}}, %{{.*}} : memref<1x2x576xf32>, memref<1x576x1xf32>) outs(%{{.*}} : memref<1x2x1xf32>) [2, 0] {flops = 2.304000e+03 : f64
// CHECK: exec.library "matmul" ins(%{{.*}}, %{{.*}} : memref<1x2x576xf32>, memref<1x576x1xf32>) outs(%{{.*}} : memref<1x2x1xf32>) [1, 0] {flops = 2.304000e+03 : f64

// COPIES-LABEL: exec.phase @backward
// COPIES: exec.copy {{.*}} {name = "pack"}
// COPIES: exec.library "matmul" ins(%{{.*}}, %{{.*}} : memref<1x2x1152xf32>, memref<1x1152x1xf32>)
// COPIES-LABEL: exec.phase @fewPixels
  spmd.phase @backward repeat 2 {
    %x = spmd.view @params.0[0] : tensor<2x1x24x24xf32>
    %dy = spmd.view @params.0[1536] : tensor<2x2x24x24xf32>
    %dw = graph.contract "nohw,nchw->oc" %dy, %x : (tensor<2x2x24x24xf32>, tensor<2x1x24x24xf32>) -> tensor<2x1xf32>
    spmd.accumulate %dw into @grads.0[0] : tensor<2x1xf32>
  }

// Sums of a few pixels would pass over the result too often: the samples are copied to one matrix. So would a result of
// 16 bits be rounded too often.
// CHECK-LABEL: exec.phase @fewPixels
// CHECK: exec.copy {{.*}} {name = "pack"}
// CHECK: exec.library "matmul" ins(%{{.*}}, %{{.*}} : memref<1x2x128xf32>, memref<1x128x1xf32>)
  spmd.phase @fewPixels repeat 2 {
    %x = spmd.view @params.0[0] : tensor<2x1x8x8xf32>
    %dy = spmd.view @params.0[1536] : tensor<2x2x8x8xf32>
    %dw = graph.contract "nohw,nchw->oc" %dy, %x : (tensor<2x2x8x8xf32>, tensor<2x1x8x8xf32>) -> tensor<2x1xf32>
    spmd.accumulate %dw into @grads.0[0] : tensor<2x1xf32>
  }

// CHECK-LABEL: exec.phase @halves
// CHECK: exec.copy {{.*}} {name = "pack"}
  spmd.phase @halves repeat 2 {
    %x = spmd.view @params.1[0] : tensor<2x1x24x24xbf16>
    %dy = spmd.view @params.1[1536] : tensor<2x2x24x24xbf16>
    %dw = graph.contract "nohw,nchw->oc" %dy, %x : (tensor<2x2x24x24xbf16>, tensor<2x1x24x24xbf16>) -> tensor<2x1xbf16>
    %squares = graph.contract "oc,oc->c" %dw, %dw : (tensor<2x1xbf16>, tensor<2x1xbf16>) -> tensor<1xf32>
    spmd.accumulate %squares into @grads.0[0] : tensor<1xf32>
  }
}
