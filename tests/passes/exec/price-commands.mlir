// RUN: dtcc-opt %s --exec-generate-gpu-kernels --exec-price-commands=cluster=8xh100 | FileCheck %s
// RUN: dtcc-opt %s --exec-generate-kernels --exec-price-commands=cluster=cpu:2 | FileCheck %s --check-prefix=CORES

// By the sizes of products and attention (Kernels.h), by what kernels and all else move, by what groups send; of H100s,
// and of two ranks on cores, where starting a kernel takes no time.
// CHECK-LABEL: exec.program @step
// A GPU needs 6 us to start anything.
// CHECK: exec.kernel @small {{.*}}seconds = 6.000000e-06 : f64
// 3 GB at 0.817 of 3.35 TB/s.
// CHECK: exec.kernel @large {{.*}}seconds = 0.00110{{[0-9]+}}
// 2 * 8192^3 FLOP of halves at 0.693 of 989 TFLOP/s are 1.60 ms; starting, filling and emptying tiles come to it.
// CHECK: exec.library "matmul" {{.*}}seconds = 0.001{{[6-7][0-9]+}}
// 2048 rows of four stacks of 1024 by 512, as the op's FLOP say, in one kernel.
// CHECK: exec.library "grouped_matmul" {{.*}}seconds = 1.5{{[0-9]+E-5}}
// 4 * 8 * 4096^2 * 128 FLOP, half of them masked, at 0.498 of the peak less the ramp; the gradient takes 2.5 / 0.801 of it.
// CHECK: exec.library "attention" {{.*}}seconds = 7.49{{[0-9]+E-5}}
// CHECK: exec.library "attention_grad" {{.*}}seconds = 2.34{{[0-9]+E-4}}
// Of a table only the rows that are looked up.
// CHECK: exec.library "embedding" {{.*}}seconds = 6.000000e-06 : f64
// 2 * 64 * 56^2 * 256^2 * 3^2 FLOP of halves at 0.693 of 989 TFLOP/s.
// CHECK: exec.library "convolution" {{.*}}seconds = 3.4{{[0-9]+E-4}}
// What lies with the host comes and goes over a link of 63 GB/s, of which 0.82 * 0.72 is reached: 400 MB.
// CHECK: exec.library "sgd" {{.*}}seconds = 0.010{{[0-9]+}}
// Sums by row and by column read 400 MB each, at 0.817 of 3.35 TB/s.
// CHECK: exec.library "factor_squares" {{.*}}seconds = 2.9{{[0-9]+E-4}}
// A copy goes one way.
// CHECK: exec.copy {{.*}}seconds = 0.007{{[0-9]+}}
// CHECK: exec.collective all_reduce {{.*}}seconds = 0.00119{{[0-9]+}}
// Alone in its group.
// CHECK: exec.collective all_reduce {{.*}}seconds = 0.000000e+00
// CHECK: exec.collective barrier {{.*}}seconds = 0.000000e+00

// CORES-LABEL: exec.program @step
// CORES: exec.kernel @small {{.*}}seconds = {{[0-9.]+}}E-9
// CORES: exec.collective all_reduce {{.*}}seconds = 0.1{{[0-9]+}}
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>, #spmd.axis<"tp", 1, rank>]
exec.func @small buffers [memref<4xf32>, memref<4xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<4xf32>):
  %0 = graph.neg %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}
