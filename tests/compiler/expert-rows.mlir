// The forecast of a rank's memory counts the rows that its experts may be sent: those of all tokens of the group, since
// these may all pick one rank. It is near what the program holds, whichever ranks hold the experts.
// DEFINE: %{search} = dtcc-plan search %s --cluster=cpu:4 --microbatches=1 --recompute=none --zero=0
// RUN: %{search} --mesh=dp=4 | FileCheck %s
// RUN: %{search} --mesh=ep=4 | FileCheck %s
// RUN: %{search} --mesh=dp=2,ep=2 | FileCheck %s
// RUN: %{search} --mesh=tp=4 --sequence-parallel=off | FileCheck %s
// CHECK: plan 1 is compiled: its program holds {{.*}} a rank; the search's estimate was {{.*}} ({{[+-]?[0-8]\.[0-9]}} %)
graph.state @router : tensor<4x64xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "router.weight", saved_shape = array<i64: 4, 64>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @in : tensor<4x2x128x64xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.in", saved_shape = array<i64: 4, 2, 128, 64>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @out : tensor<4x64x128xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.out", saved_shape = array<i64: 4, 64, 128>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<64x5xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head.weight", saved_shape = array<i64: 64, 5>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<512x64x64xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<512x64xi64> {graph.name = "labels", graph.role = "labels", graph.bounds = array<i64: 0, 5, -100>}) -> (tensor<f32>, tensor<f32>) {
  %router = graph.read @router : tensor<4x64xf32>
  %scores = graph.contract "btc,ec->bte" %x, %router : (tensor<512x64x64xf32>, tensor<4x64xf32>) -> tensor<512x64x4xf32>
  %p = graph.softmax %scores [2] : tensor<512x64x4xf32>
  %r, %i = graph.top_k %p : (tensor<512x64x4xf32>) -> (tensor<512x64x2xf32>, tensor<512x64x2xi64>)
  %in = graph.read @in : tensor<4x2x128x64xf32>
  %out = graph.read @out : tensor<4x64x128xf32>
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<512x64x64xf32>, tensor<512x64x2xi64>, tensor<512x64x2xf32>, tensor<4x2x128x64xf32>, tensor<4x64x128xf32>) -> (tensor<512x64x64xf32>, tensor<512x64x2x2x128xf32>)
  %z = graph.add %x, %y : (tensor<512x64x64xf32>, tensor<512x64x64xf32>) -> tensor<512x64x64xf32>
  %head = graph.read @head : tensor<64x5xf32>
  %logits = graph.contract "btn,nv->btv" %z, %head : (tensor<512x64x64xf32>, tensor<64x5xf32>) -> tensor<512x64x5xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<512x64x5xf32>, tensor<512x64xi64>) -> (tensor<f32>, tensor<f32>, tensor<512x64xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
