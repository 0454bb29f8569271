// RUN: dtcc-opt --exec-channels-last --exec-split-sums --cse %s | FileCheck %s

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

// A norm over groups of channels: channels are split and joined in the form, and a sum over a group is one over cells, whose
// columns lie side by side, and a small one over the channels of the group.
// CHECK-LABEL: func.func @groups(
func.func @groups(%x: tensor<64x128x8x8xbf16>, %kernel: tensor<128x128x3x3xbf16>, %scale: tensor<4x32xf32>) -> tensor<64x128x8x8xbf16> {
  // CHECK: %[[Y:.*]] = graph.convolution
  // CHECK: %[[FORM:.*]] = graph.transpose %[[Y]] [0, 2, 3, 1]
  %y = graph.convolution %x, %kernel {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<64x128x8x8xbf16>, tensor<128x128x3x3xbf16>) -> tensor<64x128x8x8xbf16>
  // CHECK: %[[SPLIT:.*]] = graph.reshape %[[FORM]] : (tensor<64x8x8x128xbf16>) -> tensor<64x8x8x4x32xbf16>
  // CHECK: %[[WIDE:.*]] = graph.cast %[[SPLIT]]
  %split = graph.reshape %y : (tensor<64x128x8x8xbf16>) -> tensor<64x4x32x8x8xbf16>
  %wide = graph.cast %split : (tensor<64x4x32x8x8xbf16>) -> tensor<64x4x32x8x8xf32>
  // CHECK: %[[COLUMNS:.*]] = graph.reduce  sum %[[WIDE]] [1, 2] {{.*}} -> tensor<64x4x32xf32>
  // CHECK: %[[SUM:.*]] = graph.reduce  sum %[[COLUMNS]] [2] {{.*}} -> tensor<64x4xf32>
  %sum = graph.reduce sum %wide [2, 3, 4] : (tensor<64x4x32x8x8xf32>) -> tensor<64x4xf32>
  // CHECK: %[[MEAN:.*]] = graph.broadcast %[[SUM]] [0, 3] {{.*}} -> tensor<64x8x8x4x32xf32>
  // CHECK: %[[OFF:.*]] = graph.sub %[[WIDE]], %[[MEAN]]
  %mean = graph.broadcast %sum [0, 1] : (tensor<64x4xf32>) -> tensor<64x4x32x8x8xf32>
  %off = graph.sub %wide, %mean : (tensor<64x4x32x8x8xf32>, tensor<64x4x32x8x8xf32>) -> tensor<64x4x32x8x8xf32>
  // CHECK: %[[SCALES:.*]] = graph.broadcast %{{.*}} [3, 4] {{.*}} -> tensor<64x8x8x4x32xf32>
  // CHECK: %[[SCALED:.*]] = graph.mul %[[OFF]], %[[SCALES]]
  %scales = graph.broadcast %scale [1, 2] : (tensor<4x32xf32>) -> tensor<64x4x32x8x8xf32>
  %scaled = graph.mul %off, %scales : (tensor<64x4x32x8x8xf32>, tensor<64x4x32x8x8xf32>) -> tensor<64x4x32x8x8xf32>
  // The scales of cells of a group that are all one number are that number: no transpose of it.
  // CHECK: %[[ONES:.*]] = graph.broadcast %{{.*}} [] : (tensor<f32>) -> tensor<64x8x8x4x32xf32>
  // CHECK: %[[SAME:.*]] = graph.mul %[[SCALED]], %[[ONES]]
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %cells = graph.broadcast %one [] : (tensor<f32>) -> tensor<32x8x8xf32>
  %ones = graph.broadcast %cells [2, 3, 4] : (tensor<32x8x8xf32>) -> tensor<64x4x32x8x8xf32>
  %same = graph.mul %scaled, %ones : (tensor<64x4x32x8x8xf32>, tensor<64x4x32x8x8xf32>) -> tensor<64x4x32x8x8xf32>
  // CHECK: %[[HALF:.*]] = graph.cast %[[SAME]]
  // CHECK: %[[BACK:.*]] = graph.reshape %[[HALF]] {{.*}} -> tensor<64x8x8x128xbf16>
  // CHECK: %[[IMAGE:.*]] = graph.transpose %[[BACK]] [0, 3, 1, 2]
  // CHECK: graph.convolution %[[IMAGE]]
  %half = graph.cast %same : (tensor<64x4x32x8x8xf32>) -> tensor<64x4x32x8x8xbf16>
  %back = graph.reshape %half : (tensor<64x4x32x8x8xbf16>) -> tensor<64x128x8x8xbf16>
  %z = graph.convolution %back, %kernel {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<64x128x8x8xbf16>, tensor<128x128x3x3xbf16>) -> tensor<64x128x8x8xbf16>
  return %z : tensor<64x128x8x8xbf16>
}

