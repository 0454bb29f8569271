// RUN: dtcc-opt --exec-split-sums %s | FileCheck %s

// Few columns: the samples are summed by themselves, and then all of them.
// CHECK-LABEL: func.func @few(
// CHECK: %[[SAMPLES:.*]] = graph.reduce  sum %{{.*}} [1] : (tensor<64x512x96xf32>) -> tensor<64x96xf32>
// CHECK: %[[SUM:.*]] = graph.reduce  sum %[[SAMPLES]] [0] : (tensor<64x96xf32>) -> tensor<96xf32>
// CHECK: return %[[SUM]]
func.func @few(%x: tensor<64x512x96xf32>) -> tensor<96xf32> {
  %y = graph.reduce sum %x [0, 1] : (tensor<64x512x96xf32>) -> tensor<96xf32>
  return %y : tensor<96xf32>
}

// As many of the outer dimensions as keep a GPU busy: 64 x 96 columns do not, 64 x 8 x 96 do. A sum of halves is rounded
// once, a maximum never.
// CHECK-LABEL: func.func @halves(
// CHECK: %[[LINES:.*]] = graph.reduce  sum %{{.*}} [2] : (tensor<64x8x64x96xbf16>) -> tensor<64x8x96xf32>
// CHECK: %[[SUM:.*]] = graph.reduce  sum %[[LINES]] [0, 1] : (tensor<64x8x96xf32>) -> tensor<96xf32>
// CHECK: graph.cast %[[SUM]] : (tensor<96xf32>) -> tensor<96xbf16>
// CHECK: %[[MOST:.*]] = graph.reduce  max %{{.*}} [2] : (tensor<64x8x64x96xbf16>) -> tensor<64x8x96xbf16>
// CHECK: graph.reduce  max %[[MOST]] [0, 1] : (tensor<64x8x96xbf16>) -> tensor<96xbf16>
func.func @halves(%x: tensor<64x8x64x96xbf16>) -> (tensor<96xbf16>, tensor<96xbf16>) {
  %y = graph.reduce sum %x [0, 1, 2] : (tensor<64x8x64x96xbf16>) -> tensor<96xbf16>
  %z = graph.reduce max %x [0, 1, 2] : (tensor<64x8x64x96xbf16>) -> tensor<96xbf16>
  return %y, %z : tensor<96xbf16>, tensor<96xbf16>
}

// Dimensions that are left may stand between those that vanish.
// CHECK-LABEL: func.func @between(
// CHECK: %[[PART:.*]] = graph.reduce  sum %{{.*}} [2] : (tensor<64x4x512x8xf32>) -> tensor<64x4x8xf32>
// CHECK: graph.reduce  sum %[[PART]] [0] : (tensor<64x4x8xf32>) -> tensor<4x8xf32>
func.func @between(%x: tensor<64x4x512x8xf32>) -> tensor<4x8xf32> {
  %y = graph.reduce sum %x [0, 2] : (tensor<64x4x512x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// What stays: rows of adjacent cells; enough columns; few cells; a single row in the outer dimension; one dimension.
// CHECK-LABEL: func.func @stays(
// CHECK-COUNT-5: graph.reduce
// CHECK-NOT: graph.reduce
// CHECK: return
func.func @stays(%x: tensor<64x512x96xf32>, %wide: tensor<64x512x8192xf32>, %small: tensor<8x16x96xf32>, %one: tensor<1x4096x96xf32>) -> (tensor<64xf32>, tensor<8192xf32>, tensor<96xf32>, tensor<96xf32>, tensor<512x96xf32>) {
  %a = graph.reduce sum %x [1, 2] : (tensor<64x512x96xf32>) -> tensor<64xf32>
  %b = graph.reduce sum %wide [0, 1] : (tensor<64x512x8192xf32>) -> tensor<8192xf32>
  %c = graph.reduce sum %small [0, 1] : (tensor<8x16x96xf32>) -> tensor<96xf32>
  %d = graph.reduce sum %one [0, 1] : (tensor<1x4096x96xf32>) -> tensor<96xf32>
  %e = graph.reduce sum %x [0] : (tensor<64x512x96xf32>) -> tensor<512x96xf32>
  return %a, %b, %c, %d, %e : tensor<64xf32>, tensor<8192xf32>, tensor<96xf32>, tensor<96xf32>, tensor<512x96xf32>
}
