# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# starts.py BUILD [EACH [ROUNDS]]: seconds from the launch of EACH ranks on every host (16) to the end of their first step, and
# to that of the same program's processes that do not meet (--info), which is what this machine needs to start so many. By hand:
#
#   python3 tests/cluster/hosts.py 4 python3 tests/cluster/starts.py build 16 9
import os, pathlib, statistics, subprocess, sys, tempfile, time

from jobs import HOSTS, build, check, ended, losses, on, source

each = int(sys.argv[2]) if len(sys.argv) > 2 else 16
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
ranks = each * HOSTS
model = source / "tests/frontends/onnx/Inputs/mlp/loss.onnx"
data = f"--data={source / 'tests/e2e/Inputs/mlp/data'}"


def launch(program, words, is_done):
    """Seconds from a word to the shells that wait on the hosts, which start their ranks at once as a launcher does."""
    shells = []
    for host in range(HOSTS):
        start = ('echo ready; read go; for rank in $(seq %d %d); do "$@" --rank=$rank & done; wait'
                 % (host * each, host * each + each - 1))
        command = on(1 + host, "bash", "-c", start, "start", program, *words, f"--ranks={ranks}")
        shells.append(subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True))
    for shell in shells:
        shell.stdout.readline()
    begin = time.monotonic()
    for shell in shells:
        shell.stdin.write("go\n")
        shell.stdin.flush()
    while not is_done(shells) and time.monotonic() < begin + 120:
        time.sleep(0.002)
    seconds = time.monotonic() - begin
    for shell in shells:
        shell.communicate(timeout=120)
    return seconds


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        program, metrics, token = root / "program", root / "metrics", root / "token"
        subprocess.run([build / "bin/dtcc", model, f"--bind=batch={ranks}", f"--mesh=dp={ranks}", "-o", program], check=True)
        token.write_text(f"a secret of {root}\n")
        run = [data, "--steps=2", "--threads=1", f"--metrics={metrics}", "--rendezvous=10.99.0.1:29500", f"--token-file={token}",
               "--hang-timeout=60"]
        trained, alone = [], []
        for _ in range(rounds):
            metrics.unlink(missing_ok=True)
            trained.append(launch(program, run, lambda _: metrics.exists() and '"step":1' in metrics.read_text()))
            check(len(losses(metrics)) == 2, f"{ranks} ranks train: first step after {trained[-1]:.2f} s")
            alone.append(launch(program, [*run, "--info"], lambda shells: all(shell.poll() is not None for shell in shells)))
        print(f"{ranks} ranks on {HOSTS} hosts: first step after {statistics.median(trained):.2f} s ({min(trained):.2f} to "
              f"{max(trained):.2f}), processes alone {statistics.median(alone):.2f} s ({min(alone):.2f} to {max(alone):.2f}), "
              f"medians of {rounds}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    ended()


main()
