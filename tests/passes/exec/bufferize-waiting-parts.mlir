// RUN: dtcc-opt %s -exec-bufferize -cse | FileCheck %s

// A part of a whole is written where it lies in it, unless it alone waits for the backward pass: there it would keep the
// memory of the whole, which is recomputed.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>]

// Nothing waits for long: both parts are written in place.
// CHECK-LABEL: exec.program @both
spmd.program @both mesh @mesh {
  spmd.phase @microbatch repeat 2 {
    %x = spmd.input "x" of !spmd.tensor<8x6xf32, @mesh, [{mb}, {}]> : tensor<4x6xf32>
    // CHECK: %[[A:.*]] = exec.view @[[WHOLE:concat.*]][0] : memref<1x6x6xf32, strided<[1, 12, 1]>>
    // CHECK: exec.library "matmul" {{.*}} outs(%[[A]] :
    // CHECK: %[[B:.*]] = exec.view @[[WHOLE]][24] : memref<1x6x6xf32, strided<[1, 1, 12]>>
    // CHECK: exec.library "matmul" {{.*}} outs(%[[B]] :
    // CHECK-NOT: exec.copy
    %a = graph.contract "bc,bd->cd" %x, %x {phase = "F"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    %b = graph.contract "bc,bd->dc" %x, %x {phase = "F"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    %y = graph.concat %a, %b {dim = 1 : i64, phase = "F"} : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x12xf32>
    %z = graph.contract "cd,ce->de" %y, %y {phase = "F"} : (tensor<6x12xf32>, tensor<6x12xf32>) -> tensor<12x12xf32>
  }
}

// The backward pass reads the first part, so that one has memory of its own and is copied.
// CHECK-LABEL: exec.program @one
spmd.program @one mesh @mesh {
  spmd.phase @microbatch repeat 2 {
    // CHECK: %[[A:.*]] = exec.view @[[PART:contract.*]][0] : memref<1x6x6xf32>
    // CHECK: exec.library "matmul" {{.*}} outs(%[[A]] :
    // CHECK: %[[B:.*]] = exec.view @[[WHOLE:concat.*]][24]
    // CHECK: exec.library "matmul" {{.*}} outs(%[[B]] :
    // CHECK: %[[FROM:.*]] = exec.view @[[PART]][0]
    // CHECK: %[[TO:.*]] = exec.view @[[WHOLE]][0]
    // CHECK: exec.copy ins(%[[FROM]] : {{.*}}) outs(%[[TO]] :
    // CHECK: %[[KEPT:.*]] = exec.view @[[PART]][0]
    // CHECK: exec.library "matmul" ins(%[[KEPT]]
    %x = spmd.input "x" of !spmd.tensor<8x6xf32, @mesh, [{mb}, {}]> : tensor<4x6xf32>
    %a = graph.contract "bc,bd->cd" %x, %x {phase = "F"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    %b = graph.contract "bc,bd->dc" %x, %x {phase = "F"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    %y = graph.concat %a, %b {dim = 1 : i64, phase = "F"} : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x12xf32>
    %z = graph.contract "cd,ce->de" %y, %y {phase = "F"} : (tensor<6x12xf32>, tensor<6x12xf32>) -> tensor<12x12xf32>
    %kept = graph.barrier %a {phase = "R", segment = 0 : i64} : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %g = graph.contract "cd,ce->de" %kept, %kept {phase = "I"} : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  }
}