// Few samples have a group's sums split by lines too; a sum over an image whole is one over a row of memory.
// CHECK-LABEL: func.func @few_samples(
func.func @few_samples(%x: tensor<2x32x96x96xbf16>, %kernel: tensor<32x32x3x3xbf16>) -> (tensor<2x4xbf16>, tensor<2xf32>) {
  // CHECK: %[[FORM:.*]] = graph.transpose %{{.*}} [0, 2, 3, 1]
  // CHECK: %[[SPLIT:.*]] = graph.reshape %[[FORM]]
  %y = graph.convolution %x, %kernel {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x32x96x96xbf16>, tensor<32x32x3x3xbf16>) -> tensor<2x32x96x96xbf16>
  %split = graph.reshape %y : (tensor<2x32x96x96xbf16>) -> tensor<2x4x8x96x96xbf16>
  // CHECK: %[[LINES:.*]] = graph.reduce  sum %[[SPLIT]] [2] {{.*}} -> tensor<2x96x4x8xf32>
  // CHECK: %[[SUM:.*]] = graph.reduce  sum %[[LINES]] [1, 3] {{.*}} -> tensor<2x4xf32>
  // CHECK: graph.cast %[[SUM]] : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  %sum = graph.reduce sum %split [2, 3, 4] : (tensor<2x4x8x96x96xbf16>) -> tensor<2x4xbf16>
  // CHECK: graph.reduce  sum %[[FORM]] [1, 2, 3] {{.*}} -> tensor<2xf32>
  %all = graph.reduce sum %y [1, 2, 3] : (tensor<2x32x96x96xbf16>) -> tensor<2xf32>
  return %sum, %all : tensor<2x4xbf16>, tensor<2xf32>
}

// Images that are twice as large, and their gradient; images that are joined, as a dimension of their own, and parted.
// CHECK-LABEL: func.func @levels(
func.func @levels(%x: tensor<2x4x8x8xbf16>, %kernel: tensor<4x4x3x3xbf16>) -> (tensor<2x4x8x8xbf16>, tensor<2x4x16x16xbf16>) {
  // CHECK: %[[FORM:.*]] = graph.transpose %{{.*}} [0, 2, 3, 1]
  %y = graph.convolution %x, %kernel {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x4x8x8xbf16>, tensor<4x4x3x3xbf16>) -> tensor<2x4x8x8xbf16>
  // CHECK: %[[WIDE:.*]] = graph.reshape %[[FORM]] : (tensor<2x8x8x4xbf16>) -> tensor<2x8x8x2x2xbf16>
  // CHECK: %[[TWICE:.*]] = graph.broadcast %[[WIDE]] [0, 1, 3, 5, 6] {{.*}} -> tensor<2x8x2x8x2x2x2xbf16>
  %split = graph.reshape %y : (tensor<2x4x8x8xbf16>) -> tensor<2x2x2x8x8xbf16>
  %twice = graph.broadcast %split [0, 1, 2, 3, 5] : (tensor<2x2x2x8x8xbf16>) -> tensor<2x2x2x8x2x8x2xbf16>
  // CHECK: %[[UP:.*]] = graph.reshape %[[TWICE]] {{.*}} -> tensor<2x16x16x4xbf16>
  %up = graph.reshape %twice : (tensor<2x2x2x8x2x8x2xbf16>) -> tensor<2x4x16x16xbf16>
  // CHECK: %[[BOTH:.*]] = graph.stack %[[UP]], %[[UP]] {dim = 3 : i64} {{.*}} -> tensor<2x16x16x2x4xbf16>
  // CHECK: %[[RELU:.*]] = graph.relu %[[BOTH]]
  // CHECK: %[[PARTS:.*]]:2 = graph.unstack %[[RELU]] {dim = 3 : i64}
  %both = graph.stack %up, %up {dim = 1 : i64} : (tensor<2x4x16x16xbf16>, tensor<2x4x16x16xbf16>) -> tensor<2x2x4x16x16xbf16>
  %relu = graph.relu %both : tensor<2x2x4x16x16xbf16>
  %parts:2 = graph.unstack %relu {dim = 1 : i64} : (tensor<2x2x4x16x16xbf16>) -> (tensor<2x4x16x16xbf16>, tensor<2x4x16x16xbf16>)
  // CHECK: %[[SUM:.*]] = graph.reduce  sum %[[TWICE]] [2, 4] {{.*}} -> tensor<2x8x8x2x2xbf16>
  // CHECK: %[[DOWN:.*]] = graph.reshape %[[SUM]] {{.*}} -> tensor<2x8x8x4xbf16>
  // CHECK: graph.relu %[[DOWN]]
  %sum = graph.reduce sum %twice [4, 6] : (tensor<2x2x2x8x2x8x2xbf16>) -> tensor<2x2x2x8x8xbf16>
  %down = graph.reshape %sum : (tensor<2x2x2x8x8xbf16>) -> tensor<2x4x8x8xbf16>
  %less = graph.relu %down : tensor<2x4x8x8xbf16>
  return %less, %parts#1 : tensor<2x4x8x8xbf16>, tensor<2x4x16x16xbf16>
}

