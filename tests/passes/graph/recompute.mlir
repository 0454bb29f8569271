// RUN: dtcc-opt %s --graph-differentiate --graph-recompute=mode=selective --graph-verify-step | FileCheck %s --check-prefix=SELECTIVE
// RUN: dtcc-opt %s --graph-differentiate --graph-recompute=mode=full --graph-verify-step | FileCheck %s --check-prefix=FULL
// RUN: dtcc-opt %s --graph-differentiate --graph-recompute="mode=none again=5" --graph-verify-step | FileCheck %s --check-prefix=AGAIN
// RUN: dtcc-opt %s --graph-differentiate --graph-recompute="mode=selective keep=6" --graph-verify-step | FileCheck %s --check-prefix=KEEP
// Common subexpressions are merged by the next phase: what is computed again must survive it.
// RUN: dtcc-opt %s --graph-differentiate --graph-recompute=mode=full --cse | FileCheck %s --check-prefix=FULL

// An embedding, a layer x + gelu(x a) b, then a head.
graph.state @e : tensor<16x64xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "e", saved_shape = array<i64: 16, 64>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @a : tensor<64x256xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "a", saved_shape = array<i64: 64, 256>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @b : tensor<256x64xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "b", saved_shape = array<i64: 256, 64>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @head : tensor<64x9xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 64, 9>, init = #graph.init<normal, 0.0, 0.02>}

func.func @loss(%in: tensor<8x16xf32>, %labels: tensor<8xi64>) -> (tensor<f32>, tensor<f32>) {
  %e = graph.read @e : tensor<16x64xf32>
  %a = graph.read @a : tensor<64x256xf32>
  %b = graph.read @b : tensor<256x64xf32>
  %head = graph.read @head : tensor<64x9xf32>
  %x = graph.contract "bi,ik->bk" %in, %e : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %h = graph.contract "bk,kn->bn" %x, %a : (tensor<8x64xf32>, tensor<64x256xf32>) -> tensor<8x256xf32>
  %g = graph.gelu %h {form = #graph<gelu_form exact>} : tensor<8x256xf32>
  %o = graph.contract "bn,nk->bk" %g, %b : (tensor<8x256xf32>, tensor<256x64xf32>) -> tensor<8x64xf32>
  %y = graph.add %x, %o : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %logits = graph.contract "bk,kn->bn" %y, %head : (tensor<8x64xf32>, tensor<64x9xf32>) -> tensor<8x9xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels : (tensor<8x9xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}

// The activation is computed again from the product, which is kept.
// SELECTIVE: %[[X:.*]] = graph.contract "bi,ik->bk" %arg0,
// SELECTIVE: %[[H:.*]] = graph.contract "bk,kn->bn" %[[X]], {{.*}}phase = "F"
// SELECTIVE: graph.cross_entropy_grad
// SELECTIVE: %[[KEPT:.*]] = graph.barrier %[[H]] {origin = 5 : i64, origin_factors = array<i64: 0, 1>, phase = "R", segment = 0 : i64}
// SELECTIVE-NEXT: %[[REDONE:.*]] = graph.gelu %[[KEPT]] {{.*}}origin = 6 : i64, origin_factors = array<i64: 0, 1>, phase = "R"
// SELECTIVE-NEXT: graph.contract {{.*}} %[[REDONE]] {origin = 7 : i64, {{.*}}phase = "W"
// The gradient of the activation reads it from there too: what both make of it is not kept from the forward pass on.
// Nothing else is computed again.
// SELECTIVE: graph.gelu_grad %[[KEPT]],
// SELECTIVE-NOT: phase = "R"

// The layer is computed again from the input, as far as its backward pass asks: not its last product. The head's
// backward pass comes at once.
// FULL: graph.contract "bi,ik->bk" %arg0,
// FULL: graph.cross_entropy_grad
// FULL-NOT: phase = "R"
// FULL: %[[IN:.*]] = graph.barrier %arg0 {{.*}}phase = "R"
// FULL-NEXT: %[[XREDONE:.*]] = graph.contract "bi,ik->bk" %[[IN]], {{.*}}phase = "R"
// FULL-NEXT: %[[H:.*]] = graph.contract "bk,kn->bn" %[[XREDONE]], {{.*}}phase = "R"
// FULL-NEXT: graph.gelu %[[H]] {{.*}}phase = "R"
// FULL: graph.gelu_grad %[[H]],
// FULL-NOT: phase = "R"

// AGAIN: %[[X:.*]] = graph.contract "bi,ik->bk" %arg0,
// AGAIN: %[[IN:.*]] = graph.barrier %[[X]]
// AGAIN-NEXT: %[[H:.*]] = graph.contract "bk,kn->bn" %[[IN]], {{.*}}origin = 5 : i64, {{.*}}phase = "R"
// AGAIN-NEXT: graph.gelu_grad %[[H]],
// AGAIN-NOT: phase = "R"

// KEEP: graph.gelu_grad
// KEEP-NOT: phase = "R"
