// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="plan=%S/Inputs/mlp-pipeline.json" --dist-verify --dist-lower-to-program | FileCheck %s
// RUN: sed 's/"gpipe"/"zero-bubble"/' %S/Inputs/mlp-pipeline.json > %t.json
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="plan=%t.json" --dist-verify --dist-lower-to-program | FileCheck %s --check-prefix=SPLIT
// RUN: dtcc-opt %S/Inputs/tied.mlir --dist-apply-plan="plan=%S/Inputs/mlp-pipeline.json" | FileCheck %s --check-prefix=TIED
// RUN: dtcc-opt %S/Inputs/tied.mlir --dist-apply-plan="plan=%S/Inputs/mlp-pipeline.json" --dist-lower-to-program | FileCheck %s --check-prefix=OWNERS

// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="plan=%S/Inputs/mlp-pipeline.json" --dist-lower-to-program --dist-place-units | FileCheck %s --check-prefix=EARLY
// RUN: dtcc-opt %S/Inputs/tied.mlir --dist-apply-plan="plan=%S/Inputs/mlp-pipeline.json" --dist-lower-to-program --dist-place-units | FileCheck %s --check-prefix=TOGETHER

// RUN: sed -e 's/"gpipe"/"interleaved:2"/' -e 's/\[3\]/[1, 3, 4]/' %S/Inputs/mlp-pipeline.json > %t.virtual.json
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="plan=%t.virtual.json" --dist-form-units="latency-bytes=1" --dist-lower-to-program --dist-place-units | FileCheck %s --check-prefix=VIRTUAL

// Gradients are reduced in the last micro-batch, in the phase that makes them, if no other phase of the rank follows: it would
// end later, and the other stages wait. Else beside a run that follows. Those that other stages make parts of are reduced at the end.
// EARLY: dist.program @step.0
// EARLY: dist.phase @backward
// EARLY: dist.reduce_bucket @grads.0.0 sum ["dp"] slot 1
// EARLY: dist.phase @update
// EARLY-NOT: dist.reduce_bucket
// EARLY: dist.program @step.1
// EARLY: dist.phase @forward
// EARLY-NOT: dist.reduce_bucket
// EARLY: dist.phase @backward repeat 2
// EARLY-NEXT: dist.reduce_bucket @grads.1.0 sum ["dp"] slot 0
// EARLY: dist.phase @update
// EARLY-NOT: dist.reduce_bucket
// VIRTUAL: dist.program @step.1
// VIRTUAL: dist.phase @forward.3
// VIRTUAL: dist.accumulate %{{.*}} into @grads.1.[[LAST:[0-9]]][0] : tensor<6x9xf32>
// VIRTUAL-NOT: dist.reduce_bucket
// VIRTUAL: dist.phase @backward.3
// VIRTUAL: dist.reduce_bucket @grads.1.[[LAST]] sum ["dp"] slot 1
// VIRTUAL: dist.phase @backward.1
// VIRTUAL: dist.accumulate %{{.*}} into @grads.1.[[FIRST:[0-9]]][0] : tensor<6xf32>
// VIRTUAL: dist.reduce_bucket @grads.1.[[FIRST]] sum ["dp"] slot 1
// VIRTUAL: dist.phase @update
// VIRTUAL-NOT: dist.reduce_bucket
// VIRTUAL: dist.report
// TOGETHER-COUNT-2: dist.phase @update
// TOGETHER: dist.reduce_bucket @grads.1.0 sum ["pp", "dp"]{{$}}

