// A mesh is taken with what it can split. Ranks of tp share the hidden units; the seven classes do not divide, and adding one
// would make ones of their padding, which the sum over classes and the gradient of w2 would see. One note says so.
// RUN: rm -rf %t && mkdir %t && %python %S/Inputs/random_npy.py %t
// RUN: dtcc %s --mesh=dp=1 -o %t/one && %t/one --data=%t --steps=6 --metrics=%t/one.jsonl
// RUN: dtcc %s --mesh=tp=2 --verify -o %t/two 2>&1 | FileCheck %s --implicit-check-not=note:
// RUN: %t/two --data=%t --steps=6 --metrics=%t/two.jsonl
// RUN: dtcc %s --mesh=dp=2,tp=4 --zero=1 --verify -o %t/many && %t/many --data=%t --steps=6 --metrics=%t/many.jsonl
// RUN: %source/tools/compare-losses %t/one.jsonl %t/two.jsonl 1e-5
// RUN: %source/tools/compare-losses %t/one.jsonl %t/many.jsonl 1e-5
// CHECK: whole-ops.mlir:[[#@LINE+15]]:{{[0-9]+}}: note: every rank of tp=2 computes it whole: 7 does not divide, and padding of it is not known to be harmless in reduce; whole too: reduce
// A pin cannot have it otherwise.
// RUN: not dtcc %s --mesh=tp=2 "--pin=w2=[{tp},{}]" -o %t/pinned 2>&1 | FileCheck %s --check-prefix=PIN
// PIN: error: --pin=w2=[{tp},{}]: 'w2' of dimensions [7, 20] cannot be split so over tp=2
graph.state @w1 : tensor<12x20xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w1",
    saved_shape = array<i64: 12, 20>, init = #graph.init<uniform, -0.5, 0.5>}
graph.state @w2 : tensor<7x20xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w2",
    saved_shape = array<i64: 7, 20>, init = #graph.init<uniform, -0.5, 0.5>}
func.func @loss(%x: tensor<8x12xf32> {graph.name = "x", graph.role = "data"}) -> (tensor<f32>, tensor<f32>) {
  %0 = graph.read @w1 : tensor<12x20xf32>
  %1 = graph.read @w2 : tensor<7x20xf32>
  %2 = graph.contract "bk,kn->bn" %x, %0 : (tensor<8x12xf32>, tensor<12x20xf32>) -> tensor<8x20xf32>
  %3 = graph.relu %2 : tensor<8x20xf32>
  %4 = graph.contract "bn,cn->bc" %3, %1 : (tensor<8x20xf32>, tensor<7x20xf32>) -> tensor<8x7xf32>
  %one = graph.constant dense<1.0> : tensor<8x7xf32> : tensor<8x7xf32>
  %5 = graph.add %4, %one : (tensor<8x7xf32>, tensor<8x7xf32>) -> tensor<8x7xf32>
  %sum = graph.reduce sum %5 [0, 1] : (tensor<8x7xf32>) -> tensor<f32>
  %count = graph.constant dense<8.0> : tensor<f32> : tensor<f32>
  return %sum, %count : tensor<f32>, tensor<f32>
}
