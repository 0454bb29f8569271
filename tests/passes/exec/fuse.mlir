// RUN: dtcc-opt --exec-expand-composites --exec-fuse %s | FileCheck %s

// A residual sum and the norm after it are one kernel with two results that are read.
// CHECK-LABEL: dist.phase @norm
// CHECK: exec.fused
// CHECK: graph.add
// CHECK: graph.rsqrt
// CHECK: exec.yield %{{.*}}, %{{.*}} : tensor<2x8xf32>, tensor<2x8xf32>
// CHECK-NOT: exec.fused
// CHECK: dist.accumulate

// A reduction over rows and one over columns have no common loops.
// CHECK-LABEL: dist.phase @rowsAndColumns
// CHECK-COUNT-2: exec.fused
// CHECK-NOT: exec.fused
// CHECK: dist.accumulate

// %c reads %a by way of a product: %a and %c in one kernel would wait for themselves.
// CHECK-LABEL: dist.phase @leavesAndReturns
// CHECK: exec.fused
// CHECK: graph.contract
// CHECK: exec.fused

// %c depends on %a by the order of effects alone: what it reads is gathered behind what %a is in. Together they would
// wait for themselves.
// CHECK-LABEL: dist.phase @gatheredBehind
// CHECK: exec.fused
// CHECK: graph.exp
// CHECK: graph.contract
// CHECK: dist.accumulate
// CHECK: dist.gather_unit
// CHECK: exec.fused
// CHECK: graph.mul

// x[i] - x[j]: one kernel, which walks x in two ways and so takes it twice.
// CHECK-LABEL: dist.phase @apart
// CHECK: %[[X:.*]] = dist.view
// CHECK: exec.fused(%[[X]], %[[X]])
// CHECK: ^bb0(%[[I:.*]]: tensor<8xf32>, %[[J:.*]]: tensor<8xf32>):
// CHECK-DAG: graph.broadcast %[[I]] [0]
// CHECK-DAG: graph.broadcast %[[J]] [1]
// CHECK-NOT: exec.fused
// CHECK: dist.accumulate

// %d is put into the kernel of %a, and reads a product of %b. In the kernel of %b, %e, which reads a product of %a, would
// wait for itself, though all that it reads stands before %b.
// CHECK-LABEL: dist.phase @beginsBefore
// CHECK-COUNT-3: exec.fused
// CHECK: dist.accumulate

// Of the gradient of a norm, what is as large as the norm's input is computed in the backward pass, where that input is
// read anyway; in the forward kernel, which has it, it would be kept between the two.
// CHECK-LABEL: dist.phase @normOfBothPasses
// CHECK: exec.fused(%[[X:.*]], %{{.*}}) : {{.*}} -> (tensor<2xf32>, tensor<2x8xf32>) {
// CHECK: graph.rsqrt
// CHECK: graph.contract
// CHECK: exec.fused({{.*}}, %[[X]], {{.*}})
// CHECK-NOT: exec.fused
// CHECK: dist.accumulate

// Where the sign of a value alone is read, it is found in the forward pass: a byte a cell is kept, not four.
// CHECK-LABEL: dist.phase @signOfBothPasses
// CHECK: exec.fused
// CHECK: graph.tanh
// CHECK: graph.compare
// CHECK: graph.contract
// CHECK: exec.fused
// CHECK-NOT: graph.compare
// CHECK: dist.accumulate

// What is computed again is in one kernel with the gradient that reads it and waits for gradients anyway.
// CHECK-LABEL: dist.phase @again
// CHECK: exec.fused
// CHECK: graph.silu
// CHECK: graph.silu_grad
// CHECK-NOT: exec.fused
// CHECK: dist.accumulate

// %c could be in the kernel of %a or of %b, and %b is there for it alone: one kernel.
// CHECK-LABEL: dist.phase @forOneReader
// CHECK-COUNT-1: exec.fused
// CHECK-NOT: exec.fused
// CHECK: dist.accumulate

