// The forecast of a rank's memory counts the experts that it holds: parameters, gradients and two moments of 100 million
// numbers, or of a quarter of them.
// RUN: dtcc %s -v --mesh=dp=4 --zero=0 --emit=plan -o %t 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: dtcc %s -v --mesh=dp=1,ep=4 --zero=0 --emit=plan -o %t 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: dtcc %s -v --mesh=dp=1,ep=2,tp=2 --zero=0 --emit=plan -o %t 2>&1 | FileCheck %s --check-prefix=SHARED
// WHOLE: plan dp=4 zero=0 microbatches=1: {{[0-9.]+}} s a step, 1.5{{[0-9]}} GiB a rank
// SHARED: zero=0 microbatches=1: {{[0-9.]+}} s a step, 3{{[0-9]+}} MiB a rank
// So of the program, also where experts are converted.
// RUN: dtcc-plan search %s --cluster=cpu:4 --mesh=ep=4 --zero=0 --precision=bf16 | FileCheck %s --check-prefix=HALVES
// HALVES: plan 1 is compiled: its program holds {{4[0-9][0-9]}} MiB a rank
graph.state @router : tensor<4x2048xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "router.weight", saved_shape = array<i64: 4, 2048>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @in : tensor<4x2x4096x2048xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.in", saved_shape = array<i64: 4, 2, 4096, 2048>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @out : tensor<4x2048x4096xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.out", saved_shape = array<i64: 4, 2048, 4096>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<2048x5xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head.weight", saved_shape = array<i64: 2048, 5>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<8x3x2048xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8x3xi64> {graph.name = "labels", graph.role = "labels", graph.bounds = array<i64: 0, 5, -100>}) -> (tensor<f32>, tensor<f32>) {
  %router = graph.read @router : tensor<4x2048xf32>
  %scores = graph.contract "btc,ec->bte" %x, %router : (tensor<8x3x2048xf32>, tensor<4x2048xf32>) -> tensor<8x3x4xf32>
  %p = graph.softmax %scores [2] : tensor<8x3x4xf32>
  %r, %i = graph.top_k %p : (tensor<8x3x4xf32>) -> (tensor<8x3x2xf32>, tensor<8x3x2xi64>)
  %in = graph.read @in : tensor<4x2x4096x2048xf32>
  %out = graph.read @out : tensor<4x2048x4096xf32>
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<8x3x2048xf32>, tensor<8x3x2xi64>, tensor<8x3x2xf32>, tensor<4x2x4096x2048xf32>, tensor<4x2048x4096xf32>) -> (tensor<8x3x2048xf32>, tensor<8x3x2x2x4096xf32>)
  %z = graph.add %x, %y : (tensor<8x3x2048xf32>, tensor<8x3x2048xf32>) -> tensor<8x3x2048xf32>
  %head = graph.read @head : tensor<2048x5xf32>
  %logits = graph.contract "btn,nv->btv" %z, %head : (tensor<8x3x2048xf32>, tensor<2048x5xf32>) -> tensor<8x3x5xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<8x3x5xf32>, tensor<8x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x3xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}