// A program a stage; the bias, which is read behind its broadcast, lives where it is added.
// CHECK: graph.state @w1 {{.*}}dist.bucket = @params.0.0
// CHECK: graph.state @b1 {{.*}}dist.bucket = @params.0.0
// CHECK: graph.state @w2 {{.*}}dist.bucket = @params.1.0
// CHECK: dist.program @step.0 mesh @mesh stage 0 over "pp" actions ["forward 0", "forward 1", "backward 0", "backward 1", "update 0"]
// CHECK: dist.phase @forward repeat 2
// CHECK: dist.input "x"
// CHECK: dist.send %[[H:.*]] to 1 over "pp" channel 0 : tensor<2x6xf32>
// CHECK: dist.phase @backward repeat 2
// CHECK: %[[D:.*]] = dist.receive from 1 over "pp" channel 0 : tensor<2x6xf32>
// CHECK-DAG: dist.accumulate %{{.*}} into @grads.0.0[0] : tensor<4x6xf32>
// CHECK-DAG: dist.accumulate %{{.*}} into @grads.0.0[32] : tensor<6xf32>
// CHECK: dist.phase @update
// CHECK: dist.all_reduce sum %{{.*}} over ["pp", "dp"] : tensor<2xf32>
// CHECK: dist.reduce_bucket @grads.0.0 sum ["dp"]
// CHECK: %[[S:.*]] = dist.sum_squares
// CHECK: dist.all_reduce sum %[[S]] over ["pp"] : tensor<f32>
// CHECK: dist.report
// CHECK: dist.program @step.1 mesh @mesh stage 1 over "pp"
// The loss, its gradient and the products that read it are of one phase: no logits are kept for the other.
// CHECK: %{{.*}}:2 = dist.phase @forward repeat 2
// CHECK: %[[H0:.*]] = dist.receive from 0 over "pp" channel 0 : tensor<2x6xf32>
// CHECK: dist.input "labels"
// CHECK: dist.accumulate %{{.*}} into @scalars[0]
// CHECK: %[[DL:.*]] = graph.cross_entropy_grad
// CHECK: %[[DW:.*]] = graph.contract "bn,bv->nv" %{{.*}}, %[[DL]]
// CHECK: dist.accumulate %[[DW]] into @grads.1.0[0]
// CHECK: %[[DH:.*]] = graph.contract "bv,nv->bn" %[[DL]]
// CHECK: dist.yield %[[H0]], %[[DH]] : tensor<2x6xf32>, tensor<2x6xf32>
// CHECK: dist.phase @backward repeat 2
// CHECK-NOT: graph.contract
// CHECK: dist.send %{{.*}} to 0 over "pp" channel 0 : tensor<2x6xf32>

// Weight gradients apart: a stage that begins with its parameters has no input gradients, one whose weights are all the
// classifier's no weight gradients.
// SPLIT: actions ["forward 0", "forward 1", "weight_gradient 0", "weight_gradient 1", "update 0"]
// SPLIT: dist.phase @weight_gradient repeat 2
// SPLIT-NEXT: dist.receive
// SPLIT: graph.contract
// SPLIT-NEXT: dist.accumulate
// SPLIT: dist.program @step.1 {{.*}} actions ["forward 0", "input_gradient 0", "forward 1", "input_gradient 1", "update 0"]
// SPLIT: dist.phase @input_gradient repeat 2
// SPLIT-NOT: dist.accumulate
// SPLIT: dist.send

// A parameter of two stages: a read and a part of the gradient in each; no stage sends weights or their gradients.
// TIED-DAG: graph.read @w {stage = 0 : i64}
// TIED-DAG: graph.read @w {stage = 1 : i64}
// TIED: graph.update %{{.*}}, (%{{.*}}, %{{.*}}) to [@w, @w]
// OWNERS: graph.state @w {{.*}}dist.bucket = [@params.0.0, @params.1.0], {{.*}}dist.offset = array<i64: 0, 0>
// OWNERS: dist.program @step.0
// OWNERS: dist.accumulate %{{.*}} into @grads.0.0[0]
// OWNERS: dist.phase @update
// OWNERS: dist.reduce_bucket @grads.0.0 sum ["pp", "dp"]
// OWNERS: dist.sum_squares
// OWNERS: dist.program @step.1
// OWNERS: dist.accumulate %{{.*}} into @grads.1.0[0]
// OWNERS: dist.phase @update
// OWNERS: dist.reduce_bucket @grads.1.0 sum ["pp", "dp"]
// OWNERS-NOT: dist.sum_squares
// OWNERS: graph.constant
// OWNERS: dist.update_bucket @params.1.0
