// RUN: dtcc-opt --exec-generate-gpu-kernels --split-input-file %s | FileCheck %s

// A thread of a map has 16 bytes, one grid for all of it; no thread is beside the cells, so none is asked.
// Behind the record of the rank comes the predicate: where there is one that is 0, nothing is done.
// CHECK-LABEL: llvm.func @exp(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[PREDICATE:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK-SAME: dtcc.block = 256 : i64
// CHECK-SAME: dtcc.grid = 2 : i64
// CHECK-SAME: nvvm.kernel
// CHECK: %[[ABSENT:.*]] = llvm.icmp "eq" %[[PREDICATE]], %{{.*}} : !llvm.ptr
// CHECK: llvm.cond_br %[[ABSENT]], ^[[WORK:.*]], ^[[READ:.*]]
// CHECK: ^[[READ]]:
// CHECK: %[[OFF:.*]] = llvm.icmp "eq"
// CHECK: llvm.cond_br %[[OFF]], ^[[LEAVE:.*]], ^[[WORK]]
// CHECK: ^[[LEAVE]]:
// CHECK-NEXT: llvm.return
// CHECK: ^[[WORK]]:
// CHECK-NOT: scf
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: math.exp %{{.*}} : vector<4xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
exec.func @exp buffers [memref<32x64xf32>, memref<32x64xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<32x64xf32>):
  %0 = graph.exp %x : tensor<32x64xf32>
  exec.yield %0 : tensor<32x64xf32>
}

// -----

// Rows of odd length have no vectors; halves are twice as many in 16 bytes.
// CHECK-LABEL: llvm.func @odd(
// CHECK-SAME: dtcc.grid = 1 : i64
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<1xf32>
exec.func @odd buffers [memref<5x7xf32, strided<[8, 1]>>, memref<5x7xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<5x7xf32>):
  %0 = graph.exp %x : tensor<5x7xf32>
  exec.yield %0 : tensor<5x7xf32>
}
// CHECK-LABEL: llvm.func @halves(
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
exec.func @halves buffers [memref<16x8xbf16>, memref<16x8xbf16>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<16x8xbf16>):
  %0 = graph.neg %x : tensor<16x8xbf16>
  exec.yield %0 : tensor<16x8xbf16>
}

// -----

// A softmax: a block reads a row once and keeps it, for its maximum, its sum and its cells, whose exponentials are taken
// once. Warps fold by shuffles, and through shared memory between them.
// CHECK: llvm.mlir.global internal @softmax.shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<16 x f32>
// CHECK-LABEL: llvm.func @softmax(
// CHECK-SAME: dtcc.block = 256 : i64
// CHECK-SAME: dtcc.grid = 6 : i64
// CHECK-NOT: scf.for
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: arith.maximumf
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier0
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr -> vector
// CHECK: math.exp
// CHECK: arith.addf
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier0
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr -> vector
// CHECK-NOT: math.exp
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>
exec.func @softmax buffers [memref<6x1024xf32>, memref<6x1024xf32>] accumulate [0] in_place [0] {
^bb0(%x: tensor<6x1024xf32>):
  %0 = graph.reduce #graph<reduce_kind max> %x [1] : (tensor<6x1024xf32>) -> tensor<6xf32>
  %1 = graph.broadcast %0 [0] : (tensor<6xf32>) -> tensor<6x1024xf32>
  %2 = graph.sub %x, %1 : (tensor<6x1024xf32>, tensor<6x1024xf32>) -> tensor<6x1024xf32>
  %3 = graph.exp %2 : tensor<6x1024xf32>
  %4 = graph.reduce #graph<reduce_kind sum> %3 [1] : (tensor<6x1024xf32>) -> tensor<6xf32>
  %5 = graph.broadcast %4 [0] : (tensor<6xf32>) -> tensor<6x1024xf32>
  %6 = graph.div %3, %5 : (tensor<6x1024xf32>, tensor<6x1024xf32>) -> tensor<6x1024xf32>
  exec.yield %6 : tensor<6x1024xf32>
}

// -----

// A row of 1201 vectors is kept by 256 threads as five each, of which the last is for some; those of others read what is
// there and neither count nor write.
// CHECK-LABEL: llvm.func @uneven(
// CHECK-SAME: dtcc.block = 256 : i64
// CHECK-NOT: scf.for
// CHECK-COUNT-5: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: arith.select %[[INSIDE:.*]], %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>
// CHECK: scf.if
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>
exec.func @uneven buffers [memref<300x4804xf32, strided<[4804, 1]>>, memref<300x4804xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<300x4804xf32>):
  %0 = graph.reduce #graph<reduce_kind sum> %x [1] : (tensor<300x4804xf32>) -> tensor<300xf32>
  %1 = graph.broadcast %0 [0] : (tensor<300xf32>) -> tensor<300x4804xf32>
  %2 = graph.sub %x, %1 : (tensor<300x4804xf32>, tensor<300x4804xf32>) -> tensor<300x4804xf32>
  exec.yield %2 : tensor<300x4804xf32>
}

// Eight rows of 49 cells share a block. A row has a warp, whose threads keep two cells, the second not all of them.
// CHECK-LABEL: llvm.func @short(
// CHECK-SAME: dtcc.block = 256 : i64
// CHECK-SAME: dtcc.grid = 528 : i64
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm
// CHECK: llvm.return
exec.func @short buffers [memref<4224x49xf32>, memref<4224x49xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4224x49xf32>):
  %0 = graph.reduce #graph<reduce_kind sum> %x [1] : (tensor<4224x49xf32>) -> tensor<4224xf32>
  %1 = graph.broadcast %0 [0] : (tensor<4224xf32>) -> tensor<4224x49xf32>
  %2 = graph.sub %x, %1 : (tensor<4224x49xf32>, tensor<4224x49xf32>) -> tensor<4224x49xf32>
  exec.yield %2 : tensor<4224x49xf32>
}

