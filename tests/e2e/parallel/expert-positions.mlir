// Experts whose columns ranks of tp share out, where tokens lie split by positions over tp: these are gathered over tp,
// then sent by their picks over ep; sums go home in the other order. Before, rows of other positions than those of the
// picks were sent, which was refused.
// DEFINE: %{model} = dtcc %s "--pin=experts.in=[{},{},{tp},{}]" --sequence-parallel=on --moe-dispatch=alltoall
// RUN: %{model} --mesh=dp=1,ep=2,tp=2 --verify -o %t 2>&1 | FileCheck %s --check-prefix=FOUR
// RUN: %{model} --mesh=dp=1,ep=4,tp=2 --zero=3 --verify -o %t 2>&1 | FileCheck %s --check-prefix=EIGHT
// RUN: %{model} --mesh=dp=2,ep=2,tp=2 --microbatches=2 --zero=1 --recompute=full --verify -o %t 2>&1 | FileCheck %s --check-prefix=EIGHT
// RUN: %{model} --mesh=cp=2,dp=1,ep=2,tp=2 --zero=2 --verify -o %t 2>&1 | FileCheck %s --check-prefix=EIGHT
// FOUR: verified: 2 steps on 4 ranks equal the whole step
// EIGHT: verified: 2 steps on 8 ranks equal the whole step

// RUN: %{model} --mesh=dp=1,ep=2,tp=2 --no-eval --emit=spmd -o - | FileCheck %s
// Forward, the tokens are an input that every rank has whole; backward, gradients are gathered first.
// CHECK: %[[IDS:.*]] = spmd.all_gather %{{.*}} dim 1 over ["tp"] : tensor<8x2x2xi64> -> tensor<8x4x2xi64>
// CHECK: spmd.dispatch_rows %{{.*}}, %[[IDS]] over ["ep"] experts 2 : (tensor<4x4x16xf32>, tensor<8x4x2xi64>) -> tensor<8x4x16xf32>
// CHECK: %[[Y:.*]] = spmd.combine_rows %{{.*}}, %[[IDS]] over ["ep"] experts 2 : (tensor<8x4x16xf32>, tensor<8x4x2xi64>) -> tensor<4x4x16xf32>
// CHECK-NEXT: spmd.reduce_scatter{{ +}}sum %[[Y]] dim 1 over ["tp"] : tensor<4x4x16xf32> -> tensor<4x2x16xf32>
// CHECK: %[[DY:.*]] = spmd.all_gather %{{.*}} dim 1 over ["tp"] : tensor<4x2x16xf32> -> tensor<4x4x16xf32>
// CHECK-NEXT: spmd.dispatch_rows %[[DY]], %[[IDS]] over ["ep"] experts 2 : (tensor<4x4x16xf32>, tensor<8x4x2xi64>) -> tensor<8x4x16xf32>

graph.state @router : tensor<4x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "router.weight", saved_shape = array<i64: 4, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @in : tensor<4x2x6x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.in", saved_shape = array<i64: 4, 2, 6, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @out : tensor<4x16x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.out", saved_shape = array<i64: 4, 16, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<16x5xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head.weight", saved_shape = array<i64: 16, 5>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<8x4x16xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8x4xi64> {graph.name = "labels", graph.role = "labels", graph.bounds = array<i64: 0, 5, -100>}) -> (tensor<f32>, tensor<f32>) {
  %router = graph.read @router : tensor<4x16xf32>
  %scores = graph.contract "btc,ec->bte" %x, %router : (tensor<8x4x16xf32>, tensor<4x16xf32>) -> tensor<8x4x4xf32>
  %p = graph.softmax %scores [2] : tensor<8x4x4xf32>
  %r, %i = graph.top_k %p : (tensor<8x4x4xf32>) -> (tensor<8x4x2xf32>, tensor<8x4x2xi64>)
  %in = graph.read @in : tensor<4x2x6x16xf32>
  %out = graph.read @out : tensor<4x16x6xf32>
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<8x4x16xf32>, tensor<8x4x2xi64>, tensor<8x4x2xf32>, tensor<4x2x6x16xf32>, tensor<4x16x6xf32>) -> (tensor<8x4x16xf32>, tensor<8x4x2x2x6xf32>)
  %z = graph.add %x, %y : (tensor<8x4x16xf32>, tensor<8x4x16xf32>) -> tensor<8x4x16xf32>
  %head = graph.read @head : tensor<16x5xf32>
  %logits = graph.contract "btn,nv->btv" %z, %head : (tensor<8x4x16xf32>, tensor<16x5xf32>) -> tensor<8x4x5xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<8x4x5xf32>, tensor<8x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x4xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