exec.func @large buffers [memref<375000000xf32>, memref<375000000xf32>] accumulate [0] in_place [-1] {
^bb0(%x: tensor<375000000xf32>):
  %0 = graph.neg %x : tensor<375000000xf32>
  exec.yield %0 : tensor<375000000xf32>
}
exec.program @step mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.communicator @tp over ["tp"]
  exec.arena @a : 0
  exec.arena @h : 0 host
  exec.buffer @x : 4096000000 in @a
  exec.buffer @m : 4096000000 in @h persistent
  exec.phase @microbatch {
    %x = exec.view @x[0] : memref<1xf32>
    %4 = exec.view @x[0] : memref<4xf32>
    %5 = exec.view @x[0] : memref<375000000xf32>
    exec.kernel @small ins(%4 : memref<4xf32>) outs(%4 : memref<4xf32>)
    exec.kernel @large ins(%5 : memref<375000000xf32>) outs(%5 : memref<375000000xf32>)
    %l = exec.view @x[0] : memref<1x8192x8192xbf16>
    exec.library "matmul" ins(%l, %l : memref<1x8192x8192xbf16>, memref<1x8192x8192xbf16>) outs(%l : memref<1x8192x8192xbf16>) [0]
    %r = exec.view @x[0] : memref<4096x1024xbf16>
    %e = exec.view @x[0] : memref<4x1024x512xbf16>
    %i = exec.view @x[0] : memref<8192xi64>
    %o = exec.view @x[0] : memref<4096x512xbf16>
    exec.library "grouped_matmul" ins(%r, %e, %i : memref<4096x1024xbf16>, memref<4x1024x512xbf16>, memref<8192xi64>) outs(%o : memref<4096x512xbf16>) [unit] {flops = 2147483648.0 : f64}
    %q = exec.view @x[0] : memref<1x4096x8x1x128xbf16>
    %k = exec.view @x[0] : memref<1x4096x8x128xbf16>
    %s = exec.view @x[0] : memref<1x8x1x4096xf32>
    exec.library "attention" ins(%q, %k, %k : memref<1x4096x8x1x128xbf16>, memref<1x4096x8x128xbf16>, memref<1x4096x8x128xbf16>) outs(%q, %s : memref<1x4096x8x1x128xbf16>, memref<1x8x1x4096xf32>) [0.1, 0.0, 1, 0, -1, -1, 0, 0, unit]
    exec.library "attention_grad" ins(%q, %k, %k, %q, %s, %q : memref<1x4096x8x1x128xbf16>, memref<1x4096x8x128xbf16>, memref<1x4096x8x128xbf16>, memref<1x4096x8x1x128xbf16>, memref<1x8x1x4096xf32>, memref<1x4096x8x1x128xbf16>) outs(%q, %k, %k : memref<1x4096x8x1x128xbf16>, memref<1x4096x8x128xbf16>, memref<1x4096x8x128xbf16>) [0.1, 0.0, 1, 0, -1, -1, 0, 0, unit]
    %t = exec.view @x[0] : memref<128000x4096xbf16>
    %n = exec.view @x[0] : memref<16xi64>
    %y = exec.view @x[0] : memref<16x4096xbf16>
    exec.library "embedding" ins(%t, %n : memref<128000x4096xbf16>, memref<16xi64>) outs(%y : memref<16x4096xbf16>) [unit]
    %image = exec.view @x[0] : memref<64x1x256x1x56x56xbf16>
    %window = exec.view @x[0] : memref<1x256x256x1x3x3xbf16>
    exec.library "convolution" ins(%image, %window : memref<64x1x256x1x56x56xbf16>, memref<1x256x256x1x3x3xbf16>) outs(%image : memref<64x1x256x1x56x56xbf16>) [1, 1, 1, 1, 1, 1, 0, 1, 1] {flops = 236760072192.0 : f64}
    %g = exec.view @x[0] : memref<100000000xf32>
    %p = exec.view @m[0] : memref<100000000xf32>
    exec.library "sgd" ins(%g, %x, %x, %x : memref<100000000xf32>, memref<1xf32>, memref<1xf32>, memref<1xf32>) outs(%p : memref<100000000xf32>) [0, unit, 0.0, 0.0, 0] {updates}
    %f = exec.view @x[0] : memref<20000xf32>
    exec.library "factor_squares" ins(%g, %x : memref<100000000xf32>, memref<1xf32>) outs(%f : memref<20000xf32>) [0, unit]
    exec.copy ins(%g : memref<100000000xf32>) outs(%p : memref<100000000xf32>)
    exec.collective all_reduce sum on @dp ins(%g : memref<100000000xf32>) outs(%g : memref<100000000xf32>)
    exec.collective all_reduce sum on @tp ins(%g : memref<100000000xf32>) outs(%g : memref<100000000xf32>)
    exec.collective barrier sum on @dp
  }
}

// A message costs its sender a copy, and its receiver the way, which is longer between nodes: stages of @far are 8 ranks
// apart, those of @near 4.
// CHECK-LABEL: exec.program @near
// CHECK: exec.receive {{.*}}seconds = 1.5{{[0-9]+}}E-4
// CHECK: exec.send {{.*}}seconds = 7.3{{[0-9]+}}E-6
// CHECK-LABEL: exec.program @far
// CHECK: exec.receive {{.*}}seconds = 6.4{{[0-9]+}}E-4
spmd.mesh @nodes [#spmd.axis<"pp", 4, rank>, #spmd.axis<"tp", 4, rank>]
exec.program @near mesh @nodes stage 1 over "pp" {
  exec.communicator @channel over ["pp"] members [0, 1]
  exec.arena @a : 0
  exec.buffer @x : 40960000 in @a
  exec.phase @forward {
    %x = exec.view @x[0] : memref<5000000xf32>
    exec.receive from 0 on @channel outs(%x : memref<5000000xf32>)
    exec.send to 0 on @channel ins(%x : memref<5000000xf32>)
  }
}
exec.program @far mesh @nodes stage 2 over "pp" {
  exec.communicator @channel over ["pp"] members [0, 2]
  exec.arena @a : 0
  exec.buffer @x : 40960000 in @a
  exec.phase @forward {
    %x = exec.view @x[0] : memref<5000000xf32>
    exec.receive from 0 on @channel outs(%x : memref<5000000xf32>)
  }
}
