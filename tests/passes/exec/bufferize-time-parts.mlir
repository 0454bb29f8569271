// RUN: dtcc-opt %s -pass-pipeline="builtin.module(exec-bufferize,cse,exec.program(exec-assign-slots,exec-plan-arena),exec-verify)" | FileCheck %s

// What waits for another phase has memory for each micro-batch in flight. A view cannot step through this memory and
// through the parts of a value of all samples at once.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"pp", 2, rank>]

// A micro-batch's part of a constant is copied where it waits for the backward phase.
// CHECK-LABEL: exec.program @part
// CHECK: exec.buffer @[[ALL:constant.*]] : 32 in
// CHECK: exec.buffer @[[PART:part.*]] : 128 in
// CHECK: exec.phase @forward
// CHECK: %[[FROM:.*]] = exec.view @[[ALL]][0 + slot * 16] : memref<4xf32>
// CHECK: %[[TO:.*]] = exec.view @[[PART]][0 + slot * 64 mod 2] : memref<4xf32>
// CHECK: exec.copy ins(%[[FROM]] : {{.*}}) outs(%[[TO]] :
// CHECK: exec.phase @backward
// CHECK-NOT: @[[ALL]]
// CHECK: exec.view @[[PART]][0 + slot * 64 mod 2] : memref<4xf32>
spmd.program @part mesh @mesh stage 0 over "pp" actions [forward 0, forward 1, backward 0, backward 1] {
  %kept = spmd.phase @forward repeat 2 {
    %all = graph.constant dense<2.0> : tensor<8xf32> : tensor<8xf32>
    %part = spmd.local_slice %all dim 0 over ["mb"] : tensor<8xf32> -> tensor<4xf32>
    spmd.yield %part : tensor<4xf32>
  } : tensor<4xf32>
  spmd.phase @backward repeat 2 {
    spmd.send %kept to 1 over "pp" channel 0 : tensor<4xf32>
    spmd.yield
  }
}

// A value of all samples that waits is copied before the backward phase takes a part.
// CHECK-LABEL: exec.program @whole
// CHECK: exec.buffer @[[KEPT:constant.*]] : 128 in
// CHECK: exec.buffer @[[OWN:whole.*]] : 32 in
// CHECK: exec.phase @backward
// CHECK: %[[FROM:.*]] = exec.view @[[KEPT]][0 + slot * 64 mod 2] : memref<8xf32>
// CHECK: %[[TO:.*]] = exec.view @[[OWN]][0] : memref<8xf32>
// CHECK: exec.copy ins(%[[FROM]] : {{.*}}) outs(%[[TO]] :
// CHECK: exec.view @[[OWN]][0 + slot * 16] : memref<4xf32>
spmd.program @whole mesh @mesh stage 0 over "pp" actions [forward 0, forward 1, backward 0, backward 1] {
  %kept = spmd.phase @forward repeat 2 {
    %all = graph.constant dense<2.0> : tensor<8xf32> : tensor<8xf32>
    spmd.yield %all : tensor<8xf32>
  } : tensor<8xf32>
  spmd.phase @backward repeat 2 {
    %part = spmd.local_slice %kept dim 0 over ["mb"] : tensor<8xf32> -> tensor<4xf32>
    spmd.send %part to 1 over "pp" channel 0 : tensor<4xf32>
    spmd.yield
  }
}

// The host writes an input of all samples alike for each micro-batch: all micro-batches share one memory.
// CHECK-LABEL: exec.program @input
// CHECK: exec.buffer @[[IDS:.*]] : 32 in @inputs
// CHECK: exec.view @[[IDS]][0] : memref<8xf32>
// CHECK: exec.phase @forward
// CHECK: exec.view @[[IDS]][0 + slot * 16] : memref<4xf32>
// CHECK: exec.phase @backward
// CHECK: exec.view @[[IDS]][0 + slot * 16] : memref<4xf32>
spmd.program @input mesh @mesh stage 0 over "pp" actions [forward 0, forward 1, backward 0, backward 1] {
  spmd.phase @forward repeat 2 {
    %all = spmd.input "ids" of !spmd.tensor<8xf32, @mesh, [{}]> : tensor<8xf32>
    %part = spmd.local_slice %all dim 0 over ["mb"] : tensor<8xf32> -> tensor<4xf32>
    spmd.send %part to 1 over "pp" channel 0 : tensor<4xf32>
    spmd.yield
  }
  spmd.phase @backward repeat 2 {
    %all = spmd.input "ids" of !spmd.tensor<8xf32, @mesh, [{}]> : tensor<8xf32>
    %part = spmd.local_slice %all dim 0 over ["mb"] : tensor<8xf32> -> tensor<4xf32>
    spmd.send %part to 1 over "pp" channel 1 : tensor<4xf32>
    spmd.yield
  }
}
