// RUN: dtcc-opt --exec-expand-composites --exec-fuse %s | FileCheck %s

// A residual sum and the norm after it are one kernel with two results that are read.
// CHECK-LABEL: spmd.phase @norm
// CHECK: exec.fused
// CHECK: graph.add
// CHECK: graph.rsqrt
// CHECK: exec.yield %{{.*}}, %{{.*}} : tensor<2x8xf32>, tensor<2x8xf32>
// CHECK-NOT: exec.fused
// CHECK: spmd.accumulate

// A reduction over rows and one over columns have no common loops.
// CHECK-LABEL: spmd.phase @rowsAndColumns
// CHECK-COUNT-2: exec.fused
// CHECK-NOT: exec.fused
// CHECK: spmd.accumulate

// %c reads %a by way of a product: %a and %c in one kernel would wait for themselves.
// CHECK-LABEL: spmd.phase @leavesAndReturns
// CHECK: exec.fused
// CHECK: graph.contract
// CHECK: exec.fused

// %c depends on %a by the order of effects alone: what it reads is gathered behind what %a is in. Together they would
// wait for themselves.
// CHECK-LABEL: spmd.phase @gatheredBehind
// CHECK: exec.fused
// CHECK: graph.exp
// CHECK: graph.contract
// CHECK: spmd.accumulate
// CHECK: spmd.gather_unit
// CHECK: exec.fused
// CHECK: graph.mul

// x[i] - x[j]: one kernel, which walks x in two ways and so takes it twice.
// CHECK-LABEL: spmd.phase @apart
// CHECK: %[[X:.*]] = spmd.view
// CHECK: exec.fused(%[[X]], %[[X]])
// CHECK: ^bb0(%[[I:.*]]: tensor<8xf32>, %[[J:.*]]: tensor<8xf32>):
// CHECK-DAG: graph.broadcast %[[I]] [0]
// CHECK-DAG: graph.broadcast %[[J]] [1]
// CHECK-NOT: exec.fused
// CHECK: spmd.accumulate

// %d is put into the kernel of %a, and reads a product of %b. In the kernel of %b, %e, which reads a product of %a, would
// wait for itself, though all that it reads stands before %b.
// CHECK-LABEL: spmd.phase @beginsBefore
// CHECK-COUNT-3: exec.fused
// CHECK: spmd.accumulate

// Of the gradient of a norm, what is as large as the norm's input is computed in the backward pass, where that input is
// read anyway; in the forward kernel, which has it, it would be kept between the two.
// CHECK-LABEL: spmd.phase @normOfBothPasses
// CHECK: exec.fused(%[[X:.*]], %{{.*}}) : {{.*}} -> (tensor<2xf32>, tensor<2x8xf32>) {
// CHECK: graph.rsqrt
// CHECK: graph.contract
// CHECK: exec.fused({{.*}}, %[[X]], {{.*}})
// CHECK-NOT: exec.fused
// CHECK: spmd.accumulate

// Where the sign of a value alone is read, it is found in the forward pass: a byte a cell is kept, not four.
// CHECK-LABEL: spmd.phase @signOfBothPasses
// CHECK: exec.fused
// CHECK: graph.tanh
// CHECK: graph.compare
// CHECK: graph.contract
// CHECK: exec.fused
// CHECK-NOT: graph.compare
// CHECK: spmd.accumulate

// What is computed again is in one kernel with the gradient that reads it and waits for gradients anyway.
// CHECK-LABEL: spmd.phase @again
// CHECK: exec.fused
// CHECK: graph.silu
// CHECK: graph.silu_grad
// CHECK-NOT: exec.fused
// CHECK: spmd.accumulate

// %c could be in the kernel of %a or of %b, and %b is there for it alone: one kernel.
// CHECK-LABEL: spmd.phase @forOneReader
// CHECK-COUNT-1: exec.fused
// CHECK-NOT: exec.fused
// CHECK: spmd.accumulate

// Two kernels that have a constant alone in common read nothing together: joined they would keep both inputs alive.
// CHECK-LABEL: spmd.phase @commonConstant
// CHECK: %[[X:.*]] = graph.contract
// CHECK: exec.fused(%[[X]])
// CHECK: %[[Y:.*]] = graph.contract
// CHECK: exec.fused(%[[Y]])

// What a message waits for is not in one kernel with what stands behind it.
// What makes dy and what makes x are one kernel, with both sums in it. With x alone, dy * x would stand in a kernel that
// waits for the sum of dy, because the difference to that sum reads dy and would stand there too.
// CHECK-LABEL: spmd.phase @sumsOfBoth
// CHECK: %[[SUMS:.*]]:4 = exec.fused
// CHECK: graph.relu_grad
// CHECK: graph.sub
// CHECK: graph.mul
// CHECK-COUNT-2: graph.reduce
// CHECK: exec.fused({{.*}}%[[SUMS]]#

