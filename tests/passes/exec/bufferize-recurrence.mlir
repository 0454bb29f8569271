// RUN: dtcc-opt %s -exec-fuse -exec-bufferize -cse | FileCheck %s
// A recurrent layer is one command. What it saves takes the place of its projected inputs, and the gradient of these that of
// what was saved, where nobody reads them later.

spmd.mesh @mesh [#spmd.axis<"mb", 1, time>]
spmd.bucket parameter @params : 48 x f32
spmd.bucket buffer @buffers : 128 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.input "x" of !spmd.tensor<5x2x4x3xf32, @mesh, [{}, {}, {}, {}]> : tensor<5x2x4x3xf32>
    %s = spmd.input "s" of !spmd.tensor<2x3xf32, @mesh, [{}, {}]> : tensor<2x3xf32>
    %d = spmd.input "d" of !spmd.tensor<5x2x3xf32, @mesh, [{}, {}, {}]> : tensor<5x2x3xf32>
    %w = spmd.view @params[0] : tensor<4x3x3xf32>
    %p = graph.add %x, %x : (tensor<5x2x4x3xf32>, tensor<5x2x4x3xf32>) -> tensor<5x2x4x3xf32>
    // CHECK: exec.kernel {{.*}} outs(%[[P:.*]] : memref<5x2x4x3xf32>)
    // CHECK: exec.library "recurrence" ins(%[[P]], %{{.*}}, %[[S:.*]], %[[S]] : memref<5x2x4x3xf32>, memref<4x3x3xf32>, memref<2x3xf32>, memref<2x3xf32>) outs(%[[H:.*]], %[[C:.*]], %[[P]] : memref<5x2x3xf32>, memref<5x2x3xf32>, memref<5x2x4x3xf32>) [2, 0, 0]
    %h, %c, %g = graph.recurrence lstm %p, %w, %s, %s : (tensor<5x2x4x3xf32>, tensor<4x3x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<5x2x4x3xf32>)
    // CHECK: exec.library "recurrence_grad" ins(%{{.*}}, %{{.*}}, %[[H]], %[[S]], %[[P]], %[[C]], %[[S]], %{{.*}} : {{.*}}) outs(%[[P]], %{{.*}}, %{{.*}} : memref<5x2x4x3xf32>, memref<2x3xf32>, memref<2x3xf32>) [2, 0, 0, 1]
    %dp, %ds, %dc = graph.recurrence_grad lstm %d, %w, %h, %s, %g memory(%c, %s, %d) : (tensor<5x2x3xf32>, tensor<4x3x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<5x2x4x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<5x2x3xf32>) -> (tensor<5x2x4x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    spmd.store %dp into @buffers[0] : tensor<5x2x4x3xf32>
  }
}

// A gru has a workspace for what its reset gate leaves of the state.
spmd.program @gru mesh @mesh {
  spmd.phase @microbatch {
    %p = spmd.input "x" of !spmd.tensor<5x2x3x3xf32, @mesh, [{}, {}, {}, {}]> : tensor<5x2x3x3xf32>
    %s = spmd.input "s" of !spmd.tensor<2x3xf32, @mesh, [{}, {}]> : tensor<2x3xf32>
    %w = spmd.view @params[0] : tensor<3x3x3xf32>
    // CHECK: exec.library "recurrence" ins({{.*}} : memref<5x2x3x3xf32>, memref<3x3x3xf32>, memref<2x3xf32>) outs(%[[H:.*]], %{{.*}} : memref<5x2x3xf32>, memref<5x2x3x3xf32>) workspace(%{{.*}} : memref<24xi8>) [3, 1, 0]
    %h, %g = graph.recurrence gru %p, %w, %s {reverse} : (tensor<5x2x3x3xf32>, tensor<3x3x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3x3xf32>)
    spmd.store %h into @buffers[0] : tensor<5x2x3xf32>
  }
}

// A program in 16 bits lets GPUs round the factors of a step's products.
spmd.program @rounds mesh @mesh {
  spmd.phase @microbatch {
    %p = spmd.input "x" of !spmd.tensor<5x2x1x3xf32, @mesh, [{}, {}, {}, {}]> : tensor<5x2x1x3xf32>
    %s = spmd.input "s" of !spmd.tensor<2x3xf32, @mesh, [{}, {}]> : tensor<2x3xf32>
    %d = spmd.input "d" of !spmd.tensor<5x2x3xf32, @mesh, [{}, {}, {}]> : tensor<5x2x3xf32>
    %w = spmd.view @params[0] : tensor<1x3x3xf32>
    // CHECK: exec.library "recurrence" {{.*}} [0, 0, 1]
    %h, %g = graph.recurrence tanh %p, %w, %s {product_type = bf16} : (tensor<5x2x1x3xf32>, tensor<1x3x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x1x3xf32>)
    // CHECK: exec.library "recurrence_grad" {{.*}} [0, 0, 1, 0]
    %dp, %ds = graph.recurrence_grad tanh %d, %w, %h, %s, %g {product_type = bf16} : (tensor<5x2x3xf32>, tensor<1x3x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<5x2x1x3xf32>) -> (tensor<5x2x1x3xf32>, tensor<2x3xf32>)
    spmd.store %dp into @buffers[0] : tensor<5x2x1x3xf32>
  }
}
