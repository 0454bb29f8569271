// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%S/Inputs/mlp-pipeline.json" --spmd-verify --spmd-lower-to-program | FileCheck %s
// RUN: sed 's/"gpipe"/"zero-bubble"/' %S/Inputs/mlp-pipeline.json > %t.json
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t.json" --spmd-verify --spmd-lower-to-program | FileCheck %s --check-prefix=SPLIT
// RUN: dtcc-opt %S/Inputs/tied.mlir --spmd-apply-plan="plan=%S/Inputs/mlp-pipeline.json" | FileCheck %s --check-prefix=TIED
// RUN: dtcc-opt %S/Inputs/tied.mlir --spmd-apply-plan="plan=%S/Inputs/mlp-pipeline.json" --spmd-lower-to-program | FileCheck %s --check-prefix=OWNERS

// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%S/Inputs/mlp-pipeline.json" --spmd-lower-to-program --spmd-place-units | FileCheck %s --check-prefix=EARLY
// RUN: dtcc-opt %S/Inputs/tied.mlir --spmd-apply-plan="plan=%S/Inputs/mlp-pipeline.json" --spmd-lower-to-program --spmd-place-units | FileCheck %s --check-prefix=TOGETHER

// RUN: sed -e 's/"gpipe"/"interleaved:2"/' -e 's/\[3\]/[1, 3, 4]/' %S/Inputs/mlp-pipeline.json > %t.virtual.json
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%t.virtual.json" --spmd-form-units="latency-bytes=1" --spmd-lower-to-program --spmd-place-units | FileCheck %s --check-prefix=VIRTUAL

// Gradients are reduced in the last micro-batch, in the phase that makes them, if no other phase of the rank follows: it would
// end later, and the other stages wait. Else beside a run that follows. Those that other stages make parts of are reduced at the end.
// EARLY: spmd.program @step.0
// EARLY: spmd.phase @backward
// EARLY: spmd.reduce_bucket @grads.0.0 sum ["dp"] slot 1
// EARLY: spmd.phase @update
// EARLY-NOT: spmd.reduce_bucket
// EARLY: spmd.program @step.1
// EARLY: spmd.phase @forward
// EARLY-NOT: spmd.reduce_bucket
// EARLY: spmd.phase @backward repeat 2
// EARLY-NEXT: spmd.reduce_bucket @grads.1.0 sum ["dp"] slot 0
// EARLY: spmd.phase @update
// EARLY-NOT: spmd.reduce_bucket
// VIRTUAL: spmd.program @step.1
// VIRTUAL: spmd.phase @forward.3
// VIRTUAL: spmd.accumulate %{{.*}} into @grads.1.[[LAST:[0-9]]][0] : tensor<6x9xf32>
// VIRTUAL-NOT: spmd.reduce_bucket
// VIRTUAL: spmd.phase @backward.3
// VIRTUAL: spmd.reduce_bucket @grads.1.[[LAST]] sum ["dp"] slot 1
// VIRTUAL: spmd.phase @backward.1
// VIRTUAL: spmd.accumulate %{{.*}} into @grads.1.[[FIRST:[0-9]]][0] : tensor<6xf32>
// VIRTUAL: spmd.reduce_bucket @grads.1.[[FIRST]] sum ["dp"] slot 1
// VIRTUAL: spmd.phase @update
// VIRTUAL-NOT: spmd.reduce_bucket
// VIRTUAL: spmd.report
// TOGETHER-COUNT-2: spmd.phase @update
// TOGETHER: spmd.reduce_bucket @grads.1.0 sum ["pp", "dp"]{{$}}

