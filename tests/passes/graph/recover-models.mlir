// RUN: dtcc-opt %S/inputs/gpt2-factored.mlir --graph-recover-composites --graph-canonicalize | FileCheck %s --check-prefix=GPT2
// RUN: dtcc-opt %S/inputs/llama-factored.mlir --graph-recover-composites --graph-canonicalize | FileCheck %s --check-prefix=LLAMA
// RUN: dtcc-opt %S/inputs/bert-factored.mlir --graph-recover-composites --graph-canonicalize | FileCheck %s --check-prefix=BERT
// RUN: dtcc-opt %S/inputs/vit-factored.mlir --graph-recover-composites --graph-canonicalize | FileCheck %s --check-prefix=VIT
// Factored exports of transformers: every composite of theirs, and no softmax left. Their values before and after are
// compared by tests/unit/graph/RecoverTest.cpp.

// GPT2-COUNT-2: graph.attention {{.*}} <causal = true> {scale = 0.3015
// GPT2-NOT: {{graph.softmax|graph.attention|graph.tanh|graph.transpose}}

// LLAMA: %[[COS:.*]] = graph.cos
// LLAMA: %[[SIN:.*]] = graph.sin
// LLAMA: graph.rotary {{.*}}, %[[COS]], %[[SIN]] [1, 5] {pair = 4 : i64} : (tensor<2x5x2x3x2x7xf32>
// LLAMA: graph.rotary {{.*}}, %[[COS]], %[[SIN]] [1, 4] {pair = 3 : i64} : (tensor<2x5x2x2x7xf32>
// LLAMA: graph.attention {{.*}} <causal = true> {scale = 0.2672{{.*}}} : (tensor<2x5x2x3x14xf32>, tensor<2x5x2x14xf32>, tensor<2x5x2x14xf32>)
// LLAMA: graph.rms_norm {{.*}} [2] {eps = {{.*}}E-7 : f64}
// LLAMA: graph.silu
// LLAMA-COUNT-2: graph.attention
// LLAMA-NOT: {{graph.softmax|graph.attention|graph.rsqrt|graph.transpose}}

// BERT-COUNT-2: graph.attention {{.*}} mask(%{{.*}}) <key = true> {scale = 0.2773
// BERT-NOT: {{graph.softmax|graph.attention|graph.erf|graph.transpose}}

// VIT-COUNT-2: graph.attention {{.*}} <> {scale = 0.2581
// VIT-NOT: {{graph.softmax|graph.attention|graph.erf}}