// CHECK-LABEL: spmd.phase @sent
// CHECK: exec.fused
// CHECK: spmd.send
// CHECK: exec.fused
// CHECK: spmd.accumulate
spmd.mesh @mesh [#spmd.axis<"dp", 1, rank>, #spmd.axis<"pp", 2, rank>]
spmd.bucket parameter @params.0 : 128 x f32
spmd.bucket parameter @params.1 : 64 x f32 flat ["dp"]
spmd.bucket gradient @grads.0 : 128 x f32 of @params.0
spmd.program @step mesh @mesh {
  spmd.phase @norm {
    %x = spmd.view @params.0[0] : tensor<2x8xf32>
    %r = spmd.view @params.0[16] : tensor<2x8xf32>
    %s = spmd.view @params.0[32] : tensor<8xf32>
    %h = graph.add %x, %r : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %y, %rstd = graph.rms_norm %h, %s [1] {eps = 1.0e-5 : f64}
        : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2xf32>)
    spmd.accumulate %h into @grads.0[0] : tensor<2x8xf32>
    spmd.accumulate %y into @grads.0[16] : tensor<2x8xf32>
  }
  spmd.phase @rowsAndColumns {
    %x = spmd.view @params.0[0] : tensor<2x8xf32>
    %a = graph.reduce #graph<reduce_kind sum> %x [1] : (tensor<2x8xf32>) -> tensor<2xf32>
    %b = graph.reduce #graph<reduce_kind sum> %x [0] : (tensor<2x8xf32>) -> tensor<8xf32>
    spmd.accumulate %a into @grads.0[0] : tensor<2xf32>
    spmd.accumulate %b into @grads.0[16] : tensor<8xf32>
  }
  spmd.phase @leavesAndReturns {
    %x = spmd.view @params.0[0] : tensor<8x8xf32>
    %a = graph.exp %x : tensor<8x8xf32>
    %p = graph.contract "ab,bc->ac" %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %c = graph.add %a, %p : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    spmd.accumulate %c into @grads.0[0] : tensor<8x8xf32>
  }
  spmd.phase @gatheredBehind {
    %x = spmd.view @params.0[0] : tensor<8x8xf32>
    %a = graph.exp %x : tensor<8x8xf32>
    %p = graph.contract "ab,bc->ac" %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    spmd.accumulate %p into @grads.0[0] : tensor<8x8xf32>
    %u = spmd.gather_unit @params.1 over ["dp"] : tensor<64xf32>
    %w = spmd.unit_view %u[0] : tensor<64xf32> -> tensor<8x8xf32>
    %c = graph.mul %a, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    spmd.release %u : tensor<64xf32>
    spmd.accumulate %c into @grads.0[64] : tensor<8x8xf32>
  }
  spmd.phase @apart {
    %x = spmd.view @params.0[0] : tensor<8xf32>
    %i = graph.broadcast %x [0] : (tensor<8xf32>) -> tensor<8x8xf32>
    %j = graph.broadcast %x [1] : (tensor<8xf32>) -> tensor<8x8xf32>
    %d = graph.sub %i, %j : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    spmd.accumulate %d into @grads.0[0] : tensor<8x8xf32>
  }
  spmd.phase @beginsBefore {
    %x = spmd.view @params.0[0] : tensor<8x8xf32>
    %y = spmd.view @params.0[64] : tensor<8x8xf32>
    %a = graph.exp %x : tensor<8x8xf32>
    %p = graph.contract "ab,bc->ac" %a, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = graph.tanh %y : tensor<8x8xf32>
    %q = graph.contract "ab,bc->ac" %b, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %d = graph.add %a, %q : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %e = graph.mul %b, %p : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    spmd.accumulate %d into @grads.0[0] : tensor<8x8xf32>
    spmd.accumulate %e into @grads.0[64] : tensor<8x8xf32>
  }
  spmd.phase @normOfBothPasses {
    %x = spmd.view @params.0[0] : tensor<2x8xf32>
    %s = spmd.view @params.0[32] : tensor<8xf32>
    %w = spmd.view @params.0[64] : tensor<8x8xf32>
    %y, %rstd = graph.rms_norm %x, %s [1] {eps = 1.0e-5 : f64, origin = 1, phase = "F"}
        : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2xf32>)
    %dy = graph.contract "ab,bc->ac" %y, %w : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %dx = graph.rms_norm_grad %dy, %x, %s, %rstd [1] {origin = 1, phase = "I"}
        : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<2xf32>) -> tensor<2x8xf32>
    spmd.accumulate %dx into @grads.0[0] : tensor<2x8xf32>
  }
  spmd.phase @signOfBothPasses {
    %x = spmd.view @params.0[0] : tensor<8x8xf32>
    %zero = graph.constant {phase = "I"} dense<0.0> : tensor<8x8xf32> : tensor<8x8xf32>
    %a = graph.tanh %x {phase = "F"} : tensor<8x8xf32>
    %above = graph.compare gt %x, %zero {phase = "I"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
    %p = graph.contract "ab,bc->ac" %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %d = graph.select %above, %p, %zero {phase = "I"} : (tensor<8x8xi1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    spmd.accumulate %d into @grads.0[0] : tensor<8x8xf32>
  }
  spmd.phase @again {
    %x = spmd.view @params.0[0] : tensor<8x8xf32>
    %dy = graph.contract "ab,bc->ac" %x, %x {origin = 2, phase = "I"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %y = graph.silu %x {origin = 1, phase = "R"} : tensor<8x8xf32>
    %dx = graph.silu_grad %x, %dy {origin = 1, phase = "I"} : tensor<8x8xf32>
    spmd.accumulate %y into @grads.0[0] : tensor<8x8xf32>
    spmd.accumulate %dx into @grads.0[64] : tensor<8x8xf32>
  }
  spmd.phase @forOneReader {
    %x = spmd.view @params.0[0] : tensor<8x8xf32>
    %y = spmd.view @params.0[64] : tensor<8x8xf32>
    %b = graph.exp %x : tensor<8x8xf32>
    %a = graph.tanh %y : tensor<8x8xf32>
    %c = graph.mul %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    spmd.accumulate %c into @grads.0[0] : tensor<8x8xf32>
  }
  spmd.phase @commonConstant {
    %w = spmd.view @params.0[0] : tensor<8x8xf32>
    %zeros = graph.constant dense<0.0> : tensor<8x8xf32> : tensor<8x8xf32>
    %x = graph.contract "ab,bc->ac" %w, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %a = graph.max %x, %zeros : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %s = graph.reduce #graph<reduce_kind sum> %a [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
    spmd.accumulate %s into @grads.0[0] : tensor<f32>
    %y = graph.contract "ab,cb->ac" %w, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = graph.max %y, %zeros : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %t = graph.reduce #graph<reduce_kind sum> %b [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
    spmd.accumulate %t into @grads.0[1] : tensor<f32>
  }
  spmd.phase @sumsOfBoth {
    %a = spmd.view @params.0[0] : tensor<8x8xf32>
    %b = spmd.view @params.0[64] : tensor<8x8xf32>
    %mean = spmd.view @params.0[0] : tensor<8xf32>
    %x = graph.contract "ab,bc->ac" %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %dy = graph.relu_grad %a, %b : tensor<8x8xf32>
    %means = graph.broadcast %mean [1] : (tensor<8xf32>) -> tensor<8x8xf32>
    %centred = graph.sub %x, %means : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %product = graph.mul %dy, %centred : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %ofProduct = graph.reduce #graph<reduce_kind sum> %product [0] : (tensor<8x8xf32>) -> tensor<8xf32>
    %ofDy = graph.reduce #graph<reduce_kind sum> %dy [0] : (tensor<8x8xf32>) -> tensor<8xf32>
    %first = graph.broadcast %ofDy [1] : (tensor<8xf32>) -> tensor<8x8xf32>
    %less = graph.sub %dy, %first : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %second = graph.broadcast %ofProduct [1] : (tensor<8xf32>) -> tensor<8x8xf32>
    %scaled = graph.mul %centred, %second : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %dx = graph.sub %less, %scaled : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    spmd.accumulate %dx into @grads.0[0] : tensor<8x8xf32>
    %later = graph.contract "ab,bc->ac" %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    spmd.accumulate %later into @grads.0[64] : tensor<8x8xf32>
  }
}
spmd.program @stage mesh @mesh stage 0 over "pp" actions [sent 0] {
  spmd.phase @sent {
    %x = spmd.view @params.0[0] : tensor<8x8xf32>
    %a = graph.exp %x : tensor<8x8xf32>
    %b = graph.add %a, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    spmd.send %b to 1 over "pp" channel 0 : tensor<8x8xf32>
    %c = graph.mul %a, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    spmd.accumulate %c into @grads.0[0] : tensor<8x8xf32>
  }
}
