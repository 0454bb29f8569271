# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# disks.py BUILD: two hosts of two ranks each that share no folder: each works in one of its own (--checkpoint-local). What a
# rank needs of a checkpoint comes from the host that has it, and no more; a run that goes on has the bits of one that never
# stopped. hosts.py starts this as root of its namespaces.
import pathlib, shutil, subprocess, tempfile

from jobs import RANKS, build, check, ended, losses, model, on
from launchers import start

HOSTS = (1, 2)
HERE = (1, 1, 2, 2)  # the hosts of the ranks


def disk(root, host):
    return root / f"disk-{host}"


def run(root, program, steps, *options, hosts=HERE, local=True):
    """Statuses, what the ranks said, and the losses, of a run whose ranks are on these hosts."""
    metrics = pathlib.Path(tempfile.mkdtemp(dir=root)) / "metrics"
    words = [program, f"--tokens={root}/tokens:u8", f"--steps={steps}", "--threads=1", f"--metrics={metrics}",
             "--checkpoint=run", *(["--checkpoint-local"] if local else []), "--hang-timeout=40", *options]

    def launch(job, port, arguments):
        token = job.folder / "token"
        token.write_text(f"a secret of {job.folder}\n")
        for rank, host in enumerate(hosts):
            job.start(on(host, "sh", "-c", 'cd "$0" && exec "$@"', disk(root, host), *arguments,
                         f"--rendezvous=10.99.0.{hosts[0]}:{port}", f"--rank={rank}", f"--ranks={RANKS}",
                         f"--token-file={token}"))

    job = start(launch, root, *words)
    statuses = job.wait(120)
    job.kill()
    return statuses, job.said(), losses(metrics) if metrics.exists() else {}


def files(root, host, step):
    return {path.name.split(".")[0] for path in (disk(root, host) / f"run/step-{step}").iterdir()}


def save(root):
    for host in HOSTS:
        shutil.copytree(disk(root, host), root / f"saved-{host}")


def restore(root):
    for host in HOSTS:
        shutil.rmtree(disk(root, host))
        shutil.copytree(root / f"saved-{host}", disk(root, host))


def goes_on(what, result, want, first):
    """Whether a run went on from `first` to the last step of `want` with its losses."""
    statuses, said, got = result
    behind = {step: loss for step, loss in want.items() if step > first}
    check(set(statuses) == {0} and got == behind and f"resumed from step {first}" in said, what, statuses, said, got, behind)


