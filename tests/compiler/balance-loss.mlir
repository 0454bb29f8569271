// A mixture of experts with its router's balance loss, as Mixtral has it: experts x sum over experts of the share of tokens
// that picked one times its mean probability. It is no sum over examples: the loss is that of the whole batch, on every rank
// and however experts and examples are split; the gradient reaches the router through the probabilities.
// RUN: rm -rf %t && mkdir %t
// RUN: dtcc %s --mesh=dp=2 --zero=1 --verify -o %t/dp 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: dtcc %s --mesh=dp=2,ep=2 --zero=3 --moe-dispatch=alltoall --verify -o %t/ep 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: dtcc %s --mesh=dp=1,ep=4,tp=2 --recompute=full --verify -o %t/ep 2>&1 | FileCheck %s --check-prefix=SAME
// SAME: verified: 2 steps on {{[248]}} ranks equal the whole step; the worst relative difference is {{[0-9.]+}}e-1
// What is reported is the whole loss: its parts are added up in kernels that do not stand in the order of the sum.
// RUN: %python -c "import struct; open('%t/x.npy', 'wb').write(b'\x93NUMPY\x01\x00v\x00' + repr(dict(descr='<f4', fortran_order=False, shape=(8, 3, 16))).ljust(117).encode() + b'\n' + bytes(4 * 384)); \
// RUN:   open('%t/labels.npy', 'wb').write(b'\x93NUMPY\x01\x00v\x00' + repr(dict(descr='<i8', fortran_order=False, shape=(8, 3))).ljust(117).encode() + b'\n' + bytes(8 * 24))"
// RUN: dtcc %s --mesh=dp=1 -o %t/one && %t/one --data=%t --steps=1 --metrics=%t/one.jsonl
// RUN: FileCheck %s --check-prefix=ZERO --input-file=%t/one.jsonl
// Of inputs of zero: log 5 of the classes, and 0.4 of the sum over experts of shares 1, 1, 0, 0 times 1/4.
// ZERO: "loss":1.80943
// RUN: dtcc %s --emit=graph -o %t/graph && FileCheck %s --input-file=%t/graph
// CHECK: graph.experts_grad

