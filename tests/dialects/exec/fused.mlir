// RUN: dtcc-opt %s | dtcc-opt | FileCheck %s

// CHECK-LABEL: func.func @fused
func.func @fused(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: exec.fused(%{{.*}}, %{{.*}}) {name = "add_relu"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: exec.yield %{{.*}} : tensor<4x8xf32>
  %r = exec.fused(%a, %b) {name = "add_relu"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>):
    %s = graph.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %z = graph.relu %s : tensor<4x8xf32>
    exec.yield %z : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// CHECK: exec.func @relu buffers [memref<8x4xf32, strided<[1, 8]>>, memref<8x4xf32>] accumulate [2] in_place [-1] {
exec.func @relu buffers [memref<8x4xf32, strided<[1, 8]>>, memref<8x4xf32>] accumulate [2] in_place [-1] {
^bb0(%x: tensor<8x4xf32>):
  %y = graph.relu %x : tensor<8x4xf32>
  exec.yield %y : tensor<8x4xf32>
}
