// RUN: dtcc-opt --exec-channels-last --cse %s | FileCheck %s

// A convolution and one of a single pixel, with a norm's sums and relu between them: all images are [n, h, w, c].
// CHECK-LABEL: func.func @network(
// CHECK-SAME: %[[INPUT:[a-z0-9]*]]: tensor<512x8x6x6xf32>
func.func @network(%x: tensor<512x8x6x6xf32>, %kernel: tensor<16x8x3x3xbf16>, %one: tensor<24x16xbf16>) -> tensor<512x384xbf16> {
  // What casts an input writes it with its channels last.
  // CHECK: %[[TURNED:.*]] = graph.transpose %[[INPUT]] [0, 2, 3, 1]
  // CHECK: %[[CAST:.*]] = graph.cast %[[TURNED]] : (tensor<512x6x6x8xf32>) -> tensor<512x6x6x8xbf16>
  // CHECK: %[[IMAGE:.*]] = graph.transpose %[[CAST]] [0, 3, 1, 2]
  %image = graph.cast %x : (tensor<512x8x6x6xf32>) -> tensor<512x8x6x6xbf16>
  // CHECK: %[[Y:.*]] = graph.convolution %[[IMAGE]], %{{.*}} -> tensor<512x16x6x6xbf16>
  // CHECK: %[[FORM:.*]] = graph.transpose %[[Y]] [0, 2, 3, 1]
  %y = graph.convolution %image, %kernel {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<512x8x6x6xbf16>, tensor<16x8x3x3xbf16>) -> tensor<512x16x6x6xbf16>
  // CHECK: %[[WIDE:.*]] = graph.cast %[[FORM]] : (tensor<512x6x6x16xbf16>) -> tensor<512x6x6x16xf32>
  %wide = graph.cast %y : (tensor<512x16x6x6xbf16>) -> tensor<512x16x6x6xf32>
  // The sum over all cells of a channel is one over those of a sample, and one over samples.
  // CHECK: %[[PART:.*]] = graph.reduce  sum %[[WIDE]] [1, 2] {{.*}} -> tensor<512x16xf32>
  // CHECK: %[[SUM:.*]] = graph.reduce  sum %[[PART]] [0] {{.*}} -> tensor<16xf32>
  %sum = graph.reduce sum %wide [0, 2, 3] : (tensor<512x16x6x6xf32>) -> tensor<16xf32>
  // What is made of broadcasts alone is made in the form.
  // CHECK: %[[MEAN:.*]] = graph.broadcast %[[SUM]] [3] {{.*}} -> tensor<512x6x6x16xf32>
  // CHECK: %[[SCALED:.*]] = graph.mul %[[MEAN]], %{{.*}} : (tensor<512x6x6x16xf32>
  // CHECK: graph.sub %[[WIDE]], %[[SCALED]]
  %mean = graph.broadcast %sum [1] : (tensor<16xf32>) -> tensor<512x16x6x6xf32>
  %count = graph.constant dense<5.0e-05> : tensor<512x16x6x6xf32> : tensor<512x16x6x6xf32>
  %scaled = graph.mul %mean, %count : (tensor<512x16x6x6xf32>, tensor<512x16x6x6xf32>) -> tensor<512x16x6x6xf32>
  %off = graph.sub %wide, %scaled : (tensor<512x16x6x6xf32>, tensor<512x16x6x6xf32>) -> tensor<512x16x6x6xf32>
  // CHECK: %[[RELU:.*]] = graph.relu %{{.*}} : tensor<512x6x6x16xf32>
  // CHECK: %[[HALF:.*]] = graph.cast %[[RELU]]
  %relu = graph.relu %off : tensor<512x16x6x6xf32>
  %half = graph.cast %relu : (tensor<512x16x6x6xf32>) -> tensor<512x16x6x6xbf16>
  // CHECK: %[[PIXELS:.*]] = graph.contract "acdb,eb->acde" %[[HALF]], %{{.*}} -> tensor<512x6x6x24xbf16>
  %pixels = graph.contract "abcd,eb->aecd" %half, %one : (tensor<512x16x6x6xbf16>, tensor<24x16xbf16>) -> tensor<512x24x6x6xbf16>
  // CHECK: %[[BACK:.*]] = graph.transpose %[[PIXELS]] [0, 3, 1, 2]
  // CHECK: %[[POOLED:.*]] = graph.max_pool %[[BACK]]
  // CHECK: %[[CELLS:.*]] = graph.transpose %[[POOLED]] [0, 2, 3, 1]
  %pooled = graph.max_pool %pixels {window = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<512x24x6x6xbf16>) -> tensor<512x24x3x3xbf16>
  // Cells of an image may be split and merged; channels that are mixed with them are a copy.
  // CHECK: %[[ROWS:.*]] = graph.reshape %[[CELLS]] : (tensor<512x3x3x24xbf16>) -> tensor<512x9x24xbf16>
  %rows = graph.reshape %pooled : (tensor<512x24x3x3xbf16>) -> tensor<512x24x9xbf16>
  // CHECK: %[[JOINED:.*]] = graph.concat %[[ROWS]], %[[ROWS]] {dim = 2 : i64} {{.*}} -> tensor<512x9x48xbf16>
  %joined = graph.concat %rows, %rows {dim = 1 : i64} : (tensor<512x24x9xbf16>, tensor<512x24x9xbf16>) -> tensor<512x48x9xbf16>
  // CHECK: %[[PADDED:.*]] = graph.pad %[[JOINED]] [0, 1, 0] [0, 0, 0] {{.*}} -> tensor<512x10x48xbf16>
  %padded = graph.pad %joined [0, 0, 1] [0, 0, 0] 0.0 : (tensor<512x48x9xbf16>) -> tensor<512x48x10xbf16>
  // CHECK: %[[CUT:.*]] = graph.slice %[[PADDED]] [0, 2, 0] [1, 1, 1] {{.*}} -> tensor<512x8x48xbf16>
  %cut = graph.slice %padded [0, 0, 2] [1, 1, 1] : (tensor<512x48x10xbf16>) -> tensor<512x48x8xbf16>
  // CHECK: %[[SEEN:.*]] = graph.transpose %[[CUT]] [0, 2, 1]
  // CHECK: graph.reshape %[[SEEN]] {{.*}} -> tensor<512x384xbf16>
  %flat = graph.reshape %cut : (tensor<512x48x8xbf16>) -> tensor<512x384xbf16>
  return %flat : tensor<512x384xbf16>
}