// Micro-batches would balance each for itself: another model.
// RUN: not dtcc %s --mesh=dp=2 --microbatches=2 -o %t/none 2>&1 | FileCheck %s --check-prefix=SLOTS
// SLOTS: error: {{.*}}samples of other micro-batches are out of reach
// If the user says so, each does balance itself, as gradient accumulation does.
// RUN: dtcc %s --mesh=dp=2 --microbatches=2 --batch-losses=microbatch --verify -o %t/slots 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: dtcc %s --mesh=dp=2,ep=2 --microbatches=2 --zero=2 --batch-losses=microbatch --verify -o %t/slots 2>&1 | FileCheck %s --check-prefix=PARTS
// The padding of experts that tp does not divide is evaluated on fewer samples than there are groups.
// RUN: dtcc %s --mesh=tp=3 --microbatches=8 --batch-losses=microbatch --verify -o %t/padded 2>&1 | FileCheck %s --check-prefix=PADDED
// PADDED: verified: 2 steps on 3 ranks equal the whole step
// PARTS: 1 term of the loss is computed from each of the 2 micro-batches
// PARTS: verified: 2 steps on {{[24]}} ranks equal the whole step
// One micro-batch is the whole batch, and a number of them must be said.
// RUN: dtcc %s --mesh=dp=2 --microbatches=1 --batch-losses=microbatch --emit=graph -o %t/graph && not grep group_sum %t/graph
// RUN: not dtcc %s --mesh=dp=2 --batch-losses=microbatch -o %t/none 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: --batch-losses=microbatch needs the number of micro-batches: --microbatches=N
// RUN: not dtcc %s --microbatches=3 --batch-losses=microbatch -o %t/none 2>&1 | FileCheck %s --check-prefix=DIVIDES
// DIVIDES: error: batch must divide by the number of micro-batches, 3, got: 8
// An input without samples cannot be shared out.
// RUN: sed -e 's/@loss(/@loss(%%scale: tensor<f32> {graph.name = "scale", graph.role = "data"}, /' %s > %t/scalar.mlir
// RUN: not dtcc %t/scalar.mlir --mesh=dp=2 -o %t/none 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: error: input 'scale' is a scalar, and all inputs must have a dimension of samples
// A plan that cannot be read does not say it.
// RUN: not dtcc %s --plan=%t/none.json --batch-losses=microbatch -o %t/none 2>&1 | FileCheck %s --check-prefix=UNREAD
// UNREAD: needs the number of micro-batches: --microbatches=N; the plan does not say it: {{.*}}none.json: cannot read the plan: No such file or directory
// Tokens of each expert may be counted in whole numbers.
// RUN: sed -e 's/tensor<8x3x2x4xi1>) -> tensor<8x3x2x4xf32>/tensor<8x3x2x4xi1>) -> tensor<8x3x2x4xi64>/' \
// RUN:   -e 's/%%counts = \(.*\)tensor<8x3x2x4xf32>) -> tensor<4xf32>/%%whole = \1tensor<8x3x2x4xi64>) -> tensor<4xi64> %%counts = graph.cast %%whole : (tensor<4xi64>) -> tensor<4xf32>/' %s > %t/counts.mlir
// RUN: dtcc %t/counts.mlir --mesh=dp=2 --microbatches=2 --batch-losses=microbatch --verify -o %t/slots 2>&1 | FileCheck %s --check-prefix=PARTS
graph.state @router : tensor<4x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "router.weight", saved_shape = array<i64: 4, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @in : tensor<4x2x6x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.in", saved_shape = array<i64: 4, 2, 6, 16>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @out : tensor<4x16x6xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "experts.out", saved_shape = array<i64: 4, 16, 6>, init = #graph.init<normal, 0.0, 0.5>}
graph.state @head : tensor<16x5xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "head.weight", saved_shape = array<i64: 16, 5>, init = #graph.init<normal, 0.0, 0.5>}
func.func @loss(%x: tensor<8x3x16xf32> {graph.name = "x", graph.role = "data"}, %labels: tensor<8x3xi64> {graph.name = "labels", graph.role = "labels", graph.bounds = array<i64: 0, 5, -100>}) -> (tensor<f32>, tensor<f32>) {
  %router = graph.read @router : tensor<4x16xf32>
  %scores = graph.contract "btc,ec->bte" %x, %router : (tensor<8x3x16xf32>, tensor<4x16xf32>) -> tensor<8x3x4xf32>
  %p = graph.softmax %scores [2] : tensor<8x3x4xf32>
  %r, %i = graph.top_k %p : (tensor<8x3x4xf32>) -> (tensor<8x3x2xf32>, tensor<8x3x2xi64>)
  %in = graph.read @in : tensor<4x2x6x16xf32>
  %out = graph.read @out : tensor<4x16x6xf32>
  %y, %h = graph.experts %x, %i, %r, %in, %out : (tensor<8x3x16xf32>, tensor<8x3x2xi64>, tensor<8x3x2xf32>, tensor<4x2x6x16xf32>, tensor<4x16x6xf32>) -> (tensor<8x3x16xf32>, tensor<8x3x2x2x6xf32>)
  %z = graph.add %x, %y : (tensor<8x3x16xf32>, tensor<8x3x16xf32>) -> tensor<8x3x16xf32>
  %head = graph.read @head : tensor<16x5xf32>
  %logits = graph.contract "btn,nv->btv" %z, %head : (tensor<8x3x16xf32>, tensor<16x5xf32>) -> tensor<8x3x5xf32>
  %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<8x3x5xf32>, tensor<8x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x3xf32>)
  %ce = graph.div %sum, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %expert = graph.iota {dim = 3 : i64} : tensor<8x3x2x4xi64>
  %wide = graph.broadcast %i [0, 1, 2] : (tensor<8x3x2xi64>) -> tensor<8x3x2x4xi64>
  %same = graph.compare eq %wide, %expert : (tensor<8x3x2x4xi64>, tensor<8x3x2x4xi64>) -> tensor<8x3x2x4xi1>
  %hot = graph.cast %same : (tensor<8x3x2x4xi1>) -> tensor<8x3x2x4xf32>
  %tokens = graph.constant dense<0.0416666679> : tensor<4xf32> : tensor<4xf32>
  %counts = graph.reduce sum %hot [0, 1, 2] : (tensor<8x3x2x4xf32>) -> tensor<4xf32>
  %share = graph.mul %counts, %tokens : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %total = graph.reduce sum %p [0, 1] : (tensor<8x3x4xf32>) -> tensor<4xf32>
  %mean = graph.mul %total, %tokens : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %both = graph.mul %share, %mean : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %balance = graph.reduce sum %both [0] : (tensor<4xf32>) -> tensor<f32>
  %weight = graph.constant dense<0.4> : tensor<f32> : tensor<f32>
  %extra = graph.mul %balance, %weight : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = graph.add %ce, %extra : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %loss, %one : tensor<f32>, tensor<f32>
}
