// A mesh alone splits the batch; a plan splits hidden units or classes too.
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="mesh=mb=2,dp=2 zero=1" | FileCheck %s --check-prefix=DATA
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="plan=%S/Inputs/mlp-tensor-parallel.json" | FileCheck %s --check-prefix=HIDDEN
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="plan=%S/Inputs/mlp-classes.json" | FileCheck %s --check-prefix=CLASSES
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-apply-plan="plan=%S/Inputs/mlp-state.json" | FileCheck %s --check-prefix=STATE

// DATA: dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>, #dist.axis<"tp", 1, rank>]
// DATA: graph.state @w1 {{.*}}dist.flat = ["dp"], dist.layout = !dist.tensor<4x6xf32, @mesh, [{},{}]>
// DATA: func.func @step(%{{.*}}: !dist.tensor<8x4xf32, @mesh, [{mb,dp},{}]>
// DATA: graph.contract "bk,kn->bn" {{.*}} -> !dist.tensor<8x6xf32, @mesh, [{mb,dp},{}]>
// DATA: graph.cross_entropy {{.*}} -> (!dist.tensor<f32, @mesh, [], partial(sum {dp,mb})>, !dist.tensor<f32, @mesh, [], partial(sum {dp,mb})>, !dist.tensor<8xf32, @mesh, [{mb,dp}]>)
// DATA: graph.contract "bn,bv->nv" {{.*}} -> !dist.tensor<6x9xf32, @mesh, [{},{}], partial(sum {dp,mb})>
// DATA-NOT: dist.reshard

// 6 hidden units over 4 ranks: 8. Columns, then rows, then one reduction.
// HIDDEN: graph.state @w1 {{.*}}!dist.tensor<4x6xf32, @mesh, [{},{tp}], pad [4,8]>
// HIDDEN: graph.state @b1 {{.*}}!dist.tensor<6xf32, @mesh, [{tp}], pad [8]>
// HIDDEN: graph.state @w2 {{.*}}!dist.tensor<6x9xf32, @mesh, [{tp},{}], pad [8,9]>
// HIDDEN: graph.relu {{.*}} : !dist.tensor<8x6xf32, @mesh, [{dp},{tp}], pad [8,8]>
// HIDDEN: graph.contract "bn,nv->bv" {{.*}} -> !dist.tensor<8x9xf32, @mesh, [{dp},{}], partial(sum {tp})>
// HIDDEN: dist.reshard %{{.*}} : !dist.tensor<8x9xf32, @mesh, [{dp},{}], partial(sum {tp})> -> !dist.tensor<8x9xf32, @mesh, [{dp},{}]>
// HIDDEN-NOT: dist.reshard

// CLASSES: graph.state @w2 {{.*}}!dist.tensor<6x9xf32, @mesh, [{},{tp}], pad [6,10]>
// CLASSES: graph.cross_entropy %{{.*}} (!dist.tensor<8x9xf32, @mesh, [{mb},{tp}], pad [8,10]>
// CLASSES: dist.reshard {{.*}} : !dist.tensor<8x6xf32, @mesh, [{mb},{}], partial(sum {tp})> -> !dist.tensor<8x6xf32, @mesh, [{mb},{}]>

// A gradient goes to where its state lies as soon as it is made, not at the end of the step.
// STATE: graph.state @w2 {{.*}}!dist.tensor<6x9xf32, @mesh, [{tp},{}]>
// STATE: %[[W2:.*]] = graph.contract "bn,bv->nv"
// STATE-NEXT: %[[PART:.*]] = dist.reshard %[[W2]] {{.*}} -> !dist.tensor<6x9xf32, @mesh, [{tp},{}], partial(sum {mb})>
// STATE: graph.contract "bk,bn->kn"
// STATE: graph.update {{.*}}%[[PART]]) to [@w1, @b1, @w2]
