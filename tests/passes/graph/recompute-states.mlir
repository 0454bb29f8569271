// RUN: dtcc-opt %s --graph-differentiate --graph-recompute="mode=none again=5,6" --graph-verify-step --cse | FileCheck %s

// A bias as all rows read it is larger than the bias: what is computed again makes it again, too, or it would be kept from
// the forward pass on.
graph.state @a : tensor<64x256xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "a", saved_shape = array<i64: 64, 256>, init = #graph.init<normal, 0.0, 0.02>}
graph.state @bias : tensor<256xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "bias", saved_shape = array<i64: 256>, init = #graph.init<zero>}
graph.state @head : tensor<256x9xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head", saved_shape = array<i64: 256, 9>, init = #graph.init<normal, 0.0, 0.02>}

func.func @loss(%in: tensor<8x64xf32>, %labels: tensor<8xi64>) -> (tensor<f32>, tensor<f32>) {
  %a = graph.read @a : tensor<64x256xf32>
  %bias = graph.read @bias : tensor<256xf32>
  %head = graph.read @head : tensor<256x9xf32>
  %product = graph.contract "bk,kn->bn" %in, %a : (tensor<8x64xf32>, tensor<64x256xf32>) -> tensor<8x256xf32>
  %rows = graph.broadcast %bias [1] : (tensor<256xf32>) -> tensor<8x256xf32>
  %h = graph.add %product, %rows : (tensor<8x256xf32>, tensor<8x256xf32>) -> tensor<8x256xf32>
  %g = graph.gelu %h {form = #graph<gelu_form exact>} : tensor<8x256xf32>
  %logits = graph.contract "bk,kn->bn" %g, %head : (tensor<8x256xf32>, tensor<256x9xf32>) -> tensor<8x9xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels : (tensor<8x9xf32>, tensor<8xi64>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}

// CHECK: %[[BIAS:.*]] = graph.read @bias
// CHECK: %[[PRODUCT:.*]] = graph.contract "bk,kn->bn" %arg0,
// CHECK: graph.broadcast %[[BIAS]] {{.*}}phase = "F"
// CHECK: graph.cross_entropy_grad
// CHECK: %[[KEPT:.*]] = graph.barrier %[[PRODUCT]]
// CHECK-NEXT: %[[ROWS:.*]] = graph.broadcast %[[BIAS]] {{.*}}phase = "R"
// CHECK-NEXT: %[[H:.*]] = graph.add %[[KEPT]], %[[ROWS]] {{.*}}phase = "R"
// CHECK-NEXT: graph.gelu %[[H]] {{.*}}phase = "R"