// Rows of six vectors have eight threads. A block has as many rows as leave enough blocks.
// CHECK-LABEL: llvm.func @vectors(
// CHECK-SAME: dtcc.block = 128 : i64
// CHECK-SAME: dtcc.grid = 264 : i64
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm
// CHECK: llvm.return
exec.func @vectors buffers [memref<4224x24xf32>, memref<4224x24xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4224x24xf32>):
  %0 = graph.reduce #graph<reduce_kind sum> %x [1] : (tensor<4224x24xf32>) -> tensor<4224xf32>
  %1 = graph.broadcast %0 [0] : (tensor<4224xf32>) -> tensor<4224x24xf32>
  %2 = graph.sub %x, %1 : (tensor<4224x24xf32>, tensor<4224x24xf32>) -> tensor<4224x24xf32>
  exec.yield %2 : tensor<4224x24xf32>
}

// A row that is too long is read in each pass, four vectors before the first is used.
// CHECK-LABEL: llvm.func @long(
// CHECK-SAME: dtcc.block = 512 : i64
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr -> vector<1xf32>
// CHECK: scf.yield
// CHECK: nvvm.shfl.sync bfly
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr -> vector<1xf32>
// CHECK-COUNT-4: llvm.store %{{.*}} : vector<1xf32>
exec.func @long buffers [memref<300x50257xf32>, memref<300x50257xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<300x50257xf32>):
  %0 = graph.reduce #graph<reduce_kind sum> %x [1] : (tensor<300x50257xf32>) -> tensor<300xf32>
  %1 = graph.broadcast %0 [0] : (tensor<300xf32>) -> tensor<300x50257xf32>
  %2 = graph.sub %x, %1 : (tensor<300x50257xf32>, tensor<300x50257xf32>) -> tensor<300x50257xf32>
  exec.yield %2 : tensor<300x50257xf32>
}

// -----

// Sums of few columns: blocks of 8 columns, what memory hands out at once, whose rows 64 threads share, eight at a time. Those
// of one warp meet by shuffles, warps in shared memory; the first threads add up and store.
// CHECK: llvm.mlir.global internal @bias.shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x f32>
// CHECK-LABEL: llvm.func @bias(
// CHECK-SAME: dtcc.block = 128 : i64
// CHECK-SAME: dtcc.grid = 96 : i64
// CHECK: scf.for
// CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: scf.yield
// CHECK-COUNT-16: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: scf.if
// CHECK-COUNT-3: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<4xf32>
// CHECK: llvm.store
exec.func @bias buffers [memref<512x768xf32>, memref<768xf32>] accumulate [1] in_place [-1] {
^bb0(%x: tensor<512x768xf32>):
  %0 = graph.reduce #graph<reduce_kind sum> %x [0] : (tensor<512x768xf32>) -> tensor<768xf32>
  exec.yield %0 : tensor<768xf32>
}

// -----

// Vectors are as wide as the addresses of all views allow: a program starts buffers at multiples of 64 or more, what is
// inside of them stands at offsets, in slots and in blocks of ranks.
// CHECK-LABEL: llvm.func @aligned(
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
exec.func @aligned buffers [memref<16xf32>, memref<16xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<16xf32>):
  %0 = graph.exp %x : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
// CHECK-LABEL: llvm.func @offset(
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> vector<2xf32>
exec.func @offset buffers [memref<16xf32>, memref<16xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<16xf32>):
  %0 = graph.neg %x : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
// CHECK-LABEL: llvm.func @slots(
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<1xf32>
exec.func @slots buffers [memref<4xf32>, memref<4xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4xf32>):
  %0 = graph.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}
// CHECK-LABEL: llvm.func @block(
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> vector<4xi16>
exec.func @block buffers [memref<4xbf16>, memref<4xbf16>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4xbf16>):
  %0 = graph.exp %x : tensor<4xbf16>
  exec.yield %0 : tensor<4xbf16>
}
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
exec.program @step mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @activations : 1024
  exec.buffer @a : 512 in @activations at 0
  exec.buffer @b : 512 in @activations at 512
  exec.phase @microbatch repeat 2 {
    %a = exec.view @a[64] : memref<16xf32>
    %b = exec.view @b[0] : memref<16xf32>
    exec.kernel @aligned ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
    %late = exec.view @a[24] : memref<16xf32>
    exec.kernel @offset ins(%late : memref<16xf32>) outs(%b : memref<16xf32>)
    %in = exec.view @a[0 + slot * 20] : memref<4xf32>
    %out = exec.view @b[0] : memref<4xf32>
    exec.kernel @slots ins(%in : memref<4xf32>) outs(%out : memref<4xf32>)
    %mine = exec.view @a[0] block 0 of @dp : memref<4xbf16>
    %half = exec.view @b[0] : memref<4xbf16>
    exec.kernel @block ins(%mine : memref<4xbf16>) outs(%half : memref<4xbf16>)
  }
}

// -----

// A constant stands beside the code.
// CHECK: llvm.mlir.global internal constant @constant.table0(dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>) {{.*}}alignment = 64 : i64
// CHECK-LABEL: llvm.func @constant(
// CHECK: llvm.mlir.addressof @constant.table0
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
exec.func @constant buffers [memref<4xf32>] accumulate [0] in_place [-1] {
  %0 = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}