// What a message waits for is not in one kernel with what stands behind it.
// CHECK-LABEL: dist.phase @sent
// CHECK: exec.fused
// CHECK: dist.send
// CHECK: exec.fused
// CHECK: dist.accumulate
dist.mesh @mesh [#dist.axis<"dp", 1, rank>, #dist.axis<"pp", 2, rank>]
dist.bucket parameter @params.0 : 128 x f32
dist.bucket parameter @params.1 : 64 x f32 flat ["dp"]
dist.bucket gradient @grads.0 : 128 x f32 of @params.0
dist.program @step mesh @mesh {
  dist.phase @norm {
    %x = dist.view @params.0[0] : tensor<2x8xf32>
    %r = dist.view @params.0[16] : tensor<2x8xf32>
    %s = dist.view @params.0[32] : tensor<8xf32>
    %h = graph.add %x, %r : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %y, %rstd = graph.rms_norm %h, %s [1] {eps = 1.0e-5 : f64}
        : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2xf32>)
    dist.accumulate %h into @grads.0[0] : tensor<2x8xf32>
    dist.accumulate %y into @grads.0[16] : tensor<2x8xf32>
  }
  dist.phase @rowsAndColumns {
    %x = dist.view @params.0[0] : tensor<2x8xf32>
    %a = graph.reduce #graph<reduce_kind sum> %x [1] : (tensor<2x8xf32>) -> tensor<2xf32>
    %b = graph.reduce #graph<reduce_kind sum> %x [0] : (tensor<2x8xf32>) -> tensor<8xf32>
    dist.accumulate %a into @grads.0[0] : tensor<2xf32>
    dist.accumulate %b into @grads.0[16] : tensor<8xf32>
  }
  dist.phase @leavesAndReturns {
    %x = dist.view @params.0[0] : tensor<8x8xf32>
    %a = graph.exp %x : tensor<8x8xf32>
    %p = graph.contract "ab,bc->ac" %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %c = graph.add %a, %p : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    dist.accumulate %c into @grads.0[0] : tensor<8x8xf32>
  }
  dist.phase @gatheredBehind {
    %x = dist.view @params.0[0] : tensor<8x8xf32>
    %a = graph.exp %x : tensor<8x8xf32>
    %p = graph.contract "ab,bc->ac" %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    dist.accumulate %p into @grads.0[0] : tensor<8x8xf32>
    %u = dist.gather_unit @params.1 over ["dp"] : tensor<64xf32>
    %w = dist.unit_view %u[0] : tensor<64xf32> -> tensor<8x8xf32>
    %c = graph.mul %a, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    dist.release %u : tensor<64xf32>
    dist.accumulate %c into @grads.0[64] : tensor<8x8xf32>
  }
  dist.phase @apart {
    %x = dist.view @params.0[0] : tensor<8xf32>
    %i = graph.broadcast %x [0] : (tensor<8xf32>) -> tensor<8x8xf32>
    %j = graph.broadcast %x [1] : (tensor<8xf32>) -> tensor<8x8xf32>
    %d = graph.sub %i, %j : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    dist.accumulate %d into @grads.0[0] : tensor<8x8xf32>
  }
  dist.phase @beginsBefore {
    %x = dist.view @params.0[0] : tensor<8x8xf32>
    %y = dist.view @params.0[64] : tensor<8x8xf32>
    %a = graph.exp %x : tensor<8x8xf32>
    %p = graph.contract "ab,bc->ac" %a, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = graph.tanh %y : tensor<8x8xf32>
    %q = graph.contract "ab,bc->ac" %b, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %d = graph.add %a, %q : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %e = graph.mul %b, %p : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    dist.accumulate %d into @grads.0[0] : tensor<8x8xf32>
    dist.accumulate %e into @grads.0[64] : tensor<8x8xf32>
  }
  dist.phase @normOfBothPasses {
    %x = dist.view @params.0[0] : tensor<2x8xf32>
    %s = dist.view @params.0[32] : tensor<8xf32>
    %w = dist.view @params.0[64] : tensor<8x8xf32>
    %y, %rstd = graph.rms_norm %x, %s [1] {eps = 1.0e-5 : f64, origin = 1, phase = "F"}
        : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2xf32>)
    %dy = graph.contract "ab,bc->ac" %y, %w : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %dx = graph.rms_norm_grad %dy, %x, %s, %rstd [1] {origin = 1, phase = "I"}
        : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<2xf32>) -> tensor<2x8xf32>
    dist.accumulate %dx into @grads.0[0] : tensor<2x8xf32>
  }
  dist.phase @signOfBothPasses {
    %x = dist.view @params.0[0] : tensor<8x8xf32>
    %zero = graph.constant {phase = "I"} dense<0.0> : tensor<8x8xf32> : tensor<8x8xf32>
    %a = graph.tanh %x {phase = "F"} : tensor<8x8xf32>
    %above = graph.compare gt %x, %zero {phase = "I"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
    %p = graph.contract "ab,bc->ac" %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %d = graph.select %above, %p, %zero {phase = "I"} : (tensor<8x8xi1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    dist.accumulate %d into @grads.0[0] : tensor<8x8xf32>
  }
  dist.phase @again {
    %x = dist.view @params.0[0] : tensor<8x8xf32>
    %dy = graph.contract "ab,bc->ac" %x, %x {origin = 2, phase = "I"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %y = graph.silu %x {origin = 1, phase = "R"} : tensor<8x8xf32>
    %dx = graph.silu_grad %x, %dy {origin = 1, phase = "I"} : tensor<8x8xf32>
    dist.accumulate %y into @grads.0[0] : tensor<8x8xf32>
    dist.accumulate %dx into @grads.0[64] : tensor<8x8xf32>
  }
  dist.phase @forOneReader {
    %x = dist.view @params.0[0] : tensor<8x8xf32>
    %y = dist.view @params.0[64] : tensor<8x8xf32>
    %b = graph.exp %x : tensor<8x8xf32>
    %a = graph.tanh %y : tensor<8x8xf32>
    %c = graph.mul %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    dist.accumulate %c into @grads.0[0] : tensor<8x8xf32>
  }
}
dist.program @stage mesh @mesh stage 0 over "pp" actions ["sent 0"] {
  dist.phase @sent {
    %x = dist.view @params.0[0] : tensor<8x8xf32>
    %a = graph.exp %x : tensor<8x8xf32>
    %b = graph.add %a, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    dist.send %b to 1 over "pp" channel 0 : tensor<8x8xf32>
    %c = graph.mul %a, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    dist.accumulate %c into @grads.0[0] : tensor<8x8xf32>
  }
}
