// RUN: dtcc-opt --exec-generate-kernels %s | FileCheck %s

// A bias and gelu over [8, 24] are one loop over 192 cells, in vectors of 16: their addresses walk one stride.
// CHECK-LABEL: llvm.func @biasGelu(
// CHECK-SAME: dtcc.extent = 8 : i64
// CHECK: scf.for
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK: math.tanh
// CHECK: llvm.store
// CHECK-NOT: exec.func
exec.func @biasGelu buffers [memref<8x24xf32>, memref<24xf32>, memref<8x24xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<8x24xf32>, %b: tensor<24xf32>):
  %0 = graph.broadcast %b [1] : (tensor<24xf32>) -> tensor<8x24xf32>
  %1 = graph.add %x, %0 : (tensor<8x24xf32>, tensor<8x24xf32>) -> tensor<8x24xf32>
  %2 = graph.gelu %1 {form = #graph<gelu_form tanh>} : tensor<8x24xf32>
  exec.yield %2 : tensor<8x24xf32>
}

// A broadcast of a constant that repeats nothing walks the constant's cells, and what reads it the same.
// CHECK-LABEL: llvm.func @scaled(
// CHECK: arith.mulf
// CHECK-NOT: exec.func
exec.func @scaled buffers [memref<4xf32, strided<[2]>>, memref<4xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4xf32>):
  %0 = graph.constant dense<0.25> : tensor<4xf32> : tensor<4xf32>
  %1 = graph.broadcast %0 [0] : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.mul %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  exec.yield %2 : tensor<4xf32>
}
