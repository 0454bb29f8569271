// RUN: dtcc-opt %s --exec-price-commands=cluster=8xh100 | FileCheck %s
// RUN: dtcc-opt %s --exec-price-commands=cluster=cpu:2 | FileCheck %s --check-prefix=CORES

// A product takes 1.67 ms on its own, a collective of 400 MB 1.19 ms. Beside it the product is slower by 0.275 of those
// (Constants.def: contended); while parameters are gathered it also runs at 0.9 of its rate (gemmFsdp). On cores
// collectives run behind products.
spmd.mesh @mesh [#spmd.axis<"dp", 2, rank>]

// CHECK-LABEL: exec.program @alone
// CHECK: exec.library "matmul" {{.*}}seconds = 0.0016
// CHECK: exec.collective all_reduce {{.*}}seconds = 0.00119
// CORES-LABEL: exec.program @alone
// CORES: exec.library "matmul" {{.*}}seconds = [[OWN:[0-9.]+]]
exec.program @alone mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @a : 0
  exec.buffer @x : 4096000000 in @a
  exec.phase @microbatch {
    %l = exec.view @x[0] : memref<1x8192x8192xbf16>
    %g = exec.view @x[0] : memref<100000000xf32>
    exec.library "matmul" ins(%l, %l : memref<1x8192x8192xbf16>, memref<1x8192x8192xbf16>) outs(%l : memref<1x8192x8192xbf16>) [0]
    exec.collective all_reduce sum on @dp ins(%g : memref<100000000xf32>) outs(%g : memref<100000000xf32>)
  }
}

// CHECK-LABEL: exec.program @beside
// CHECK: exec.collective all_reduce {{.*}}seconds = 0.00119
// CHECK: exec.library "matmul" {{.*}}seconds = 0.0020
// CORES-LABEL: exec.program @beside
// CORES: exec.library "matmul" {{.*}}seconds = [[OWN]]
exec.program @beside mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @a : 0
  exec.buffer @x : 4096000000 in @a
  exec.phase @microbatch {
    %l = exec.view @x[0] : memref<1x8192x8192xbf16>
    %g = exec.view @x[0] : memref<100000000xf32>
    exec.collective all_reduce sum on @dp ins(%g : memref<100000000xf32>) outs(%g : memref<100000000xf32>) {stream = 1 : i64}
    exec.library "matmul" ins(%l, %l : memref<1x8192x8192xbf16>, memref<1x8192x8192xbf16>) outs(%l : memref<1x8192x8192xbf16>) [0]
  }
}

// Once in four micro-batches.
// CHECK-LABEL: exec.program @seldom
// CHECK: exec.library "matmul" {{.*}}seconds = 0.0017
exec.program @seldom mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @a : 0
  exec.buffer @x : 4096000000 in @a
  exec.phase @microbatch repeat 4 {
    %l = exec.view @x[0] : memref<1x8192x8192xbf16>
    %g = exec.view @x[0] : memref<100000000xf32>
    exec.collective all_reduce sum on @dp slot 3 ins(%g : memref<100000000xf32>) outs(%g : memref<100000000xf32>) {stream = 1 : i64}
    exec.library "matmul" ins(%l, %l : memref<1x8192x8192xbf16>, memref<1x8192x8192xbf16>) outs(%l : memref<1x8192x8192xbf16>) [0]
  }
}

// A collective of 12 ms, once in four micro-batches: the product of one of them is beside it, and the rest of it is waited
// for.
// CHECK-LABEL: exec.program @long
// CHECK: exec.collective all_reduce {{.*}}seconds = 0.011
// CHECK: exec.library "matmul" {{.*}}seconds = 0.0017
exec.program @long mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @a : 0
  exec.buffer @x : 4096000000 in @a
  exec.phase @microbatch repeat 4 {
    %l = exec.view @x[0] : memref<1x8192x8192xbf16>
    %g = exec.view @x[0] : memref<1000000000xf32>
    exec.collective all_reduce sum on @dp slot 3 ins(%g : memref<1000000000xf32>) outs(%g : memref<1000000000xf32>) {stream = 1 : i64}
    exec.library "matmul" ins(%l, %l : memref<1x8192x8192xbf16>, memref<1x8192x8192xbf16>) outs(%l : memref<1x8192x8192xbf16>) [0]
  }
}

// CHECK-LABEL: exec.program @gathered
// CHECK: exec.collective all_gather {{.*}}seconds = {{6.10.*E-4}}
// CHECK: exec.library "matmul" {{.*}}seconds = 0.0020
exec.program @gathered mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @a : 0
  exec.buffer @x : 4096000000 in @a
  exec.phase @microbatch {
    %l = exec.view @x[0] : memref<1x8192x8192xbf16>
    %s = exec.view @x[0] : memref<50000000xf32>
    %g = exec.view @x[0] : memref<100000000xf32>
    exec.collective all_gather sum on @dp ins(%s : memref<50000000xf32>) outs(%g : memref<100000000xf32>) {ofParameters, stream = 1 : i64}
    exec.library "matmul" ins(%l, %l : memref<1x8192x8192xbf16>, memref<1x8192x8192xbf16>) outs(%l : memref<1x8192x8192xbf16>) [0]
  }
}

// Only what runs before the first command that waits is beside the collective: a product of a fifth of its time. Both
// products bear what that slows.
// CHECK-LABEL: exec.program @waited
// CHECK: exec.library "matmul" {{.*}}seconds = 2.2{{[0-9]+}}E-4
// CHECK: exec.library "matmul" {{.*}}seconds = 0.0017
exec.program @waited mesh @mesh {
  exec.communicator @dp over ["dp"]
  exec.arena @a : 0
  exec.buffer @x : 4096000000 in @a
  exec.phase @microbatch {
    %l = exec.view @x[0] : memref<1x8192x8192xbf16>
    %s = exec.view @x[0] : memref<1x4096x4096xbf16>
    %g = exec.view @x[0] : memref<100000000xf32>
    %e = exec.collective all_reduce sum on @dp ins(%g : memref<100000000xf32>) outs(%g : memref<100000000xf32>) {stream = 1 : i64} -> !exec.event
    exec.library "matmul" ins(%s, %s : memref<1x4096x4096xbf16>, memref<1x4096x4096xbf16>) outs(%s : memref<1x4096x4096xbf16>) [0]
    exec.library "matmul" ins(%l, %l : memref<1x8192x8192xbf16>, memref<1x8192x8192xbf16>) outs(%l : memref<1x8192x8192xbf16>) [0] after(%e)
  }
}
