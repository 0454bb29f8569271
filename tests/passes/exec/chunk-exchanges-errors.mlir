// RUN: not dtcc-opt %s --exec-chunk-exchanges=cluster=8xabacus 2>&1 | FileCheck %s
// CHECK: error: exec-chunk-exchanges: {{.*}}abacus
module {
}
