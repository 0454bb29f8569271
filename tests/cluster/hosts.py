# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Several hosts on one machine: network namespaces on a bridge, each with an address, a host name and a /dev/shm of its
# own. They live in namespaces of this process's own, so nothing of them is seen outside, and nothing is left
# when it ends, however it ends.
#
#   hosts.py N COMMAND..      runs COMMAND among N hosts, as root of its namespaces
#   hosts.py on I COMMAND..   within it: runs COMMAND on host I, from 1 (or on 10.99.0.I, as mpirun names it)
#   hosts.py cut I, mend I    within it: takes the link of host I down, up
#   hosts.py rate I 1gbit     within it: limits what host I sends and gets; "off": does not
#
# Exit status 77, and a reason, where this system lets nobody make namespaces.
import os, shutil, subprocess, sys

ADDRESS = "10.99.0."


def quietly(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def make(count):
    """Within namespaces of its own: a bridge and `count` hosts on it, and a folder for temporary files."""
    quietly("mount", "-t", "tmpfs", "none", "/run")
    # Files of tests lie in memory: nobody waits for a disk that others use, and nothing stays behind.
    os.mkdir("/run/files")
    os.environ["TMPDIR"] = "/run/files"
    names = "".join(f"{ADDRESS}{i} host{i}\n" for i in range(1, count + 1))
    with open("/run/hosts", "w") as file:
        file.write("127.0.0.1 localhost\n" + names)
    quietly("mount", "--bind", "/run/hosts", "/etc/hosts")
    quietly("ip", "link", "set", "lo", "up")
    quietly("ip", "link", "add", "bridge", "type", "bridge")
    quietly("ip", "link", "set", "bridge", "up")
    for i in range(1, count + 1):
        quietly("ip", "netns", "add", f"host{i}")
        quietly("ip", "link", "add", f"link{i}", "type", "veth", "peer", "name", "eth0", "netns", f"host{i}")
        quietly("ip", "link", "set", f"link{i}", "master", "bridge", "up")
        quietly("ip", "-n", f"host{i}", "addr", "add", f"{ADDRESS}{i}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            quietly("ip", "-n", f"host{i}", "link", "set", device, "up")


def outer():
    """The network that the bridge is in: commands on a host look for it from there."""
    return ["nsenter", "--net=/proc/1/ns/net"]


def on(host, command):
    """The command line that runs `command` on a host."""
    start = ('hostname host%d && mount -t tmpfs none /dev/shm && exec "$@"' % host)
    return ["ip", "netns", "exec", f"host{host}", "unshare", "--uts", "--ipc", "--mount", "bash", "-c", start, "on",
            *command]


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: hosts.py N COMMAND.. | on I COMMAND.. | cut I | mend I | rate I RATE")
    what, rest = sys.argv[1], sys.argv[2:]
    if what == "on":
        command = on(int(rest[0].rpartition(".")[2]), rest[1:])
        os.execvp(command[0], command)
    elif what in ("cut", "mend"):
        quietly(*outer(), "ip", "link", "set", f"link{rest[0]}", "down" if what == "cut" else "up")
    elif what == "rate":
        for command in ([*outer(), "tc", "qdisc"], ["ip", "netns", "exec", f"host{rest[0]}", "tc", "qdisc"]):
            device = f"link{rest[0]}" if command[0] == "nsenter" else "eth0"
            subprocess.run([*command, "del", "dev", device, "root"], stderr=subprocess.DEVNULL)
            if rest[1] != "off":
                quietly(*command, "add", "dev", device, "root", "tbf", "rate", rest[1], "burst", "256kb", "latency", "20ms")
    elif what == "inside":
        try:
            make(int(rest[0]))
        except subprocess.CalledProcessError as error:
            print("skipped: no hosts can be made here:", error.stderr.decode().strip() or error)
            sys.exit(77)
        os.environ["DTCC_TEST_HOSTS"] = rest[0]
        os.execvp(rest[1], rest[1:])
    else:
        missing = [tool for tool in ("unshare", "nsenter", "ip", "hostname") if not shutil.which(tool)]
        root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        space = ["unshare", *root, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if not missing and subprocess.run([*space, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            missing = ["leave to make namespaces (root, or user namespaces)"]
        if missing:
            print("skipped: this system lacks", ", ".join(missing))
            sys.exit(77)
        os.execvp("unshare", [*space, sys.executable, os.path.abspath(__file__), "inside", *sys.argv[1:]])


if __name__ == "__main__":
    main()
