"""Hosts that are network namespaces of this machine, with names and addresses of their own, one cable to a switch each.

All of it happens in namespaces (network, mounts, processes; users, where one is not root) that end with the program: what
was started is killed then, what was mounted is gone. Standard library, util-linux and iproute2.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

INSIDE = "TESSERA_TEST_INSIDE_NAMESPACES"
UNSHARE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]),
           "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]  # fmt: skip
PROBE = """mount -t tmpfs none /run && ip netns add probe && ip link add p0 type bridge &&
ip link add p1 type veth peer name p2 netns probe && unshare --uts hostname probe"""


def why_not():
    """What this machine lacks or refuses, or nothing."""
    for program in ("mpirun", "unshare", "ip", "nsenter"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    done = subprocess.run([*UNSHARE, "sh", "-c", PROBE], capture_output=True, text=True)
    return f"no namespaces here: {done.stderr.strip()}" if done.returncode else None


def enter():
    """Starts this program again inside of namespaces of its own; there it does nothing. Exits 77 where that is refused."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if os.environ.get(INSIDE):
        for folder in ("/run", "/dev/shm"):  # where what is killed leaves things behind
            subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
        return
    if reason := why_not():
        print("skipped:", reason)
        sys.exit(77)
    sys.exit(subprocess.run([*UNSHARE, sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"}).returncode)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


# Ends within seconds when a network is down: mpirun and its daemons ask each other after 5 s of silence, five times.
KEEPALIVE = {"oob_tcp_keepalive_time": 5, "oob_tcp_keepalive_intvl": 1, "oob_tcp_keepalive_probes": 5}

# Who is told to end has so many seconds for that: one, the default, may be short for several ranks on each core.
PATIENCE = {"odls_base_sigkill_timeout": 3}

# What mpirun calls instead of ssh: HOST COMMAND...
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0"; exec sh -c "$*"' "$host" "$@"
"""


class Hosts:
    """Called a, b, c, ...; mpirun runs on the first."""

    def __init__(self, names):
        self.names = names
        self.addresses = {name: f"10.77.0.{i + 1}" for i, name in enumerate(names)}
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in self.addresses.items())]
        self.folder = pathlib.Path("/run/hosts")
        self.folder.mkdir(exist_ok=True)
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")
        subprocess.run(["mount", "--bind", self.folder / "hosts", "/etc/hosts"], check=True)
        self.agent = self.folder / "agent"
        self.agent.write_text(AGENT)
        self.agent.chmod(0o755)
        ip("link", "add", "switch", "type", "bridge")
        ip("link", "set", "switch", "up")
        for name, address in self.addresses.items():
            ip("netns", "add", name)
            ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"to-{name}", "master", "switch", "up")
            # Open MPI waits for ever for a peer whose IPv6 address has come up since it was told of its addresses.
            ip("-n", name, "link", "set", "eth0", "addrgenmode", "none")
            ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")

    def command(self, *words):
        """A command as the first host runs it."""
        return [str(self.agent), self.names[0], shlex.join(map(str, words))]

    def mpirun(self, *words):
        settings = {**KEEPALIVE, **PATIENCE, "plm_rsh_agent": self.agent, "orte_tmpdir_base": self.folder}
        flags = [word for name, value in settings.items() for word in ("--mca", name, str(value))]
        return self.command("mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", *flags, *words)

    def cut(self, name):
        """Takes the cable of a host out."""
        ip("link", "set", f"to-{name}", "down")

    def mend(self, name):
        """Puts it back in. Who was not found may be remembered as such for seconds: this waits until all see each other."""
        ip("link", "set", f"to-{name}", "up")
        for host in self.names:
            ip("-n", host, "neighbour", "flush", "all")
        for host in self.names:
            if host != name:
                wait_until(f"{host} sees {name}", lambda: self.sees(host, name) and self.sees(name, host))  # noqa: B023

    def sees(self, host, other):
        """Whether it answers at a port where nobody listens."""
        script = f"echo >/dev/tcp/{self.addresses[other]}/9"
        done = subprocess.run(["ip", "netns", "exec", host, "timeout", "1", "bash", "-c", script], capture_output=True, text=True)
        return "refused" in done.stderr

    def vanish(self, name):
        """All that runs on a host is gone at once."""
        pids = subprocess.run(["ip", "netns", "pids", name], check=True, capture_output=True, text=True).stdout.split()
        for pid in pids:
            os.kill(int(pid), 9)


def running():
    """The command lines of all processes here but this one, zombies apart."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
        except OSError:
            continue
        if words and int(folder.name) not in (1, os.getpid()):
            found[int(folder.name)] = words
    return found


def ranks_running(program):
    """Process ids of the ranks of a program, by rank."""
    found = {}
    for pid, words in running().items():
        if words[0] == program:
            try:
                variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            found |= {int(v.split(b"=")[1]): pid for v in variables if v.startswith(b"OMPI_COMM_WORLD_RANK=")}
    return found


def wait_until(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"in vain: waiting {seconds} s until {what}")
        time.sleep(0.02)
