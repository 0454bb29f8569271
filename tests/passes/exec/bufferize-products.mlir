// RUN: dtcc-opt --exec-bufferize %s | FileCheck %s

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>]
spmd.bucket parameter @params.0 : 4096 x bf16
spmd.bucket gradient @grads.0 : 4096 x f32 of @params.0
spmd.program @step mesh @mesh {

// Factors as matrices, the bias as a vector of all letters that stand last; result and what gelu was taken of.
// CHECK-LABEL: exec.phase @forward
// CHECK: exec.library "matmul_epilogue" ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<1x8x16xbf16>, memref<1x16x24xbf16>, memref<24xbf16>) outs(%{{.*}}, %{{.*}} : memref<1x8x24xbf16>, memref<1x8x24xbf16>) [0, 1, 2, -1] {flops = 6.144000e+03 : f64, name = "product"}
  spmd.phase @forward repeat 2 {
    %x = spmd.view @params.0[1024] : tensor<2x4x16xbf16>
    %w = spmd.view @params.0[0] : tensor<16x3x8xbf16>
    %b = spmd.view @params.0[512] : tensor<3x8xbf16>
    %y, %kept = exec.product "abc,cde->abde" %x, %w bias %b : tensor<3x8xbf16> gelu : tensor<2x4x16xbf16>, tensor<16x3x8xbf16> -> tensor<2x4x3x8xbf16> keeps tensor<2x4x3x8xbf16>
    %wide = graph.contract "abde,abde->de" %y, %kept : (tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>) -> tensor<3x8xf32>
    spmd.accumulate %wide into @grads.0[0] : tensor<3x8xf32>
  }

// What the slope is taken at must lie by rows of a multiple of 8: a transposed view is copied.
// CHECK-LABEL: exec.phase @slope
// CHECK: exec.copy ins(%{{.*}} : memref<8x16xbf16, strided<[1, 8]>>) outs(%[[AT:.*]] : memref<8x16xbf16>) {name = "pack"}
// CHECK: exec.library "matmul_epilogue" ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<1x8x4xbf16>, memref<1x4x16xbf16>, memref<1x8x16xbf16>) outs(%{{.*}} : memref<1x8x16xbf16>) [0, 0, 3, -1]
  spmd.phase @slope repeat 2 {
    %x = spmd.view @params.0[0] : tensor<8x4xbf16>
    %w = spmd.view @params.0[64] : tensor<4x16xbf16>
    %at = spmd.view @params.0[128] : tensor<16x8xbf16>
    %turned = graph.transpose %at [1, 0] : (tensor<16x8xbf16>) -> tensor<8x16xbf16>
    %y = exec.product "ab,bc->ac" %x, %w slope %turned : tensor<8x16xbf16> : tensor<8x4xbf16>, tensor<4x16xbf16> -> tensor<8x16xbf16>
    %sum = graph.contract "ac,ac->c" %y, %turned : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<16xf32>
    spmd.accumulate %sum into @grads.0[64] : tensor<16xf32>
  }

// The gradients of a weight and its bias are added to their buckets by the product; of a weight that is stored the other
// way round, too.
// CHECK-LABEL: exec.phase @gradient
// CHECK: exec.library "matmul_epilogue" ins({{.*}}) outs(%{{.*}}, %{{.*}} : memref<1x4x16xf32>, memref<16xf32>) [2, 0, 0, 2] {flops = 1.024000e+03 : f64, name = "product", updates}
// CHECK: exec.library "matmul_epilogue" ins({{.*}}) outs(%{{.*}}, %{{.*}} : memref<1x4x16xf32, strided<[1, 1, 4]>>, memref<16xf32>) [2, 0, 0, 2]
// CHECK-NOT: exec.kernel
  spmd.phase @gradient repeat 2 {
    %x = spmd.view @params.0[0] : tensor<8x4xbf16>
    %dy = spmd.view @params.0[64] : tensor<8x16xbf16>
    %dw, %db = exec.product "ab,ac->bc" %x, %dy : tensor<8x4xbf16>, tensor<8x16xbf16> -> tensor<4x16xf32> sums tensor<16xf32>
    spmd.accumulate %dw into @grads.0[128] : tensor<4x16xf32>
    spmd.accumulate %db into @grads.0[256] : tensor<16xf32>
    %dv, %dc = exec.product "ab,ac->cb" %x, %dy : tensor<8x4xbf16>, tensor<8x16xbf16> -> tensor<16x4xf32> sums tensor<16xf32>
    spmd.accumulate %dv into @grads.0[512] : tensor<16x4xf32>
    spmd.accumulate %dc into @grads.0[640] : tensor<16xf32>
  }

// A command reads all that it writes or nothing: where one of two is added elsewhere, both are made first.
// CHECK-LABEL: exec.phase @apart
// CHECK: exec.library "matmul_epilogue" ins({{.*}}) outs(%{{.*}}, %{{.*}} : memref<1x4x16xf32>, memref<16xf32>) [0, 0, 0, 0]
// CHECK: exec.kernel @accumulate
  spmd.phase @apart repeat 2 {
    %x = spmd.view @params.0[0] : tensor<8x4xbf16>
    %dy = spmd.view @params.0[64] : tensor<8x16xbf16>
    %dw, %db = exec.product "ab,ac->bc" %x, %dy : tensor<8x4xbf16>, tensor<8x16xbf16> -> tensor<4x16xf32> sums tensor<16xf32>
    spmd.accumulate %dw into @grads.0[1024] : tensor<4x16xf32>
    %squares = graph.contract "c,c->" %db, %db : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
    spmd.accumulate %squares into @grads.0[1280] : tensor<f32>
  }

// Images with channels between samples and pixels are a batch of products that share the weight, which repeats with stride
// 0; nothing is copied. A few pixels a sample are copied to one matrix instead.
// CHECK-LABEL: exec.phase @pixels
// CHECK-NOT: exec.copy
// CHECK: exec.library "matmul" ins(%{{.*}}, %{{.*}} : memref<2x144x4xbf16, strided<[576, 1, 144]>>, memref<2x4x8xbf16, strided<[0, 8, 1]>>) outs(%{{.*}} : memref<2x144x8xbf16>) [0, 0]
// CHECK-NOT: exec.copy
// CHECK-LABEL: exec.phase @fewPixels
// CHECK: exec.copy {{.*}} {name = "pack"}
// CHECK: exec.library "matmul" ins(%{{.*}}, %{{.*}} : memref<1x32x4xbf16, strided<[1, 1, 32]>>, memref<1x4x8xbf16>)
  spmd.phase @pixels repeat 2 {
    %x = spmd.view @params.0[0] : tensor<2x4x12x12xbf16>
    %w = spmd.view @params.0[2048] : tensor<4x8xbf16>
    %last = graph.transpose %x [0, 2, 3, 1] : (tensor<2x4x12x12xbf16>) -> tensor<2x12x12x4xbf16>
    %y = graph.contract "nhwc,co->nhwo" %last, %w : (tensor<2x12x12x4xbf16>, tensor<4x8xbf16>) -> tensor<2x12x12x8xbf16>
    %first = graph.transpose %y [0, 3, 1, 2] : (tensor<2x12x12x8xbf16>) -> tensor<2x8x12x12xbf16>
    %squares = graph.contract "nohw,nohw->o" %first, %first : (tensor<2x8x12x12xbf16>, tensor<2x8x12x12xbf16>) -> tensor<8xf32>
    spmd.accumulate %squares into @grads.0[1280] : tensor<8xf32>
  }
  spmd.phase @fewPixels repeat 2 {
    %x = spmd.view @params.0[0] : tensor<2x4x4x4xbf16>
    %w = spmd.view @params.0[2048] : tensor<4x8xbf16>
    %last = graph.transpose %x [0, 2, 3, 1] : (tensor<2x4x4x4xbf16>) -> tensor<2x4x4x4xbf16>
    %y = graph.contract "nhwc,co->nhwo" %last, %w : (tensor<2x4x4x4xbf16>, tensor<4x8xbf16>) -> tensor<2x4x4x8xbf16>
    %squares = graph.contract "nhwo,nhwo->o" %y, %y : (tensor<2x4x4x8xbf16>, tensor<2x4x4x8xbf16>) -> tensor<8xf32>
    spmd.accumulate %squares into @grads.0[1536] : tensor<8xf32>
  }
}
