// RUN: not dtcc-opt %s --exec-price-commands=cluster=8xabacus 2>&1 | FileCheck %s
// CHECK: error: exec-price-commands: {{.*}}abacus
module {
}
