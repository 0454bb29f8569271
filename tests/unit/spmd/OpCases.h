//===- OpCases.h - One small instance of every graph op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_TESTS_UNIT_SPMD_OPCASES_H
#define DTCC_TESTS_UNIT_SPMD_OPCASES_H

namespace dtcc::spmd {

/// Sizes differ and are partly odd. `bound` limits integer arguments: [0, bound).
struct OpCase {
  const char *op;
  const char *arguments;
  const char *body;
  int bound = 2;
};

#define CELLS(NAME) {"graph." NAME, "%x: tensor<4x3xf64>", "graph." NAME " %x : tensor<4x3xf64>"}
#define GRAD(NAME, ATTR)                                                                                               \
  {"graph." NAME, "%x: tensor<4x3xf64>, %y: tensor<4x3xf64>", "graph." NAME " %x, %y " ATTR ": tensor<4x3xf64>"}
#define PAIR(NAME)                                                                                                     \
  {"graph." NAME, "%x: tensor<4x3xf64>, %y: tensor<4x3xf64>",                                                          \
   "graph." NAME " %x, %y : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>"}
#define BITS(NAME)                                                                                                     \
  {"graph." NAME, "%x: tensor<4xi1>, %y: tensor<4xi1>",                                                                \
   "graph." NAME " %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>"}

inline const OpCase kOpCases[] = {
    CELLS("neg"),
    CELLS("abs"),
    CELLS("exp"),
    CELLS("log"),
    CELLS("log1p"),
    CELLS("expm1"),
    CELLS("sqrt"),
    CELLS("rsqrt"),
    CELLS("sin"),
    CELLS("cos"),
    CELLS("tanh"),
    CELLS("erf"),
    CELLS("logistic"),
    CELLS("floor"),
    CELLS("sign"),
    CELLS("stop_gradient"),
    GRAD("replace_gradient", ""),
    CELLS("relu"),
    CELLS("silu"),
    {"graph.gelu", "%x: tensor<4x3xf64>", "graph.gelu %x {form = #graph<gelu_form exact>} : tensor<4x3xf64>"},
    GRAD("relu_grad", ""),
    GRAD("silu_grad", ""),
    GRAD("gelu_grad", "{form = #graph<gelu_form tanh>}"),
    PAIR("add"),
    PAIR("sub"),
    PAIR("mul"),
    PAIR("div"),
    PAIR("pow"),
    PAIR("max"),
    PAIR("min"),
    PAIR("rem"),
    BITS("and"),
    BITS("or"),
    BITS("xor"),
    BITS("shift_left"),
    BITS("shift_right"),
    {"graph.not", "%x: tensor<4xi1>", "graph.not %x : tensor<4xi1>"},
    {"graph.is_nan", "%x: tensor<4xf64>", "graph.is_nan %x : (tensor<4xf64>) -> tensor<4xi1>"},
    {"graph.compare", "%x: tensor<4xf64>, %y: tensor<4xf64>",
     "graph.compare lt %x, %y : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>"},
    {"graph.select", "%c: tensor<4xi1>, %x: tensor<4xf64>, %y: tensor<4xf64>",
     "graph.select %c, %x, %y : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>"},
    {"graph.cast", "%x: tensor<4x3xf64>", "graph.cast %x : (tensor<4x3xf64>) -> tensor<4x3xf32>"},
    {"graph.dropout", "%x: tensor<4x3x2xf64>", "graph.dropout %x {ratio = 0.4, id = 3 : i64} : tensor<4x3x2xf64>"},
    {"graph.uniform", "%x: tensor<4x3x2xf64>", "graph.uniform %x {id = 3 : i64} : tensor<4x3x2xf64>"},
    {"graph.constant", "", "graph.constant dense<1.5> : tensor<4x3xf64> : tensor<4x3xf64>"},
    {"graph.constant", "", "graph.constant dense<[1.5, 2.5, 3.5]> : tensor<3xf64> : tensor<3xf64>"},
    {"graph.iota", "", "graph.iota {dim = 1 : i64, start = 2 : i64, step = 3 : i64} : tensor<2x6xi64>"},
    {"graph.reshape", "%x: tensor<4x2x3xf64>", "graph.reshape %x : (tensor<4x2x3xf64>) -> tensor<4x6xf64>"},
    {"graph.transpose", "%x: tensor<4x2x3xf64>",
     "graph.transpose %x [2, 0, 1] : (tensor<4x2x3xf64>) -> tensor<3x4x2xf64>"},
    {"graph.barrier", "%x: tensor<3x4xf64>",
     "graph.barrier %x {segment = 0 : i64} : (tensor<3x4xf64>) -> tensor<3x4xf64>"},
    {"graph.broadcast", "%x: tensor<3xf64>", "graph.broadcast %x [1] : (tensor<3xf64>) -> tensor<2x3x4xf64>"},
    {"graph.slice", "%x: tensor<4x6xf64>", "graph.slice %x [0, 1] [1, 2] : (tensor<4x6xf64>) -> tensor<4x3xf64>"},
    {"graph.pad", "%x: tensor<4x3xf64>", "graph.pad %x [0, 1] [0, 2] 0.0 : (tensor<4x3xf64>) -> tensor<4x6xf64>"},
    {"graph.shift", "%x: tensor<4x3xi64>",
     "graph.shift %x {dim = 1 : i64, amount = 1 : i64, fill = -100 : i64} : tensor<4x3xi64>", 9},
    {"graph.concat", "%x: tensor<4x3xf64>, %y: tensor<4x1xf64>",
     "graph.concat %x, %y {dim = 1 : i64} : (tensor<4x3xf64>, tensor<4x1xf64>) -> tensor<4x4xf64>"},
    {"graph.stack", "%x: tensor<4x3xf64>, %y: tensor<4x3xf64>",
     "graph.stack %x, %y {dim = 1 : i64} : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x2x3xf64>"},
    {"graph.unstack", "%x: tensor<2x4x3xf64>",
     "graph.unstack %x {dim = 0 : i64} : (tensor<2x4x3xf64>) -> (tensor<4x3xf64>, tensor<4x3xf64>)"},
    {"graph.gather", "%x: tensor<2x4x3xf64>, %i: tensor<3x2xi64>",
     "graph.gather %x, %i {axis = 1 : i64} : (tensor<2x4x3xf64>, tensor<3x2xi64>) -> tensor<2x3x2x3xf64>", 4},
    {"graph.contract", "%x: tensor<2x3x4xf64>, %w: tensor<4x5x3xf64>",
     "graph.contract \"bck,knc->bcn\" %x, %w : (tensor<2x3x4xf64>, tensor<4x5x3xf64>) -> tensor<2x3x5xf64>"},
    {"graph.contract", "%x: tensor<4x6xf64>",
     "graph.contract \"ab,ab->a\" %x, %x : (tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4xf64>"},
    {"graph.reduce", "%x: tensor<2x3x4xf64>", "graph.reduce sum %x [0, 2] : (tensor<2x3x4xf64>) -> tensor<3xf64>"},
    {"graph.reduce", "%x: tensor<6x3x4xf64>", "graph.reduce max %x [0, 2] : (tensor<6x3x4xf64>) -> tensor<3xf64>"},
    {"graph.reduce", "%x: tensor<6x3x4xf64>", "graph.reduce min %x [2] : (tensor<6x3x4xf64>) -> tensor<6x3xf64>"},
    {"graph.softmax", "%x: tensor<4x3x2xf64>", "graph.softmax %x [1, 2] : tensor<4x3x2xf64>"},
    {"graph.cumsum", "%x: tensor<4x3xf64>", "graph.cumsum %x {dim = 1 : i64} : tensor<4x3xf64>"},
    {"graph.embedding", "%t: tensor<7x3xf64>, %i: tensor<4x2xi64>",
     "graph.embedding %t, %i : (tensor<7x3xf64>, tensor<4x2xi64>) -> tensor<4x2x3xf64>", 7},
    {"graph.scatter_add", "%d: tensor<4x2x3xf64>, %i: tensor<4x2xi64>",
     "graph.scatter_add %d, %i {padding_idx = 2 : i64} : (tensor<4x2x3xf64>, tensor<4x2xi64>) -> tensor<7x3xf64>", 7},
    {"graph.layer_norm", "%x: tensor<4x3x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>",
     "graph.layer_norm %x, %s, %b [2] {eps = 1.0e-5} : (tensor<4x3x2xf64>, tensor<2xf64>, tensor<2xf64>) -> "
     "(tensor<4x3x2xf64>, tensor<4x3xf64>, tensor<4x3xf64>)"},
    {"graph.layer_norm_grad",
     "%d: tensor<4x3x2xf64>, %x: tensor<4x3x2xf64>, %s: tensor<2xf64>, %m: tensor<4x3xf64>, %r: tensor<4x3xf64>",
     "graph.layer_norm_grad %d, %x, %s, %m, %r [2] : (tensor<4x3x2xf64>, tensor<4x3x2xf64>, tensor<2xf64>, "
     "tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3x2xf64>"},
    {"graph.layer_norm_param_grad",
     "%d: tensor<4x3x2xf64>, %x: tensor<4x3x2xf64>, %m: tensor<4x3xf64>, %r: tensor<4x3xf64>",
     "graph.layer_norm_param_grad %d, %x, %m, %r [2] : (tensor<4x3x2xf64>, tensor<4x3x2xf64>, tensor<4x3xf64>, "
     "tensor<4x3xf64>) -> (tensor<2xf64>, tensor<2xf64>)"},
    {"graph.rms_norm", "%x: tensor<4x3x2xf64>, %s: tensor<2xf64>",
     "graph.rms_norm %x, %s [2] {eps = 1.0e-5} : (tensor<4x3x2xf64>, tensor<2xf64>) -> (tensor<4x3x2xf64>, "
     "tensor<4x3xf64>)"},
    {"graph.rms_norm_grad", "%d: tensor<4x3x2xf64>, %x: tensor<4x3x2xf64>, %s: tensor<2xf64>, %r: tensor<4x3xf64>",
     "graph.rms_norm_grad %d, %x, %s, %r [2] : (tensor<4x3x2xf64>, tensor<4x3x2xf64>, tensor<2xf64>, tensor<4x3xf64>) "
     "-> tensor<4x3x2xf64>"},
    {"graph.rms_norm_param_grad", "%d: tensor<4x3x2xf64>, %x: tensor<4x3x2xf64>, %r: tensor<4x3xf64>",
     "graph.rms_norm_param_grad %d, %x, %r [2] : (tensor<4x3x2xf64>, tensor<4x3x2xf64>, tensor<4x3xf64>) -> "
     "tensor<2xf64>"},
    {"graph.batch_norm", "%x: tensor<6x4x3xf64>, %s: tensor<4xf64>, %b: tensor<4xf64>",
     "graph.batch_norm %x, %s, %b [0, 2] {eps = 1.0e-5} : (tensor<6x4x3xf64>, tensor<4xf64>, tensor<4xf64>) -> "
     "(tensor<6x4x3xf64>, tensor<6x4xf64>, tensor<6x4xf64>)"},
    {"graph.batch_norm_grad",
     "%d: tensor<6x4x3xf64>, %x: tensor<6x4x3xf64>, %s: tensor<4xf64>, %m: tensor<6x4xf64>, %v: tensor<6x4xf64>",
     "graph.batch_norm_grad %d, %x, %s, %m, %v [0, 2] {eps = 1.0e-5} : (tensor<6x4x3xf64>, tensor<6x4x3xf64>, "
     "tensor<4xf64>, tensor<6x4xf64>, tensor<6x4xf64>) -> tensor<6x4x3xf64>"},
    {"graph.batch_norm_param_grad",
     "%d: tensor<6x4x3xf64>, %x: tensor<6x4x3xf64>, %m: tensor<6x4xf64>, %v: tensor<6x4xf64>",
     "graph.batch_norm_param_grad %d, %x, %m, %v [0, 2] {eps = 1.0e-5} : (tensor<6x4x3xf64>, tensor<6x4x3xf64>, "
     "tensor<6x4xf64>, tensor<6x4xf64>) -> (tensor<4xf64>, tensor<4xf64>)"},
    {"graph.group_sum", "%x: tensor<6x4xf64>", "graph.group_sum %x : (tensor<6x4xf64>) -> tensor<6x4xf64>"},
    {"graph.running_statistics", "%a: tensor<4xf64>, %b: tensor<4xf64>, %m: tensor<6x4xf64>, %v: tensor<6x4xf64>",
     "graph.running_statistics %a, %b, %m, %v {momentum = 0.1, cells = 18 : i64, unbiased} : (tensor<4xf64>, "
     "tensor<4xf64>, tensor<6x4xf64>, tensor<6x4xf64>) -> (tensor<4xf64>, tensor<4xf64>)"},
    {"graph.convolution", "%x: tensor<2x2x3x5x4xf64>, %w: tensor<2x4x3x3x2xf64>",
     "graph.convolution %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, low = array<i64: 1, 1>} : "
     "(tensor<2x2x3x5x4xf64>, tensor<2x4x3x3x2xf64>) -> tensor<2x2x4x3x4xf64>"},
    {"graph.convolution_input_grad", "%d: tensor<2x4x3x4xf64>, %w: tensor<4x3x3x2xf64>",
     "graph.convolution_input_grad %d, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, low = array<i64: "
     "1, 1>} : (tensor<2x4x3x4xf64>, tensor<4x3x3x2xf64>) -> tensor<2x3x5x4xf64>"},
    {"graph.convolution_kernel_grad", "%d: tensor<6x4x3x4xf64>, %x: tensor<6x3x5x4xf64>",
     "graph.convolution_kernel_grad %d, %x {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, low = "
     "array<i64: 1, 1>} : (tensor<6x4x3x4xf64>, tensor<6x3x5x4xf64>) -> tensor<4x3x3x2xf64>"},
    {"graph.max_pool", "%x: tensor<4x3x5x4xf64>",
     "graph.max_pool %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, low = "
     "array<i64: 1, 1>} : (tensor<4x3x5x4xf64>) -> tensor<4x3x3x4xf64>"},
    {"graph.max_pool_grad", "%d: tensor<4x3x3x4xf64>, %x: tensor<4x3x5x4xf64>",
     "graph.max_pool_grad %d, %x {window = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, "
     "low = array<i64: 1, 1>} : (tensor<4x3x3x4xf64>, tensor<4x3x5x4xf64>) -> tensor<4x3x5x4xf64>"},
    {"graph.attention", "%q: tensor<2x3x3x2x2xf64>, %k: tensor<2x4x3x2xf64>, %v: tensor<2x4x3x5xf64>",
     "graph.attention %q, %k, %v <causal = true, offset = 1> {scale = 0.5} : (tensor<2x3x3x2x2xf64>, "
     "tensor<2x4x3x2xf64>, tensor<2x4x3x5xf64>) -> (tensor<2x3x3x2x5xf64>, tensor<2x3x2x3xf64>)"},
    {"graph.attention", "%q: tensor<2x6x3x2xf64>, %k: tensor<2x6x3x2xf64>, %v: tensor<2x6x3x5xf64>",
     "graph.attention %q, %k, %v <causal = true, window_left = 3> {scale = 0.5} : (tensor<2x6x3x2xf64>, "
     "tensor<2x6x3x2xf64>, tensor<2x6x3x5xf64>) -> (tensor<2x6x3x5xf64>, tensor<2x3x6xf64>)"},
    {"graph.attention", "%q: tensor<2x3x3x2xf64>, %k: tensor<2x4x3x2xf64>, %v: tensor<2x4x3x5xf64>, %m: tensor<2x4xi1>",
     "graph.attention %q, %k, %v mask(%m) <key = true> {scale = 0.5} : (tensor<2x3x3x2xf64>, tensor<2x4x3x2xf64>, "
     "tensor<2x4x3x5xf64>, tensor<2x4xi1>) -> (tensor<2x3x3x5xf64>, tensor<2x3x3xf64>)"},
    {"graph.attention_grad",
     "%q: tensor<2x3x3x2x2xf64>, %k: tensor<2x4x3x2xf64>, %v: tensor<2x4x3x5xf64>, %o: tensor<2x3x3x2x5xf64>, "
     "%l: tensor<2x3x2x3xf64>, %d: tensor<2x3x3x2x5xf64>",
     "graph.attention_grad %q, %k, %v out %o, %l, %d <causal = true, offset = 1> {scale = 0.5} : "
     "(tensor<2x3x3x2x2xf64>, tensor<2x4x3x2xf64>, tensor<2x4x3x5xf64>, tensor<2x3x3x2x5xf64>, tensor<2x3x2x3xf64>, "
     "tensor<2x3x3x2x5xf64>) -> (tensor<2x3x3x2x2xf64>, tensor<2x4x3x2xf64>, tensor<2x4x3x5xf64>)"},
    {"graph.attention_grad",
     "%q: tensor<2x6x3x2xf64>, %k: tensor<2x6x3x2xf64>, %v: tensor<2x6x3x5xf64>, %o: tensor<2x6x3x5xf64>, "
     "%l: tensor<2x3x6xf64>, %d: tensor<2x6x3x5xf64>",
     "graph.attention_grad %q, %k, %v out %o, %l, %d <causal = true, window_left = 3> {scale = 0.5} : "
     "(tensor<2x6x3x2xf64>, tensor<2x6x3x2xf64>, tensor<2x6x3x5xf64>, tensor<2x6x3x5xf64>, tensor<2x3x6xf64>, "
     "tensor<2x6x3x5xf64>) -> (tensor<2x6x3x2xf64>, tensor<2x6x3x2xf64>, tensor<2x6x3x5xf64>)"},
    // Keys that lie like queries go around a ring.
    {"graph.attention", "%q: tensor<2x6x3x2x2xf64>, %k: tensor<2x6x3x2xf64>, %v: tensor<2x6x3x5xf64>",
     "graph.attention %q, %k, %v <causal = true> {scale = 0.5, ring} : (tensor<2x6x3x2x2xf64>, "
     "tensor<2x6x3x2xf64>, tensor<2x6x3x5xf64>) -> (tensor<2x6x3x2x5xf64>, tensor<2x3x2x6xf64>)"},
    {"graph.attention", "%q: tensor<2x5x3x2xf64>, %k: tensor<2x5x3x2xf64>, %v: tensor<2x5x3x5xf64>, %m: tensor<2x5xi1>",
     "graph.attention %q, %k, %v mask(%m) <window_left = 2, key = true> {scale = 0.5, softcap = 3.0, ring} : "
     "(tensor<2x5x3x2xf64>, tensor<2x5x3x2xf64>, tensor<2x5x3x5xf64>, tensor<2x5xi1>) -> (tensor<2x5x3x5xf64>, "
     "tensor<2x3x5xf64>)"},
    {"graph.attention_grad",
     "%q: tensor<2x6x3x2x2xf64>, %k: tensor<2x6x3x2xf64>, %v: tensor<2x6x3x5xf64>, %o: tensor<2x6x3x2x5xf64>, "
     "%l: tensor<2x3x2x6xf64>, %d: tensor<2x6x3x2x5xf64>",
     "graph.attention_grad %q, %k, %v out %o, %l, %d <causal = true> {scale = 0.5, ring} : "
     "(tensor<2x6x3x2x2xf64>, tensor<2x6x3x2xf64>, tensor<2x6x3x5xf64>, tensor<2x6x3x2x5xf64>, tensor<2x3x2x6xf64>, "
     "tensor<2x6x3x2x5xf64>) -> (tensor<2x6x3x2x2xf64>, tensor<2x6x3x2xf64>, tensor<2x6x3x5xf64>)"},
    {"graph.attention_grad",
     "%q: tensor<2x6x3x2xf64>, %k: tensor<2x6x3x2xf64>, %v: tensor<2x6x3x5xf64>, %m: tensor<2x6xi1>, "
     "%o: tensor<2x6x3x5xf64>, %l: tensor<2x3x6xf64>, %d: tensor<2x6x3x5xf64>",
     "graph.attention_grad %q, %k, %v mask(%m) out %o, %l, %d <key = true> {scale = 0.5, ring} : "
     "(tensor<2x6x3x2xf64>, tensor<2x6x3x2xf64>, tensor<2x6x3x5xf64>, tensor<2x6xi1>, tensor<2x6x3x5xf64>, "
     "tensor<2x3x6xf64>, tensor<2x6x3x5xf64>) -> (tensor<2x6x3x2xf64>, tensor<2x6x3x2xf64>, tensor<2x6x3x5xf64>)"},
    {"graph.attention_part",
     "%q: tensor<2x3x3x2xf64>, %k: tensor<2x4x3x2xf64>, %v: tensor<2x4x3x5xf64>, %o: tensor<2x3x3x5xf64>, "
     "%l: tensor<2x3x3xf64>",
     "graph.attention_part %q, %k, %v onto(%o, %l) <causal = true> {scale = 0.5, length = 4 : i64, "
     "query_length = 3 : i64} : "
     "(tensor<2x3x3x2xf64>, tensor<2x4x3x2xf64>, tensor<2x4x3x5xf64>, tensor<2x3x3x5xf64>, tensor<2x3x3xf64>) -> "
     "(tensor<2x3x3x5xf64>, tensor<2x3x3xf64>)"},
    {"graph.attention_part_grad",
     "%q: tensor<2x3x3x2xf64>, %k: tensor<2x4x3x2xf64>, %v: tensor<2x4x3x5xf64>, %o: tensor<2x3x3x5xf64>, "
     "%l: tensor<2x3x3xf64>",
     "graph.attention_part_grad %q, %k, %v out %o, %l, %o onto(%q, %k, %v) <causal = true> {scale = 0.5, length = 4 : "
     "i64, query_length = 3 : i64} : (tensor<2x3x3x2xf64>, tensor<2x4x3x2xf64>, tensor<2x4x3x5xf64>, "
     "tensor<2x3x3x5xf64>, "
     "tensor<2x3x3xf64>, tensor<2x3x3x5xf64>, tensor<2x3x3x2xf64>, tensor<2x4x3x2xf64>, tensor<2x4x3x5xf64>) -> "
     "(tensor<2x3x3x2xf64>, tensor<2x4x3x2xf64>, tensor<2x4x3x5xf64>)"},
    {"graph.reorder", "%x: tensor<2x8x3xf64>",
     "graph.reorder %x dim 1 chunks 4 : (tensor<2x8x3xf64>) -> tensor<2x8x3xf64>"},
    {"graph.reorder", "%x: tensor<2x11x3xi64>",
     "graph.reorder %x dim 1 chunks 6 : (tensor<2x11x3xi64>) -> tensor<2x11x3xi64>"},
    {"graph.reorder", "%x: tensor<2x5xi64>",
     "graph.reorder %x dim 1 chunks 0 {fill = 3 : i64} : (tensor<2x5xi64>) -> tensor<2x5xi64>"},
    {"graph.reorder", "%x: tensor<2x8x3xf64>",
     "graph.reorder %x dim 1 chunks 4 {inverse} : (tensor<2x8x3xf64>) -> tensor<2x8x3xf64>"},
    {"graph.rotary", "%x: tensor<4x3x2x5xf64>, %c: tensor<3x5xf64>, %s: tensor<3x5xf64>",
     "graph.rotary %x, %c, %s [1, 3] {pair = 2 : i64} : (tensor<4x3x2x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>) -> "
     "tensor<4x3x2x5xf64>"},
    {"graph.top_k", "%x: tensor<4x3x5xf64>",
     "graph.top_k %x : (tensor<4x3x5xf64>) -> (tensor<4x3x2xf64>, tensor<4x3x2xi64>)"},
    {"graph.grouped_contract", "%x: tensor<2x3x4xf64>, %w: tensor<5x2x3x4xf64>, %i: tensor<2x3x2xi64>",
     "graph.grouped_contract \"ntc,egfc->ntkgf\" rows \"ntk\" %x, %w, %i : (tensor<2x3x4xf64>, "
     "tensor<5x2x3x4xf64>, tensor<2x3x2xi64>) -> tensor<2x3x2x2x3xf64>",
     5},
    {"graph.grouped_contract", "%x: tensor<6x2x4xf64>, %w: tensor<4x3x4xf64>, %i: tensor<6x2xi64>",
     "graph.grouped_contract \"nkc,efc->nf\" rows \"nk\" %x, %w, %i : (tensor<6x2x4xf64>, tensor<4x3x4xf64>, "
     "tensor<6x2xi64>) -> tensor<6x3xf64>",
     4},
    {"graph.grouped_contract", "%x: tensor<6x4xf64>, %d: tensor<6x2x3xf64>, %i: tensor<6x2xi64>",
     "graph.grouped_contract \"nc,nkf->efc\" rows \"nk\" %x, %d, %i : (tensor<6x4xf64>, tensor<6x2x3xf64>, "
     "tensor<6x2xi64>) -> tensor<5x3x4xf64>",
     5},
    {"graph.experts",
     "%x: tensor<2x3x4xf64>, %i: tensor<2x3x2xi64>, %r: tensor<2x3x2xf64>, %a: tensor<5x2x3x4xf64>, "
     "%b: tensor<5x6x3xf64>",
     "graph.experts %x, %i, %r, %a, %b : (tensor<2x3x4xf64>, tensor<2x3x2xi64>, tensor<2x3x2xf64>, "
     "tensor<5x2x3x4xf64>, tensor<5x6x3xf64>) -> (tensor<2x3x6xf64>, tensor<2x3x2x2x3xf64>)",
     5},
    {"graph.experts",
     "%x: tensor<2x3x4xf64>, %i: tensor<2x3x2xi64>, %r: tensor<2x3x2xf64>, %a: tensor<5x1x3x4xf64>, "
     "%b: tensor<5x6x3xf64>",
     "graph.experts %x, %i, %r, %a, %b {activation = #graph<expert_activation relu_squared>} : (tensor<2x3x4xf64>, "
     "tensor<2x3x2xi64>, tensor<2x3x2xf64>, tensor<5x1x3x4xf64>, tensor<5x6x3xf64>) -> (tensor<2x3x6xf64>, "
     "tensor<2x3x2x1x3xf64>)",
     5},
    {"graph.experts_grad",
     "%d: tensor<2x3x6xf64>, %i: tensor<2x3x2xi64>, %r: tensor<2x3x2xf64>, %a: tensor<5x2x3x4xf64>, "
     "%b: tensor<5x6x3xf64>, %h: tensor<2x3x2x2x3xf64>",
     "graph.experts_grad %d, %i, %r, %a, %b, %h : (tensor<2x3x6xf64>, tensor<2x3x2xi64>, tensor<2x3x2xf64>, "
     "tensor<5x2x3x4xf64>, tensor<5x6x3xf64>, tensor<2x3x2x2x3xf64>) -> (tensor<2x3x4xf64>, tensor<2x3x2xf64>, "
     "tensor<2x3x2x2x3xf64>)",
     5},
    {"graph.experts_weight_grad",
     "%d: tensor<2x3x6xf64>, %x: tensor<2x3x4xf64>, %i: tensor<2x3x2xi64>, %r: tensor<2x3x2xf64>, "
     "%h: tensor<2x3x2x2x3xf64>, %e: tensor<2x3x2x2x3xf64>",
     "graph.experts_weight_grad %d, %x, %i, %r, %h, %e : (tensor<2x3x6xf64>, tensor<2x3x4xf64>, tensor<2x3x2xi64>, "
     "tensor<2x3x2xf64>, tensor<2x3x2x2x3xf64>, tensor<2x3x2x2x3xf64>) -> (tensor<5x2x3x4xf64>, tensor<5x6x3xf64>)",
     5},
    {"graph.recurrence", "%p: tensor<2x6x1x3xf64>, %w: tensor<1x3x3xf64>, %s: tensor<6x3xf64>",
     "graph.recurrence tanh %p, %w, %s : (tensor<2x6x1x3xf64>, tensor<1x3x3xf64>, tensor<6x3xf64>) -> "
     "(tensor<2x6x3xf64>, tensor<2x6x1x3xf64>)"},
    {"graph.recurrence_grad",
     "%d: tensor<2x6x3xf64>, %w: tensor<1x3x3xf64>, %h: tensor<2x6x3xf64>, %s: tensor<6x3xf64>, %g: "
     "tensor<2x6x1x3xf64>",
     "graph.recurrence_grad tanh %d, %w, %h, %s, %g : (tensor<2x6x3xf64>, tensor<1x3x3xf64>, tensor<2x6x3xf64>, "
     "tensor<6x3xf64>, tensor<2x6x1x3xf64>) -> (tensor<2x6x1x3xf64>, tensor<6x3xf64>)"},
    {"graph.recurrence", "%p: tensor<2x6x1x3xf64>, %w: tensor<1x3x3xf64>, %s: tensor<6x3xf64>",
     "graph.recurrence relu %p, %w, %s : (tensor<2x6x1x3xf64>, tensor<1x3x3xf64>, tensor<6x3xf64>) -> "
     "(tensor<2x6x3xf64>, tensor<2x6x1x3xf64>)"},
    {"graph.recurrence_grad",
     "%d: tensor<2x6x3xf64>, %w: tensor<1x3x3xf64>, %h: tensor<2x6x3xf64>, %s: tensor<6x3xf64>, %g: "
     "tensor<2x6x1x3xf64>",
     "graph.recurrence_grad relu %d, %w, %h, %s, %g : (tensor<2x6x3xf64>, tensor<1x3x3xf64>, tensor<2x6x3xf64>, "
     "tensor<6x3xf64>, tensor<2x6x1x3xf64>) -> (tensor<2x6x1x3xf64>, tensor<6x3xf64>)"},
    {"graph.recurrence", "%p: tensor<2x6x4x3xf64>, %w: tensor<4x3x3xf64>, %s: tensor<6x3xf64>, %o: tensor<6x3xf64>",
     "graph.recurrence lstm %p, %w, %s, %o : (tensor<2x6x4x3xf64>, tensor<4x3x3xf64>, tensor<6x3xf64>, "
     "tensor<6x3xf64>) -> (tensor<2x6x3xf64>, tensor<2x6x3xf64>, tensor<2x6x4x3xf64>)"},
    {"graph.recurrence_grad",
     "%d: tensor<2x6x3xf64>, %w: tensor<4x3x3xf64>, %h: tensor<2x6x3xf64>, %s: tensor<6x3xf64>, %g: "
     "tensor<2x6x4x3xf64>, %c: tensor<2x6x3xf64>, %i: tensor<6x3xf64>",
     "graph.recurrence_grad lstm %d, %w, %h, %s, %g memory(%c, %i) : (tensor<2x6x3xf64>, tensor<4x3x3xf64>, "
     "tensor<2x6x3xf64>, tensor<6x3xf64>, tensor<2x6x4x3xf64>, tensor<2x6x3xf64>, tensor<6x3xf64>) -> "
     "(tensor<2x6x4x3xf64>, tensor<6x3xf64>, tensor<6x3xf64>)"},
    {"graph.recurrence_grad",
     "%d: tensor<2x6x3xf64>, %w: tensor<4x3x3xf64>, %h: tensor<2x6x3xf64>, %s: tensor<6x3xf64>, %g: "
     "tensor<2x6x4x3xf64>, %c: tensor<2x6x3xf64>, %i: tensor<6x3xf64>, %e: tensor<2x6x3xf64>",
     "graph.recurrence_grad lstm %d, %w, %h, %s, %g memory(%c, %i, %e) {reverse} : (tensor<2x6x3xf64>, "
     "tensor<4x3x3xf64>, tensor<2x6x3xf64>, tensor<6x3xf64>, tensor<2x6x4x3xf64>, tensor<2x6x3xf64>, tensor<6x3xf64>, "
     "tensor<2x6x3xf64>) -> (tensor<2x6x4x3xf64>, tensor<6x3xf64>, tensor<6x3xf64>)"},
    {"graph.recurrence", "%p: tensor<2x6x3x3xf64>, %w: tensor<3x3x3xf64>, %s: tensor<6x3xf64>",
     "graph.recurrence gru %p, %w, %s : (tensor<2x6x3x3xf64>, tensor<3x3x3xf64>, tensor<6x3xf64>) -> "
     "(tensor<2x6x3xf64>, tensor<2x6x3x3xf64>)"},
    {"graph.recurrence_grad",
     "%d: tensor<2x6x3xf64>, %w: tensor<3x3x3xf64>, %h: tensor<2x6x3xf64>, %s: tensor<6x3xf64>, %g: "
     "tensor<2x6x3x3xf64>",
     "graph.recurrence_grad gru %d, %w, %h, %s, %g : (tensor<2x6x3xf64>, tensor<3x3x3xf64>, tensor<2x6x3xf64>, "
     "tensor<6x3xf64>, tensor<2x6x3x3xf64>) -> (tensor<2x6x3x3xf64>, tensor<6x3xf64>)"},
    {"graph.recurrence", "%p: tensor<2x6x3x3xf64>, %w: tensor<3x3x3xf64>, %s: tensor<6x3xf64>, %o: tensor<3xf64>",
     "graph.recurrence gru_reset_after %p, %w, %s, %o : (tensor<2x6x3x3xf64>, tensor<3x3x3xf64>, tensor<6x3xf64>, "
     "tensor<3xf64>) -> (tensor<2x6x3xf64>, tensor<2x6x4x3xf64>)"},
    {"graph.recurrence_grad",
     "%d: tensor<2x6x3xf64>, %w: tensor<3x3x3xf64>, %h: tensor<2x6x3xf64>, %s: tensor<6x3xf64>, %g: "
     "tensor<2x6x4x3xf64>",
     "graph.recurrence_grad gru_reset_after %d, %w, %h, %s, %g : (tensor<2x6x3xf64>, tensor<3x3x3xf64>, "
     "tensor<2x6x3xf64>, tensor<6x3xf64>, tensor<2x6x4x3xf64>) -> (tensor<2x6x3x3xf64>, tensor<6x3xf64>, "
     "tensor<2x6x3x3xf64>)"},
    {"graph.cross_entropy", "%l: tensor<4x2x7xf64>, %t: tensor<4x2xi64>",
     "graph.cross_entropy %l, %t {ignore_index = 3 : i64} : (tensor<4x2x7xf64>, tensor<4x2xi64>) -> (tensor<f32>, "
     "tensor<f32>, tensor<4x2xf64>)",
     7},
    {"graph.cross_entropy_grad", "%l: tensor<4x2x7xf64>, %t: tensor<4x2xi64>, %e: tensor<4x2xf64>",
     "graph.cross_entropy_grad %l, %t, %e {ignore_index = 3 : i64} : (tensor<4x2x7xf64>, tensor<4x2xi64>, "
     "tensor<4x2xf64>) -> tensor<4x2x7xf64>",
     7},
    {"graph.cross_entropy_stats", "%l: tensor<4x2x7xf64>, %t: tensor<4x2xi64>",
     "graph.cross_entropy_stats %l, %t {classes = 7 : i64} : (tensor<4x2x7xf64>, tensor<4x2xi64>) -> "
     "(tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>)",
     7},
    {"graph.cross_entropy_merge", "%a: tensor<4x3xf64>, %b: tensor<4x3xf64>, %s: tensor<4x3xf64>",
     "graph.cross_entropy_merge %a, %b, %s : (tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>"},
    {"graph.cross_entropy_loss", "%a: tensor<4x3xf64>, %b: tensor<4x3xf64>, %s: tensor<4x3xf64>, %t: tensor<4x3xi64>",
     "graph.cross_entropy_loss %a, %b, %s, %t {ignore_index = 3 : i64} : (tensor<4x3xf64>, tensor<4x3xf64>, "
     "tensor<4x3xf64>, tensor<4x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<4x3xf64>)",
     7},
};

#undef CELLS
#undef GRAD
#undef PAIR
#undef BITS

} // namespace dtcc::spmd

#endif // DTCC_TESTS_UNIT_SPMD_OPCASES_H
