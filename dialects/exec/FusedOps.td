//===- FusedOps.td - Ops that are one kernel -*- tablegen -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_EXEC_FUSEDOPS
#define DTCC_DIALECTS_EXEC_FUSEDOPS

include "dialects/exec/Exec.td"

def Exec_FusedOp : Exec_Op<"fused", [IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "graph ops that become one kernel";
  let description = [{
    The kernel reads the operands (one block argument each, of the same type) and writes the
    results. The body holds `graph` ops over local tensors and ends in `exec.yield`. Values of
    the body that are not yielded never reach memory. `name` describes the computation for
    readers.
    ```mlir
    %r = exec.fused(%a, %b) {name = "add_gelu"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>):
      %s = graph.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      %g = graph.gelu %s {form = #graph<gelu_form exact>} : tensor<4x8xf32>
      exec.yield %g : tensor<4x8xf32>
    }
    ```

    Made by exec-fuse. Consumed by exec-bufferize, which makes an `exec.func` and an `exec.kernel`. None is left
    after exec-bufferize.
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs, OptionalAttr<StrAttr>:$name);
  let results = (outs Variadic<AnyStaticShapeTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
  let hasRegionVerifier = 1;
}

def Exec_YieldOp : Exec_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["FusedOp", "FuncOp"]>]> {
  let summary = "the values that leave a fused body";
  let description = [{
    Made by exec-fuse and exec-bufferize. Consumed by the kernel generator. None is left after exec-generate-kernels
    or exec-generate-gpu-kernels.
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Exec_ProductOp : Exec_Op<"product", [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "a contraction with an epilogue of the target's library";
  let description = [{
    `spec` is that of `graph.contract`, without letters of a batch: p = lhs * rhs, summed over the letters that both
    operands have. The op then applies one of:
    - `bias`: p + bias. The bias has the letters of rhs alone, which come last in the result.
    - `gelu`: gelu by tanh of p, or of p + bias. With `keeps` the operand of gelu is a second result.
    - `slope`: p * gelu'(slope), for the gradient of gelu; `slope` is the operand of that gelu.
    - `sums`: a further result, rhs summed over the letters that the product sums. If the product is the gradient of a
      weight, this is the gradient of the bias.
    ```mlir
    %h, %x = exec.product "btc,cf->btf" %a, %w bias %b : tensor<64xbf16> gelu
      : tensor<4x8x16xbf16>, tensor<16x64xbf16> -> tensor<4x8x64xbf16> keeps tensor<4x8x64xbf16>
    ```

    Made by exec-fold-epilogues. Consumed by exec-bufferize, which makes an `exec.library`. None is left after
    exec-bufferize.
  }];
  let arguments = (ins StrAttr:$spec, AnyStaticShapeTensor:$lhs, AnyStaticShapeTensor:$rhs,
                       Optional<AnyStaticShapeTensor>:$bias, Optional<AnyStaticShapeTensor>:$slope, UnitAttr:$gelu);
  let results = (outs AnyStaticShapeTensor:$y, Optional<AnyStaticShapeTensor>:$kept,
                      Optional<AnyStaticShapeTensor>:$sums);
  let assemblyFormat = [{
    $spec $lhs `,` $rhs (`bias` $bias^ `:` type($bias))? (`slope` $slope^ `:` type($slope))? (`gelu` $gelu^)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($y) (`keeps` type($kept)^)? (`sums` type($sums)^)?
  }];
  let hasVerifier = 1;
}

// Stands here because it is what a fused op becomes: the body is unchanged.
def Exec_FuncOp : Exec_Op<"func", [IsolatedFromAbove, SingleBlock, Symbol, RecursiveMemoryEffects]> {
  let summary = "a kernel to generate: a fused body and the layout of its buffers";
  let description = [{
    `exec.fused` ops with equal bodies and equal buffer layouts share one function, which
    `exec.kernel` commands call. The kernel generator replaces it by an `llvm.func` of the same
    name and of the type `dtcc_kernel`, with the attributes `dtcc.extent` and `dtcc.grain` (i64).

    `buffers` holds one memref type for each argument of the body, then one for each yielded
    value: the shape and element type of the tensor, with the strides of the buffer. A yielded
    value may have a buffer of a narrower float type: it is rounded when it is stored, behind the
    addition if it is added. For each yielded value, `accumulate` is 0 to overwrite the buffer, 1 to add to it, 2 to add unless
    the slot is 0. `in_place` is the argument whose buffer the value overwrites, or -1. Buffers
    overlap in no other way.
    ```mlir
    exec.func @add_0 buffers [memref<8x4xf32, strided<[1, 8]>>, memref<8x4xf32>, memref<8x4xf32>]
        accumulate [0] in_place [1] {
    ^bb0(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>):
      %s = graph.add %x, %y : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      exec.yield %s : tensor<8x4xf32>
    }
    ```

    Made by exec-bufferize. Consumed by the kernel generator. None is left after exec-generate-kernels or
    exec-generate-gpu-kernels.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeArrayAttr:$buffers, DenseI64ArrayAttr:$accumulate,
                       DenseI64ArrayAttr:$in_place);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `buffers` $buffers `accumulate` $accumulate `in_place` $in_place attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    YieldOp getYield();
    /// The buffer of argument `i`, or of yielded value `i`.
    ::mlir::MemRefType getInputBuffer(unsigned i);
    ::mlir::MemRefType getOutputBuffer(unsigned i);
  }];
}

#endif // DTCC_DIALECTS_EXEC_FUSEDOPS
