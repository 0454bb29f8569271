// RUN: dtcc-opt --exec-fuse %s | FileCheck %s

// Sums over columns and what needs them are two kernels. Between them lie halves, not the same in f32, and no difference that
// the second can make from them and a mean: one buffer of all cells, and a row.
// CHECK-LABEL: func.func @centre
// CHECK:       %[[FIRST:.*]]:2 = exec.fused
// CHECK:         exec.yield %{{.*}}, %{{.*}} : tensor<64x32xbf16>, tensor<32xf32>
// CHECK:       exec.fused
// CHECK:         graph.cast
// CHECK:         graph.sub
// CHECK:         graph.reduce
func.func @centre(%x: tensor<64x32xbf16>, %y: tensor<64x32xbf16>) -> (tensor<64xf32>) {
  %count = graph.constant dense<64.0> : tensor<32xf32> : tensor<32xf32>
  %h = graph.add %x, %y : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %f = graph.cast %h : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %s = graph.reduce sum %f [0] : (tensor<64x32xf32>) -> tensor<32xf32>
  %m = graph.div %s, %count : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %b = graph.broadcast %m [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %d = graph.sub %f, %b : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %q = graph.mul %d, %f : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = graph.reduce sum %q [1] : (tensor<64x32xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// The second kernel could add %z itself from %t, half its bytes. But %t is made in a kernel that takes maxima over the middle
// dimension and visits a cell of %t once for each column: it cannot store %t, and stores %z.
// CHECK-LABEL: func.func @columns
// CHECK:       exec.fused(%{{.*}}, %{{.*}}) : (tensor<4x5xf32>, tensor<5x5xf32>) -> (tensor<4x5x5xf32>, tensor<4x5xf32>)
func.func @columns(%x: tensor<4x5xf32>, %w: tensor<5x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %u = graph.exp %x : tensor<4x5xf32>
  %t = graph.add %u, %x : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %rows = graph.broadcast %t [0, 1] : (tensor<4x5xf32>) -> tensor<4x5x5xf32>
  %all = graph.broadcast %w [1, 2] : (tensor<5x5xf32>) -> tensor<4x5x5xf32>
  %z = graph.add %rows, %all : (tensor<4x5x5xf32>, tensor<4x5x5xf32>) -> tensor<4x5x5xf32>
  %m = graph.reduce max %z [1] : (tensor<4x5x5xf32>) -> tensor<4x5xf32>
  %b = graph.broadcast %m [0, 2] : (tensor<4x5xf32>) -> tensor<4x5x5xf32>
  %d = graph.sub %z, %b : (tensor<4x5x5xf32>, tensor<4x5x5xf32>) -> tensor<4x5x5xf32>
  %e = graph.exp %d : tensor<4x5x5xf32>
  %s = graph.reduce sum %e [1] : (tensor<4x5x5xf32>) -> tensor<4x5xf32>
  return %m, %s : tensor<4x5xf32>, tensor<4x5xf32>
}

// What is behind the product needs the difference to the mean as well. Its kernel makes it from %x, which lies in memory, where
// the first kernel would have to store as much.
// CHECK-LABEL: func.func @kept
// CHECK:       %[[X:.*]] = graph.contract
// CHECK:       exec.fused(%[[X]]) : (tensor<8x4x36xf32>) -> (tensor<4xf32>, tensor<8x4x36xf32>)
// CHECK:       graph.contract
// CHECK:       exec.fused({{.*}}%[[X]]
// CHECK:         graph.sub
// CHECK:         graph.mul
func.func @kept(%a: tensor<8x4x36xf32>, %w: tensor<36x36xf32>) -> tensor<8x4x36xf32> {
  %x = graph.contract "bcx,xy->bcy" %a, %w : (tensor<8x4x36xf32>, tensor<36x36xf32>) -> tensor<8x4x36xf32>
  %count = graph.constant dense<288.0> : tensor<4xf32> : tensor<4xf32>
  %s = graph.reduce sum %x [0, 2] : (tensor<8x4x36xf32>) -> tensor<4xf32>
  %m = graph.div %s, %count : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = graph.broadcast %m [1] : (tensor<4xf32>) -> tensor<8x4x36xf32>
  %d = graph.sub %x, %b : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %y = graph.mul %d, %d : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %z = graph.contract "bcx,xy->bcy" %y, %w : (tensor<8x4x36xf32>, tensor<36x36xf32>) -> tensor<8x4x36xf32>
  %r = graph.mul %z, %d : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  return %r : tensor<8x4x36xf32>
}

// A batch is there for a while alone: the difference is stored.
// CHECK-LABEL: func.func @batch
// CHECK:       exec.fused
// CHECK-SAME:  -> (tensor<8x4x36xf32>, tensor<8x4x36xf32>)
func.func @batch(%x: tensor<8x4x36xf32>, %w: tensor<36x36xf32>) -> tensor<8x4x36xf32> {
  %count = graph.constant dense<288.0> : tensor<4xf32> : tensor<4xf32>
  %s = graph.reduce sum %x [0, 2] : (tensor<8x4x36xf32>) -> tensor<4xf32>
  %m = graph.div %s, %count : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = graph.broadcast %m [1] : (tensor<4xf32>) -> tensor<8x4x36xf32>
  %d = graph.sub %x, %b : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %y = graph.mul %d, %d : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %z = graph.contract "bcx,xy->bcy" %y, %w : (tensor<8x4x36xf32>, tensor<36x36xf32>) -> tensor<8x4x36xf32>
  %r = graph.mul %z, %d : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  return %r : tensor<8x4x36xf32>
}

// Two kernels read it: one of them alone could not spare the store.
// CHECK-LABEL: func.func @stored
// CHECK:       exec.fused
// CHECK-SAME:  -> (tensor<8x4x36xf32>, tensor<8x4x36xf32>)
func.func @stored(%a: tensor<8x4x36xf32>, %w: tensor<36x36xf32>) -> (tensor<8x4x36xf32>, tensor<8x4x36xf32>) {
  %x = graph.contract "bcx,xy->bcy" %a, %w : (tensor<8x4x36xf32>, tensor<36x36xf32>) -> tensor<8x4x36xf32>
  %count = graph.constant dense<288.0> : tensor<4xf32> : tensor<4xf32>
  %s = graph.reduce sum %x [0, 2] : (tensor<8x4x36xf32>) -> tensor<4xf32>
  %m = graph.div %s, %count : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = graph.broadcast %m [1] : (tensor<4xf32>) -> tensor<8x4x36xf32>
  %d = graph.sub %x, %b : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %y = graph.mul %d, %d : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %z = graph.contract "bcx,xy->bcy" %y, %w : (tensor<8x4x36xf32>, tensor<36x36xf32>) -> tensor<8x4x36xf32>
  %r = graph.mul %z, %d : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %v = graph.contract "bcx,xy->bcy" %r, %w : (tensor<8x4x36xf32>, tensor<36x36xf32>) -> tensor<8x4x36xf32>
  %q = graph.mul %v, %d : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  return %r, %q : tensor<8x4x36xf32>, tensor<8x4x36xf32>
}

// The gradient of a normalization is one kernel, though the gradient of its bias, %s, is wanted outside too.
// CHECK-LABEL: func.func @gradient
// CHECK:       exec.fused
// CHECK-NOT:   exec.fused
// CHECK:       return
func.func @gradient(%d: tensor<8x4x36xf32>, %g: tensor<4xf32>, %out: tensor<8x4x36xf32>, %dy: tensor<8x4x36xf32>)
    -> (tensor<4xf32>, tensor<8x4x36xf32>, tensor<8x4x36xf32>) {
  %dz = graph.relu_grad %out, %dy : tensor<8x4x36xf32>
  %s = graph.reduce sum %dz [0, 2] : (tensor<8x4x36xf32>) -> tensor<4xf32>
  %scale = graph.broadcast %g [1] : (tensor<4xf32>) -> tensor<8x4x36xf32>
  %h = graph.mul %d, %scale : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %p = graph.mul %dz, %h : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %t = graph.reduce sum %p [0, 2] : (tensor<8x4x36xf32>) -> tensor<4xf32>
  %tb = graph.broadcast %t [1] : (tensor<4xf32>) -> tensor<8x4x36xf32>
  %e = graph.sub %dz, %tb : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  return %s, %e, %out : tensor<4xf32>, tensor<8x4x36xf32>, tensor<8x4x36xf32>
}

// A result that is as large as what the kernel reads is no reason to wait for the reader.
// CHECK-LABEL: func.func @large
// CHECK-COUNT-2: exec.fused
func.func @large(%d: tensor<8x4x36xf32>, %g: tensor<4xf32>, %out: tensor<8x4x36xf32>, %dy: tensor<8x4x36xf32>)
    -> (tensor<8x4x36xf32>, tensor<4xf32>, tensor<8x4x36xf32>, tensor<8x4x36xf32>) {
  %dz = graph.relu_grad %out, %dy : tensor<8x4x36xf32>
  %s = graph.neg %dz : tensor<8x4x36xf32>
  %q = graph.reduce sum %dz [0, 2] : (tensor<8x4x36xf32>) -> tensor<4xf32>
  %scale = graph.broadcast %g [1] : (tensor<4xf32>) -> tensor<8x4x36xf32>
  %h = graph.mul %d, %scale : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %p = graph.mul %dz, %h : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %t = graph.reduce sum %p [0, 2] : (tensor<8x4x36xf32>) -> tensor<4xf32>
  %tb = graph.broadcast %t [1] : (tensor<4xf32>) -> tensor<8x4x36xf32>
  %e = graph.sub %dz, %tb : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  return %s, %q, %e, %out : tensor<8x4x36xf32>, tensor<4xf32>, tensor<8x4x36xf32>, tensor<8x4x36xf32>
}

// What the second kernel needs is a product of such a sum: the first kernel ends before it.
// CHECK-LABEL: func.func @between
// CHECK:       exec.fused
// CHECK:       graph.contract
// CHECK:       exec.fused
func.func @between(%d: tensor<8x4x36xf32>, %w: tensor<4x4xf32>, %out: tensor<8x4x36xf32>, %dy: tensor<8x4x36xf32>)
    -> (tensor<8x4x36xf32>, tensor<8x4x36xf32>) {
  %dz = graph.relu_grad %out, %dy : tensor<8x4x36xf32>
  %s = graph.reduce sum %dz [0, 2] : (tensor<8x4x36xf32>) -> tensor<4xf32>
  %v = graph.contract "c,cd->d" %s, %w : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  %tb = graph.broadcast %v [1] : (tensor<4xf32>) -> tensor<8x4x36xf32>
  %p = graph.mul %d, %tb : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %e = graph.sub %dz, %p : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  return %e, %out : tensor<8x4x36xf32>, tensor<8x4x36xf32>
}

// The copy of the cast stands before its first reader in the second kernel. The difference, which is repeated there
// next, is read before that and reads the cast.
// CHECK-LABEL: func.func @earlier
// CHECK:       exec.fused
// CHECK:       graph.contract
// CHECK:       exec.fused
// CHECK:         graph.cast
// CHECK:         graph.sub
func.func @earlier(%x: tensor<8x4x36xbf16>, %w: tensor<36x36xf32>, %y: tensor<8x4x36xbf16>) -> (tensor<8x4x36xf32>, tensor<8x4x36xf32>) {
  %count = graph.constant dense<288.0> : tensor<4xf32> : tensor<4xf32>
  %h = graph.add %x, %y : (tensor<8x4x36xbf16>, tensor<8x4x36xbf16>) -> tensor<8x4x36xbf16>
  %f = graph.cast %h : (tensor<8x4x36xbf16>) -> tensor<8x4x36xf32>
  %b = graph.broadcast %count [1] : (tensor<4xf32>) -> tensor<8x4x36xf32>
  %d = graph.sub %f, %b : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %e = graph.exp %d : tensor<8x4x36xf32>
  %z = graph.contract "bcx,xy->bcy" %e, %w : (tensor<8x4x36xf32>, tensor<36x36xf32>) -> tensor<8x4x36xf32>
  %k1 = graph.mul %z, %d : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  %k2 = graph.mul %k1, %f : (tensor<8x4x36xf32>, tensor<8x4x36xf32>) -> tensor<8x4x36xf32>
  return %k2, %e : tensor<8x4x36xf32>, tensor<8x4x36xf32>
}

// The gradient of a norm over the rows of each column: what is behind the sum is made again of the halves that lie in memory, the
// product with the scale, the mean of the gradient and all; no cell is stored in f32. A number a column is made again with it.
// CHECK-LABEL: func.func @norm
// CHECK:       exec.fused({{.*}}) : ({{.*}}) -> tensor<32xf32>
// CHECK:       exec.fused({{.*}}) : ({{.*}}) -> tensor<64x32xbf16>
// CHECK-NOT:   exec.fused
func.func @norm(%x: tensor<64x32xbf16>, %dy: tensor<64x32xbf16>, %mean: tensor<32xf32>, %scale: tensor<32xf32>, %total: tensor<32xf32>) -> tensor<64x32xbf16> {
  %count = graph.constant dense<64.0> : tensor<32xf32> : tensor<32xf32>
  %wide = graph.cast %x : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %m = graph.broadcast %mean [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %off = graph.sub %wide, %m : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %s = graph.broadcast %scale [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %normed = graph.mul %off, %s : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %slope = graph.cast %dy : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %both = graph.mul %slope, %normed : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %part = graph.div %total, %count : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %p = graph.broadcast %part [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %centred = graph.sub %slope, %p : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %sum = graph.reduce sum %both [0] : (tensor<64x32xf32>) -> tensor<32xf32>
  %share = graph.broadcast %sum [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %along = graph.mul %normed, %share : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %dx = graph.sub %centred, %along : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %half = graph.cast %dx : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  return %half : tensor<64x32xbf16>
}