// A program a stage; the bias, which is read behind its broadcast, lives where it is added.
// CHECK: graph.state @w1 {{.*}}spmd.bucket = @params.0.0
// CHECK: graph.state @b1 {{.*}}spmd.bucket = @params.0.0
// CHECK: graph.state @w2 {{.*}}spmd.bucket = @params.1.0
// CHECK: spmd.program @step.0 mesh @mesh stage 0 over "pp" actions [forward 0, forward 1, backward 0, backward 1, update 0]
// CHECK: spmd.phase @forward repeat 2
// CHECK: spmd.input "x"
// CHECK: spmd.send %[[H:.*]] to 1 over "pp" channel 0 : tensor<2x6xf32>
// CHECK: spmd.phase @backward repeat 2
// CHECK: %[[D:.*]] = spmd.receive from 1 over "pp" channel 0 : tensor<2x6xf32>
// CHECK-DAG: spmd.accumulate %{{.*}} into @grads.0.0[0] : tensor<4x6xf32>
// CHECK-DAG: spmd.accumulate %{{.*}} into @grads.0.0[32] : tensor<6xf32>
// CHECK: spmd.phase @update
// CHECK: spmd.all_reduce sum %{{.*}} over ["pp", "dp"] : tensor<2xf32>
// CHECK: spmd.reduce_bucket @grads.0.0 sum ["dp"]
// CHECK: %[[S:.*]] = spmd.sum_squares
// CHECK: spmd.all_reduce sum %[[S]] over ["pp"] : tensor<f32>
// CHECK: spmd.report
// CHECK: spmd.program @step.1 mesh @mesh stage 1 over "pp"
// The loss, its gradient and the products that read it are of one phase: no logits are kept for the other.
// CHECK: %{{.*}}:2 = spmd.phase @forward repeat 2
// CHECK: %[[H0:.*]] = spmd.receive from 0 over "pp" channel 0 : tensor<2x6xf32>
// CHECK: spmd.input "labels"
// CHECK: spmd.accumulate %{{.*}} into @scalars[0]
// CHECK: %[[DL:.*]] = graph.cross_entropy_grad
// CHECK: %[[DW:.*]] = graph.contract "bn,bv->nv" %{{.*}}, %[[DL]]
// CHECK: spmd.accumulate %[[DW]] into @grads.1.0[0]
// CHECK: %[[DH:.*]] = graph.contract "bv,nv->bn" %[[DL]]
// CHECK: spmd.yield %[[H0]], %[[DH]] : tensor<2x6xf32>, tensor<2x6xf32>
// CHECK: spmd.phase @backward repeat 2
// CHECK-NOT: graph.contract
// CHECK: spmd.send %{{.*}} to 0 over "pp" channel 0 : tensor<2x6xf32>

// Weight gradients apart: a stage that begins with its parameters has no input gradients, one whose weights are all the
// classifier's no weight gradients.
// SPLIT: actions [forward 0, forward 1, weight_gradient 0, weight_gradient 1, update 0]
// SPLIT: spmd.phase @weight_gradient repeat 2
// SPLIT-NEXT: spmd.receive
// SPLIT: graph.contract
// SPLIT-NEXT: spmd.accumulate
// SPLIT: spmd.program @step.1 {{.*}} actions [forward 0, input_gradient 0, forward 1, input_gradient 1, update 0]
// SPLIT: spmd.phase @input_gradient repeat 2
// SPLIT-NOT: spmd.accumulate
// SPLIT: spmd.send

// A parameter of two stages: a read and a part of the gradient in each; no stage sends weights or their gradients.
// TIED-DAG: graph.read @w {stage = 0 : i64}
// TIED-DAG: graph.read @w {stage = 1 : i64}
// TIED: graph.update %{{.*}}, (%{{.*}}, %{{.*}}) to [@w, @w]
// OWNERS: graph.state @w {{.*}}spmd.bucket = [@params.0.0, @params.1.0], {{.*}}spmd.offset = array<i64: 0, 0>
// OWNERS: spmd.program @step.0
// OWNERS: spmd.accumulate %{{.*}} into @grads.0.0[0]
// OWNERS: spmd.phase @update
// OWNERS: spmd.reduce_bucket @grads.0.0 sum ["pp", "dp"]
// OWNERS: spmd.sum_squares
// OWNERS: spmd.program @step.1
// OWNERS: spmd.accumulate %{{.*}} into @grads.1.0[0]
// OWNERS: spmd.phase @update
// OWNERS: spmd.reduce_bucket @grads.1.0 sum ["pp", "dp"]
// OWNERS-NOT: spmd.sum_squares
// OWNERS: graph.constant
// OWNERS: spmd.update_bucket @params.1.0