// A block that computes with its channels last between convolutions: what is transposed for a convolution is its form, and
// so is what is transposed back, and a product makes its result in the form.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<2x8x8x16xbf16>, %[[W:[a-z0-9]*]]: tensor<16x16xbf16>
func.func @transposed(%x: tensor<2x8x8x16xbf16>, %w: tensor<16x16xbf16>, %kernel: tensor<16x1x1x3x3xbf16>) -> (tensor<2x16x8x8xbf16>, tensor<2x16x8x8xbf16>) {
  // CHECK: %[[RELU:.*]] = graph.relu %[[X]]
  // CHECK: %[[GROUPS:.*]] = graph.reshape %[[RELU]] {{.*}} -> tensor<2x8x8x16x1xbf16>
  // CHECK: %[[IMAGE:.*]] = graph.transpose %[[GROUPS]] [0, 3, 4, 1, 2]
  // CHECK: %[[Y:.*]] = graph.convolution %[[IMAGE]]
  // CHECK: %[[FORM:.*]] = graph.transpose %[[Y]] [0, 3, 4, 1, 2]
  // CHECK: %[[CELLS:.*]] = graph.reshape %[[FORM]] {{.*}} -> tensor<2x8x8x16xbf16>
  %seen = graph.transpose %x [0, 3, 1, 2] : (tensor<2x8x8x16xbf16>) -> tensor<2x16x8x8xbf16>
  %relu = graph.relu %seen : tensor<2x16x8x8xbf16>
  %groups = graph.reshape %relu : (tensor<2x16x8x8xbf16>) -> tensor<2x16x1x8x8xbf16>
  %y = graph.convolution %groups, %kernel {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x16x1x8x8xbf16>, tensor<16x1x1x3x3xbf16>) -> tensor<2x16x1x8x8xbf16>
  %plain = graph.reshape %y : (tensor<2x16x1x8x8xbf16>) -> tensor<2x16x8x8xbf16>
  %cells = graph.transpose %plain [0, 2, 3, 1] : (tensor<2x16x8x8xbf16>) -> tensor<2x8x8x16xbf16>
  // CHECK: %[[GELU:.*]] = graph.gelu %[[CELLS]]
  // CHECK: %[[PRODUCT:.*]] = graph.contract "abcd,ed->abce" %[[GELU]], %[[W]] {{.*}} -> tensor<2x8x8x16xbf16>
  // CHECK: %[[SUM:.*]] = graph.add %[[PRODUCT]], %[[RELU]]
  %gelu = graph.gelu %cells {form = #graph<gelu_form exact>} : tensor<2x8x8x16xbf16>
  %product = graph.contract "abcd,ed->aebc" %gelu, %w : (tensor<2x8x8x16xbf16>, tensor<16x16xbf16>) -> tensor<2x16x8x8xbf16>
  %sum = graph.add %product, %relu : (tensor<2x16x8x8xbf16>, tensor<2x16x8x8xbf16>) -> tensor<2x16x8x8xbf16>
  // CHECK: %[[ALL:.*]] = graph.reshape %[[SUM]]
  // CHECK: %[[NEXT:.*]] = graph.transpose %[[ALL]]
  // CHECK: graph.convolution %[[NEXT]]
  %again = graph.reshape %sum : (tensor<2x16x8x8xbf16>) -> tensor<2x16x1x8x8xbf16>
  %z = graph.convolution %again, %kernel {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x16x1x8x8xbf16>, tensor<16x1x1x3x3xbf16>) -> tensor<2x16x1x8x8xbf16>
  %end = graph.reshape %z : (tensor<2x16x1x8x8xbf16>) -> tensor<2x16x8x8xbf16>
  // A product that no convolution reads is an image as well where it is computed with one, cell by cell.
  // CHECK: %[[LAST:.*]] = graph.contract "abcd,ed->abce"
  // CHECK: graph.mul %[[LAST]], %[[SUM]]
  %last = graph.contract "abcd,ed->aebc" %cells, %w : (tensor<2x8x8x16xbf16>, tensor<16x16xbf16>) -> tensor<2x16x8x8xbf16>
  %scaled = graph.mul %last, %sum : (tensor<2x16x8x8xbf16>, tensor<2x16x8x8xbf16>) -> tensor<2x16x8x8xbf16>
  return %end, %scaled : tensor<2x16x8x8xbf16>, tensor<2x16x8x8xbf16>
}

// Keys of attention are no images, though they have the form of one: no convolution has to do with them.
// CHECK-LABEL: func.func @attention(
// CHECK: %[[KEYS:.*]] = graph.transpose %{{.*}} [0, 2, 3, 1] : (tensor<2x16x4x8xbf16>) -> tensor<2x4x8x16xbf16>
// CHECK: %[[SCALED:.*]] = graph.relu %[[KEYS]] : tensor<2x4x8x16xbf16>
// CHECK: graph.contract "abcd,acde->abe" %{{.*}}, %[[SCALED]]
func.func @attention(%x: tensor<2x32x16xbf16>, %kernel: tensor<32x32x3xbf16>, %keys: tensor<2x16x4x8xbf16>, %queries: tensor<2x3x4x8xbf16>) -> (tensor<2x3x16xf32>, tensor<2x32x16xbf16>) {
  %turned = graph.transpose %keys [0, 2, 3, 1] : (tensor<2x16x4x8xbf16>) -> tensor<2x4x8x16xbf16>
  %scaled = graph.relu %turned : tensor<2x4x8x16xbf16>
  %scores = graph.contract "abcd,acde->abe" %queries, %scaled : (tensor<2x3x4x8xbf16>, tensor<2x4x8x16xbf16>) -> tensor<2x3x16xf32>
  %y = graph.convolution %x, %kernel {dilations = array<i64: 1>, low = array<i64: 1>, strides = array<i64: 1>} : (tensor<2x32x16xbf16>, tensor<32x32x3xbf16>) -> tensor<2x32x16xbf16>
  return %scores, %y : tensor<2x3x16xf32>, tensor<2x32x16xbf16>
}

// What ranks send each other of an image they send with its channels last.
// CHECK-LABEL: spmd.program @step
spmd.mesh @mesh [#spmd.axis<"tp", 2, rank>]
spmd.program @step mesh @mesh {
  spmd.phase @forward {
    %x = spmd.input "x" of !spmd.tensor<2x8x6x6xbf16, @mesh, [{}, {}, {}, {}]> {role = "data"} : tensor<2x8x6x6xbf16>
    %kernel = spmd.input "kernel" of !spmd.tensor<8x8x3x3xbf16, @mesh, [{}, {}, {}, {}]> {role = "data"} : tensor<8x8x3x3xbf16>
    // CHECK: %[[Y:.*]] = graph.convolution
    // CHECK: %[[FORM:.*]] = graph.transpose %[[Y]] [0, 2, 3, 1]
    %y = graph.convolution %x, %kernel {dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x8x6x6xbf16>, tensor<8x8x3x3xbf16>) -> tensor<2x8x6x6xbf16>
    // CHECK: %[[SUM:.*]] = spmd.all_reduce sum %[[FORM]] over ["tp"] : tensor<2x6x6x8xbf16>
    // CHECK: %[[PART:.*]] = spmd.all_to_all %[[SUM]] from 1 to 3 over ["tp"] : tensor<2x6x6x8xbf16> -> tensor<2x12x6x4xbf16>
    // CHECK: %[[WHOLE:.*]] = spmd.all_gather %[[PART]] dim 3 over ["tp"] : tensor<2x12x6x4xbf16> -> tensor<2x12x6x8xbf16>
    // CHECK: %[[SHARD:.*]] = spmd.reduce_scatter sum %[[WHOLE]] dim 1 over ["tp"] : tensor<2x12x6x8xbf16> -> tensor<2x6x6x8xbf16>
    // CHECK: %[[SLICE:.*]] = spmd.local_slice %[[SHARD]] dim 3 over ["tp"] : tensor<2x6x6x8xbf16> -> tensor<2x6x6x4xbf16>
    // CHECK: graph.relu %[[SLICE]] : tensor<2x6x6x4xbf16>
    %sum = spmd.all_reduce sum %y over ["tp"] : tensor<2x8x6x6xbf16>
    %part = spmd.all_to_all %sum from 2 to 1 over ["tp"] : tensor<2x8x6x6xbf16> -> tensor<2x4x12x6xbf16>
    %whole = spmd.all_gather %part dim 1 over ["tp"] : tensor<2x4x12x6xbf16> -> tensor<2x8x12x6xbf16>
    %shard = spmd.reduce_scatter sum %whole dim 2 over ["tp"] : tensor<2x8x12x6xbf16> -> tensor<2x8x6x6xbf16>
    %slice = spmd.local_slice %shard dim 1 over ["tp"] : tensor<2x8x6x6xbf16> -> tensor<2x4x6x6xbf16>
    %relu = graph.relu %slice : tensor<2x4x6x6xbf16>
    %all = graph.reduce sum %relu [0, 1, 2, 3] : (tensor<2x4x6x6xbf16>) -> tensor<f32>
    spmd.report loss_sum %all, count %all : tensor<f32>, tensor<f32>
    spmd.yield
  }
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
