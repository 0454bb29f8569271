// RUN: dtcc-opt %s -exec-bufferize -cse | FileCheck %s
// Convolutions have three spatial dimensions and a group; gradients of kernels are added up where they are stored.

spmd.mesh @mesh [#spmd.axis<"mb", 2, time>]
spmd.bucket parameter @params : 48 x f32
spmd.bucket gradient @grads : 48 x f32 of @params
spmd.bucket buffer @buffers : 16 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch repeat 2 {
    %x = spmd.input "x" of !spmd.tensor<4x3x9xf32, @mesh, [{mb}, {}, {}]> : tensor<2x3x9xf32>
    %k = spmd.view @params[0] : tensor<4x3x3xf32>
    // CHECK: exec.library "convolution" ins(%{{.*}}, %{{.*}} : memref<2x1x3x1x1x9xf32>, memref<1x4x3x1x1x3xf32>) outs(%{{.*}} : memref<2x1x4x1x1x5xf32>) [1, 1, 2, 1, 1, 1, 0, 0, 1]
    %y = graph.convolution %x, %k {strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 1>} : (tensor<2x3x9xf32>, tensor<4x3x3xf32>) -> tensor<2x4x5xf32>
    // CHECK: exec.library "max_pool" ins(%{{.*}} : memref<2x4x1x1x5xf32>) outs(%{{.*}} : memref<2x4x1x1x2xf32>) [1, 1, 2, 1, 1, 2, 1, 1, 1, 0, 0, 0]
    %p = graph.max_pool %y {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>} : (tensor<2x4x5xf32>) -> tensor<2x4x2xf32>
    // CHECK: exec.library "max_pool_grad" ins(%{{.*}}, %{{.*}} : memref<2x4x1x1x2xf32>, memref<2x4x1x1x5xf32>)
    %d = graph.max_pool_grad %p, %y {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>} : (tensor<2x4x2xf32>, tensor<2x4x5xf32>) -> tensor<2x4x5xf32>
    // CHECK: %[[G:.*]] = exec.view @grads[0] : memref<1x4x3x1x1x3xf32>
    // CHECK: exec.library "convolution_kernel_grad" ins(%{{.*}}, %{{.*}} : memref<2x1x4x1x1x5xf32>, memref<2x1x3x1x1x9xf32>) outs(%[[G]] : memref<1x4x3x1x1x3xf32>) [1, 1, 2, 1, 1, 1, 0, 0, 1, 2]
    %dk = graph.convolution_kernel_grad %d, %x {strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 1>} : (tensor<2x4x5xf32>, tensor<2x3x9xf32>) -> tensor<4x3x3xf32>
    spmd.accumulate %dk into @grads[0] : tensor<4x3x3xf32>
    // CHECK: exec.library "convolution_input_grad"
    %dx = graph.convolution_input_grad %d, %k {strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 1>} : (tensor<2x4x5xf32>, tensor<4x3x3xf32>) -> tensor<2x3x9xf32>
    %part = graph.slice %dx [0, 0, 0] [1, 1, 1] : (tensor<2x3x9xf32>) -> tensor<1x1x4xf32>
    // CHECK: %[[B:.*]] = exec.view @buffers[0] : memref<1x1x4xf32>
    // CHECK: exec.copy {{.*}} outs(%[[B]] : memref<1x1x4xf32>)
    spmd.store %part into @buffers[0] : tensor<1x1x4xf32>
  }
}
