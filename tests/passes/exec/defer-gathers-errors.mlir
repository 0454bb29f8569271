// RUN: not dtcc-opt %s --exec-defer-gathers=cluster=8xabacus 2>&1 | FileCheck %s
// CHECK: error: exec-defer-gathers: {{.*}}abacus
module {
}
