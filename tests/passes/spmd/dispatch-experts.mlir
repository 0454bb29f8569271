// Tokens go to the ranks whose experts they picked: four ranks, two picks. Picks and weights are gathered, the gradients
// of weights scattered; rows of tokens are not.
// RUN: dtcc-opt %S/Inputs/expert-layer.mlir --graph-differentiate --spmd-search-plan="ranks=4 dp=1 tp=1 ep=4 zero=0" --cse --spmd-dispatch-experts | FileCheck %s
// RUN: dtcc-opt %S/Inputs/expert-layer.mlir --graph-differentiate --spmd-search-plan="ranks=4 dp=1 tp=1 ep=4 zero=0" --cse --spmd-verify --spmd-dispatch-experts --spmd-lower-to-program --spmd-print-collectives -o /dev/null | FileCheck %s --check-prefix=BYTES --match-full-lines
// With two ranks and two picks the worst case of a dispatch is a gather.
// RUN: dtcc-opt %S/Inputs/expert-layer.mlir --graph-differentiate --spmd-search-plan="ranks=2 dp=1 tp=1 ep=2 zero=0" --cse --spmd-dispatch-experts --spmd-lower-to-program --spmd-print-collectives -o /dev/null | FileCheck %s --check-prefix=TWO --match-full-lines

// CHECK: %[[IDS:.*]] = spmd.reshard %{{.*}} : !spmd.tensor<8x3x2xi64, @mesh, [{ep},{},{}]> -> !spmd.tensor<8x3x2xi64, @mesh, [{},{},{}]>
// CHECK: %[[X:.*]] = spmd.dispatch_rows %{{.*}}, %[[IDS]] over ["ep"] experts 1 : (!spmd.tensor<8x3x16xf32, @mesh, [{ep},{},{}]>, !spmd.tensor<8x3x2xi64, @mesh, [{},{},{}]>) -> !spmd.tensor<8x3x16xf32, @mesh, [{},{},{}]>
// CHECK: %[[Y:.*]], %{{.*}} = graph.experts %[[X]], %[[IDS]]
// CHECK: spmd.combine_rows %[[Y]], %[[IDS]] over ["ep"] experts 1
// CHECK: %[[DY:.*]] = spmd.dispatch_rows %{{.*}}, %[[IDS]] over ["ep"] experts 1
// CHECK: %[[DX:.*]], %{{.*}}, %{{.*}} = graph.experts_grad %[[DY]], %[[IDS]]
// The rows of tokens were dispatched once for both passes.
// CHECK-NOT: spmd.dispatch_rows
// CHECK: graph.experts_weight_grad %[[DY]], %[[X]], %[[IDS]]

// Of 6 tokens a rank: 6 x 16 x 4 bytes to at most two others; a gather would receive 1536 bytes.
// BYTES-DAG: microbatch dispatch_rows over ep (4 ranks): 2 x, 1536 bytes
// BYTES-DAG: microbatch combine_rows over ep (4 ranks): 1 x, 768 bytes
// BYTES-DAG: microbatch all_gather over ep (4 ranks): 2 x, 576 bytes
// BYTES-DAG: microbatch reduce_scatter over ep (4 ranks): 1 x, 192 bytes
// TWO-NOT: {{.*}}_rows{{.*}}
