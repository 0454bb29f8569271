// RUN: dtcc-opt %s -pass-pipeline="builtin.module(exec.program(exec-assign-slots,exec-plan-arena),exec-verify)" | FileCheck %s

spmd.mesh @mesh [#spmd.axis<"mb", 3, time>, #spmd.axis<"pp", 2, rank>]
spmd.mesh @four [#spmd.axis<"mb", 4, time>, #spmd.axis<"pp", 2, rank>]

// GPipe: three micro-batches are in flight, in what the forward phase leaves and in the
// input that the backward phase reads again. What one phase alone uses has no slots.
// CHECK-LABEL: exec.program @step.0
// CHECK: exec.buffer @ids : 192 in @inputs
// CHECK: exec.buffer @saved : 192 in @activations
// CHECK: exec.buffer @own : 64 in @activations
// CHECK: exec.view @ids[0 + slot * 64 mod 3]
// CHECK: exec.phase @forward
// CHECK: exec.view @saved[0 + slot * 64 mod 3]
// CHECK: exec.view @own[0] :
// CHECK: exec.phase @backward
// CHECK: exec.view @saved[0 + slot * 64 mod 3]
exec.program @step.0 mesh @mesh stage 0 over "pp" actions [forward 0, forward 1, forward 2, backward 0, backward 1, backward 2] {
  exec.arena @inputs : 0
  exec.arena @activations : 0
  exec.buffer @ids : 64 in @inputs persistent
  exec.buffer @saved : 64 in @activations
  exec.buffer @own : 64 in @activations
  %ids = exec.view @ids[0] : memref<16xf32>
  exec.input "ids" data %ids : memref<16xf32> {sizes = array<i64: 16>, padded = array<i64: 16>, axes = [[]]}
  exec.phase @forward repeat 3 {
    %i = exec.view @ids[0] : memref<16xf32>
    %x = exec.view @saved[0] : memref<16xf32>
    %o = exec.view @own[0] : memref<16xf32>
    exec.copy ins(%i : memref<16xf32>) outs(%o : memref<16xf32>)
    exec.copy ins(%o : memref<16xf32>) outs(%x : memref<16xf32>)
  }
  exec.phase @backward repeat 3 {
    %i = exec.view @ids[0] : memref<16xf32>
    %x = exec.view @saved[0] : memref<16xf32>
    %o = exec.view @own[0] : memref<16xf32>
    exec.copy ins(%i : memref<16xf32>) outs(%o : memref<16xf32>)
    exec.copy ins(%x : memref<16xf32>) outs(%o : memref<16xf32>)
  }
}

// 1F1B on the last stage: backward follows forward, one is in flight. Two on the one before.
// CHECK-LABEL: exec.program @step.1
// CHECK: exec.buffer @saved : 64 in @activations
// CHECK-LABEL: exec.program @other
// CHECK: exec.buffer @saved : 128 in @activations
exec.program @step.1 mesh @mesh stage 1 over "pp" actions [forward 0, backward 0, forward 1, backward 1, forward 2, backward 2] {
  exec.arena @activations : 0
  exec.buffer @saved : 64 in @activations
  exec.phase @forward repeat 3 {
    %x = exec.view @saved[0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
  exec.phase @backward repeat 3 {
    %x = exec.view @saved[0] : memref<16xf32>
    exec.copy ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}
exec.program @other mesh @mesh stage 0 over "pp" actions [forward 0, forward 1, backward 0, forward 2, backward 1, backward 2] {
  exec.arena @activations : 0
  exec.buffer @saved : 64 in @activations
  exec.phase @forward repeat 3 {
    %x = exec.view @saved[0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
  exec.phase @backward repeat 3 {
    %x = exec.view @saved[0] : memref<16xf32>
    exec.copy ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}

// Two virtual stages under an interleaved schedule: by itself the first needs 4 slots and the second 2, but no more than
// 5 values live at a time.
// CHECK-LABEL: exec.program @interleaved
// CHECK-DAG: exec.slot_order [[FIRST:@slots.[01]]] [0, 1, 4, 2]
// CHECK-DAG: exec.slot_order [[SECOND:@slots.[01]]] [2, 3, 3, 0]
// CHECK: exec.buffer @first : 320 in @activations
// CHECK-NOT: exec.buffer
// CHECK: exec.phase @f0
// CHECK: exec.view @first[0 + slot * 64 by [[FIRST]]]
// CHECK: exec.phase @f1
// CHECK: exec.view @first[0 + slot * 64 by [[SECOND]]]
// CHECK: exec.phase @b1
// CHECK: exec.view @first[0 + slot * 64 by [[SECOND]]]
// CHECK: exec.phase @b0
// CHECK: exec.view @first[0 + slot * 64 by [[FIRST]]]
exec.program @interleaved mesh @four stage 0 over "pp" actions [f0 0, f0 1, f1 0, f1 1, f0 2, b1 0, f0 3, b1 1, f1 2, b0 0, f1 3, b0 1, b1 2, b1 3, b0 2, b0 3] {
  exec.arena @activations : 0
  exec.buffer @first : 64 in @activations
  exec.buffer @second : 64 in @activations
  exec.phase @f0 repeat 4 {
    %x = exec.view @first[0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
  exec.phase @f1 repeat 4 {
    %x = exec.view @second[0] : memref<16xf32>
    exec.fill 0.0 : f32 outs(%x : memref<16xf32>)
  }
  exec.phase @b1 repeat 4 {
    %x = exec.view @second[0] : memref<16xf32>
    exec.copy ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
  exec.phase @b0 repeat 4 {
    %x = exec.view @first[0] : memref<16xf32>
    exec.copy ins(%x : memref<16xf32>) outs(%x : memref<16xf32>)
  }
}
