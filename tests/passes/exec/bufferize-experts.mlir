// RUN: dtcc-opt --exec-bufferize %s | FileCheck %s

// Rows of a grouped product that picked an expert of another rank are passed over: of 2 * 14 * 6 * 18 FLOP for all picks
// those of a rank of two are half.
// CHECK-LABEL: exec.program @experts
// CHECK: exec.library "grouped_matmul" {{.*}} [@over.ep] {flops = 1.512000e+03 : f64
// CHECK-LABEL: exec.program @all
// CHECK: exec.library "grouped_matmul" {{.*}} [unit] {flops = 3.024000e+03 : f64
spmd.mesh @mesh [#spmd.axis<"ep", 2, rank>]
spmd.program @experts mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.input "x" of !spmd.tensor<14x6xf32, @mesh, [{}, {}]> {role = "data"} : tensor<14x6xf32>
    %w = spmd.input "w" of !spmd.tensor<4x18x6xf32, @mesh, [{}, {}, {}]> {role = "data"} : tensor<4x18x6xf32>
    %i = spmd.input "i" of !spmd.tensor<14x1xi64, @mesh, [{}, {}]> {role = "data"} : tensor<14x1xi64>
    %y = graph.grouped_contract "mc,efc->mkf" rows "mk" %x, %w, %i {group_axes = ["ep"]} : (tensor<14x6xf32>, tensor<4x18x6xf32>, tensor<14x1xi64>) -> tensor<14x1x18xf32>
    spmd.yield
  }
}
spmd.program @all mesh @mesh {
  spmd.phase @microbatch {
    %x = spmd.input "x" of !spmd.tensor<14x6xf32, @mesh, [{}, {}]> {role = "data"} : tensor<14x6xf32>
    %w = spmd.input "w" of !spmd.tensor<4x18x6xf32, @mesh, [{}, {}, {}]> {role = "data"} : tensor<4x18x6xf32>
    %i = spmd.input "i" of !spmd.tensor<14x1xi64, @mesh, [{}, {}]> {role = "data"} : tensor<14x1xi64>
    %y = graph.grouped_contract "mc,efc->mkf" rows "mk" %x, %w, %i : (tensor<14x6xf32>, tensor<4x18x6xf32>, tensor<14x1xi64>) -> tensor<14x1x18xf32>
    spmd.yield
  }
}