def refused(what, result, text):
    statuses, said, _ = result
    errors = [line for line in said.splitlines() if line.startswith("error")]
    check(0 not in statuses and len(errors) == 1 and text in errors[0], what, statuses, said)


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "tokens").write_bytes(bytes(i * i % 31 for i in range(20000)))
        programs = {}
        for name, plan in {"shards": "--mesh=dp=4 --zero=1", "tensors": "--mesh=dp=2,tp=2 --zero=0"}.items():
            programs[name] = root / name
            subprocess.run([build / "bin/dtcc", model, "--bind=batch=12,seq=8", *plan.split(), "-o", root / name], check=True,
                           stderr=subprocess.DEVNULL)
        for host in HOSTS:
            disk(root, host).mkdir()
        program = programs["shards"]
        alone = root / "alone"
        subprocess.run([program, f"--tokens={root}/tokens:u8", "--steps=12", "--threads=1", f"--metrics={alone}",
                        f"--save={root}/alone.safetensors"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        want = losses(alone)

        refused("hosts without a common folder are refused before the first step", run(root, program, 7, local=False),
                "rank 2 on host2 does not see what rank 0 on host1 writes there")
        check(not (disk(root, 1) / "run").exists(), "and nothing is left behind", list(disk(root, 1).iterdir()))
        statuses, said, got = run(root, program, 7, "--checkpoint-every=3", "--keep=2")
        check(set(statuses) == {0} and got == {step: loss for step, loss in want.items() if step <= 7},
              "a run with folders of the hosts' own trains as one that shares", statuses, said)
        check(files(root, 1, 7) == {"manifest", "rank-00000", "rank-00001"}
              and files(root, 2, 7) == {"manifest", "rank-00002", "rank-00003"}, "each host keeps the files of its ranks")
        check([sorted(path.name for path in (disk(root, host) / "run").glob("step-*")) for host in HOSTS]
              == [["step-6", "step-7"]] * 2, "and the newest two checkpoints")
        save(root)

        refused("a second run is refused without --resume", run(root, program, 12), "give --resume to go on from it")
        goes_on("it goes on with equal bits", run(root, program, 12, "--resume", "--save=model.safetensors"), want, 7)
        check((disk(root, 1) / "model.safetensors").read_bytes() == (root / "alone.safetensors").read_bytes()
              and [path.name for path in disk(root, 2).iterdir()] == ["run"], "and rank 0's host has the model that it saves")
        check(files(root, 1, 7) == {"manifest", "rank-00000", "rank-00001"}
              and files(root, 2, 7) == {"manifest", "rank-00000", "rank-00002", "rank-00003"},
              "rank 0's parameters were copied to the other host, and no more", files(root, 1, 7), files(root, 2, 7))
        restore(root)
        goes_on("ranks that have moved to the other host find their files", run(root, program, 12, "--resume", hosts=(2, 2, 1, 1)),
                want, 7)
        restore(root)
        (disk(root, 2) / "run/step-7").rename(root / "lost")
        statuses, said, got = result = run(root, program, 12, "--resume")
        goes_on("a checkpoint of which a host has lost its part gives way to the one before", result, want, 6)
        check("no host has rank-00002.safetensors" in said, "and is named", said)
        restore(root)
        damaged = disk(root, 2) / "run/step-7/rank-00003.safetensors"
        bytes_ = bytearray(damaged.read_bytes())
        bytes_[-5] ^= 16
        damaged.write_bytes(bytes_)
        goes_on("so does one with a flipped bit", run(root, program, 12, "--resume"), want, 6)
        restore(root)
        shutil.rmtree(disk(root, 2))
        disk(root, 2).mkdir()
        refused("a run whose other host has lost its disk is refused", run(root, program, 12, "--resume"),
                "no checkpoint of run is whole on these hosts")
        restore(root)

        # Both parts in one folder are a checkpoint that any run reads.
        shutil.copytree(disk(root, 1), root / "both")
        shutil.copytree(disk(root, 2), root / "both", dirs_exist_ok=True)
        metrics = root / "both.metrics"
        joined = subprocess.run([programs["tensors"], f"--tokens={root}/tokens:u8", "--steps=12", "--threads=1",
                                 f"--metrics={metrics}", f"--checkpoint={root}/both/run", "--resume"], capture_output=True, text=True)
        check(joined.returncode == 0, "both parts in one folder are a whole checkpoint", joined.stderr)
        goes_on("a run under another plan has what it needs of both hosts", run(root, programs["tensors"], 12, "--resume"),
                losses(metrics), 7)
        restore(root)
        goes_on("which saves a folder on rank 0's host", run(root, programs["tensors"], 12, "--resume", "--save=model/",
                                                              "--shard-size=200KB"), losses(metrics), 7)
        subprocess.run([programs["tensors"], f"--tokens={root}/tokens:u8", "--steps=12", "--threads=1",
                        f"--checkpoint={root}/both/run", "--resume", f"--save={root}/model/", "--shard-size=200KB"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        saved, expected = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in (disk(root, 1) / "model", root / "model"))
        check(saved == expected and len(saved) > 2, "with the bytes of one process", saved.keys(), expected.keys())
        for host in HOSTS:
            shutil.rmtree(disk(root, host) / "run")
        # Behind 32 steps every second norm is above the median.
        wild = ["--checkpoint-every=5", "--on-nonfinite=rollback", "--max-grad-norm-ratio=1.0001"]
        metrics = root / "wild.metrics"
        one = subprocess.run([program, f"--tokens={root}/tokens:u8", "--steps=50", "--threads=1", f"--metrics={metrics}",
                              f"--checkpoint={root}/wild", *wild], capture_output=True, text=True)
        statuses, said, got = run(root, program, 50, *wild)
        check(set(statuses) == {one.returncode} and got == losses(metrics) and "back to step" in said
              and said.count("back to step") == one.stderr.count("back to step"), "a run that goes back loads what others hold",
              statuses, said, one.stderr)
    ended()


main()
