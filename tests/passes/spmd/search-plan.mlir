// RUN: dtcc-opt %S/Inputs/gpt.mlir --graph-differentiate --spmd-search-plan="ranks=2 cores=2 tp=2" | FileCheck %s --check-prefix=TENSOR
// RUN: dtcc-opt %S/Inputs/mlp.mlir --spmd-search-plan="ranks=4 cores=4" | FileCheck %s --check-prefix=SEARCHED

// Columns, then rows, then one reduction: found, not matched. Attention by heads, likewise.
// TENSOR: graph.contract "btc,cshd->btshd" {{.*}} -> !spmd.tensor<8x4x3x3x2xf32, @mesh, [{},{},{},{tp},{}]
// TENSOR: [[Y:%.*]] = graph.contract "bthd,hdc->btc" {{.*}}partial(sum {tp})>
// TENSOR: spmd.reshard [[Y]] : {{.*}}partial(sum {tp})> -> !spmd.tensor<8x4x6xf32, @mesh, [{},{},{}]>
// TENSOR: graph.contract "btc,cn->btn" {{.*}} -> !spmd.tensor<8x4x10xf32, @mesh, [{},{},{tp}]>
// TENSOR: [[Z:%.*]] = graph.contract "btn,nc->btc" {{.*}}partial(sum {tp})>
// TENSOR: spmd.reshard [[Z]] : {{.*}}partial(sum {tp})> -> !spmd.tensor<8x4x6xf32, @mesh, [{},{},{}]>

// A model of 80 parameters: splitting the batch is all that pays.
// SEARCHED: spmd.mesh @mesh [#spmd.axis<"mb", 1, time>, #spmd.axis<"dp", 4, rank>, #spmd.axis<"tp", 1, rank>]
// SEARCHED-NOT: spmd.reshard
