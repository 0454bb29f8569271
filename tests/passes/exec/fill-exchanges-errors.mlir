// RUN: not dtcc-opt %s --exec-fill-exchanges=cluster=8xabacus 2>&1 | FileCheck %s
// CHECK: error: exec-fill-exchanges: {{.*}}abacus
module {
}