// Few samples of large images have their sums split by lines; the gradients of both operands keep channels last.
// CHECK-LABEL: func.func @gradients(
// CHECK-SAME: %[[DY:[a-z0-9]*]]: tensor<2x16x96x96xf32>, %[[X:[a-z0-9]*]]: tensor<2x8x96x96xf32>
func.func @gradients(%dy32: tensor<2x16x96x96xf32>, %x32: tensor<2x8x96x96xf32>, %kernel: tensor<16x8x3x3xbf16>) -> (tensor<8xf32>, tensor<16x8x3x3xf32>) {
  %dy = graph.cast %dy32 : (tensor<2x16x96x96xf32>) -> tensor<2x16x96x96xbf16>
  %x = graph.cast %x32 : (tensor<2x8x96x96xf32>) -> tensor<2x8x96x96xbf16>
  // CHECK: %[[DX:.*]] = graph.convolution_input_grad
  // CHECK: %[[FORM:.*]] = graph.transpose %[[DX]] [0, 2, 3, 1]
  %dx = graph.convolution_input_grad %dy, %kernel {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x16x96x96xbf16>, tensor<16x8x3x3xbf16>) -> tensor<2x8x96x96xbf16>
  // CHECK: %[[DW:.*]] = graph.convolution_kernel_grad {{.*}} -> tensor<16x8x3x3xf32>
  %dw = graph.convolution_kernel_grad %dy, %x {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x16x96x96xbf16>, tensor<2x8x96x96xbf16>) -> tensor<16x8x3x3xf32>
  // CHECK: %[[WIDE:.*]] = graph.cast %[[FORM]]
  %wide = graph.cast %dx : (tensor<2x8x96x96xbf16>) -> tensor<2x8x96x96xf32>
  // CHECK: %[[LINES:.*]] = graph.reduce  sum %[[WIDE]] [2] {{.*}} -> tensor<2x96x8xf32>
  // CHECK: %[[SUM:.*]] = graph.reduce  sum %[[LINES]] [0, 1] {{.*}} -> tensor<8xf32>
  %sum = graph.reduce sum %wide [0, 2, 3] : (tensor<2x8x96x96xf32>) -> tensor<8xf32>
  // CHECK: return %[[SUM]], %[[DW]]
  return %sum, %dw : tensor<8xf32>, tensor<16x8x3x3xf32>
}

// A sum of halves that is split is rounded once.
// CHECK-LABEL: func.func @rounded
// CHECK: %[[LINES:.*]] = graph.reduce  sum %{{.*}} [1, 2] {{.*}} -> tensor<512x16xf32>
// CHECK: %[[SUM:.*]] = graph.reduce  sum %[[LINES]] [0] {{.*}} -> tensor<16xf32>
// CHECK: graph.cast %[[SUM]] : (tensor<16xf32>) -> tensor<16xbf16>
func.func @rounded(%x: tensor<512x8x6x6xbf16>, %kernel: tensor<16x8x3x3xbf16>) -> tensor<16xbf16> {
  %y = graph.convolution %x, %kernel {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<512x8x6x6xbf16>, tensor<16x8x3x3xbf16>) -> tensor<512x16x6x6xbf16>
  %sum = graph.reduce sum %y [0, 2, 3] : (tensor<512x16x6x6xbf16>) -> tensor<16xbf16>
  return %sum : tensor<16xbf16>
}

// Images of f32 stay as they are.
// CHECK-LABEL: func.func @single
// CHECK-NOT: graph.transpose
// CHECK: return
func.func @single(%x: tensor<2x8x6x6xf32>, %kernel: tensor<16x8x3x3xf32>) -> tensor<2x16x6x6xf32> {
  %y = graph.convolution %x, %kernel {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x8x6x6xf32>, tensor<16x8x3x3xf32>) -> tensor<2x16x6x6xf32>
  %z = graph.relu %y : tensor<2x16x6x6xf32>
  return %z : tensor<2x16x6x6xf32>
}
