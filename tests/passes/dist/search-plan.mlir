// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-search-plan="ranks=2 cores=2 tp=2" | FileCheck %s --check-prefix=TENSOR
// RUN: dtcc-opt %S/Inputs/mlp.mlir --dist-search-plan="ranks=4 cores=4" | FileCheck %s --check-prefix=SEARCHED

// Columns, then rows, then one reduction: found, not matched.
// TENSOR: graph.state @w1 {{.*}}!dist.tensor<4x6xf32, @mesh, [{},{tp}]>
// TENSOR: graph.state @b1 {{.*}}!dist.tensor<6xf32, @mesh, [{tp}]>
// TENSOR: graph.state @w2 {{.*}}!dist.tensor<6x9xf32, @mesh, [{tp},{}]>
// TENSOR: dist.reshard %{{.*}} : !dist.tensor<8x9xf32, @mesh, [{},{}], partial(sum {tp})> -> !dist.tensor<8x9xf32, @mesh, [{},{}]>
// TENSOR-NOT: dist.reshard

// A model of 80 parameters: splitting the batch is all that pays.
// SEARCHED: dist.mesh @mesh [#dist.axis<"mb", 1, time>, #dist.axis<"dp", 4, rank>, #dist.axis<"tp", 1, rank>]
// SEARCHED-NOT: dist.reshard
