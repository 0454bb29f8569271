// A mesh alone splits the batch; a plan splits hidden units or classes too.
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="parallelism=dp=2,microbatches=2,zero=1" | FileCheck %s --check-prefix=DATA
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%S/Inputs/mlp-tensor-parallel.json" | FileCheck %s --check-prefix=HIDDEN
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%S/Inputs/mlp-classes.json" | FileCheck %s --check-prefix=CLASSES
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-apply-plan="plan=%S/Inputs/mlp-state.json" | FileCheck %s --check-prefix=STATE

// DATA: spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>, #spmd.axis<"tp", 1, rank>]
// DATA: graph.state @w1 {{.*}}spmd.flat = ["dp"], spmd.layout = !spmd.tensor<4x6xf32, @mesh, [{},{}]>
// DATA: func.func @step(%{{.*}}: !spmd.tensor<8x4xf32, @mesh, [{mb,dp},{}]>
// DATA: graph.contract "bk,kn->bn" {{.*}} -> !spmd.tensor<8x6xf32, @mesh, [{mb,dp},{}]>
// DATA: graph.cross_entropy {{.*}} -> (!spmd.tensor<f32, @mesh, [], partial(sum {dp,mb})>, !spmd.tensor<f32, @mesh, [], partial(sum {dp,mb})>, !spmd.tensor<8xf32, @mesh, [{mb,dp}]>)
// DATA: graph.contract "bn,bv->nv" {{.*}} -> !spmd.tensor<6x9xf32, @mesh, [{},{}], partial(sum {dp,mb})>
// DATA-NOT: spmd.reshard

// 6 hidden units over 4 ranks: 8. Columns, then rows, then one reduction.
// HIDDEN: graph.state @w1 {{.*}}!spmd.tensor<4x6xf32, @mesh, [{},{tp}], pad [4,8]>
// HIDDEN: graph.state @b1 {{.*}}!spmd.tensor<6xf32, @mesh, [{tp}], pad [8]>
// HIDDEN: graph.state @w2 {{.*}}!spmd.tensor<6x9xf32, @mesh, [{tp},{}], pad [8,9]>
// HIDDEN: graph.relu {{.*}} : !spmd.tensor<8x6xf32, @mesh, [{dp},{tp}], pad [8,8]>
// HIDDEN: graph.contract "bn,nv->bv" {{.*}} -> !spmd.tensor<8x9xf32, @mesh, [{dp},{}], partial(sum {tp})>
// HIDDEN: spmd.reshard %{{.*}} : !spmd.tensor<8x9xf32, @mesh, [{dp},{}], partial(sum {tp})> -> !spmd.tensor<8x9xf32, @mesh, [{dp},{}]>
// HIDDEN-NOT: spmd.reshard

// CLASSES: graph.state @w2 {{.*}}!spmd.tensor<6x9xf32, @mesh, [{},{tp}], pad [6,10]>
// CLASSES: graph.cross_entropy %{{.*}} (!spmd.tensor<8x9xf32, @mesh, [{mb},{tp}], pad [8,10]>
// CLASSES: spmd.reshard {{.*}} : !spmd.tensor<8x6xf32, @mesh, [{mb},{}], partial(sum {tp})> -> !spmd.tensor<8x6xf32, @mesh, [{mb},{}]>

// A gradient goes to where its state lies as soon as it is made, not at the end of the step.
// STATE: graph.state @w2 {{.*}}!spmd.tensor<6x9xf32, @mesh, [{tp},{}]>
// STATE: %[[W2:.*]] = graph.contract "bn,bv->nv"
// STATE-NEXT: %[[PART:.*]] = spmd.reshard %[[W2]] {{.*}} -> !spmd.tensor<6x9xf32, @mesh, [{tp},{}], partial(sum {mb})>
// STATE: graph.contract "bk,bn->kn"
// STATE: graph.update {{.*}}%[[PART]]) to [@w1, @b1, @w2]
