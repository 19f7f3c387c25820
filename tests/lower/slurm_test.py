#!/usr/bin/env python3
"""`cleave lower --launcher srun` under Slurm: one controller and two node daemons on this machine, one of which is
killed in the middle.

usage: slurm_test.py CLEAVE      exit status 1 when a verdict is lost, 77 when Slurm or MUNGE is not there

Needs root, and Debian's slurmctld, slurmd, slurm-client and munge. Nothing of the machine's own configuration is read or
changed: all files are in a temporary folder, and only processes that this script has started are ended.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from place import Place, chain, equal

CONFIGURATION = """\
ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool_%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
MpiDefault=none
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP
"""


def skip(why):
    print(f"slurm_test.py: skipped: {why}")
    sys.exit(77)


class Cluster:
    """Slurm of two nodes in a folder."""

    def __init__(self, folder):
        self.folder, self.daemons = folder, {}
        host, port = socket.gethostname().split(".")[0], 17000 + os.getpid() % 1000 * 3
        self.configuration = folder / "slurm.conf"
        self.configuration.write_text(CONFIGURATION.format(
            host=host, folder=folder, port=port, first=port + 1, last=port + 2))
        for name in ("state", "spool_n1", "spool_n2"):
            (folder / name).mkdir()
        key = folder / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.environment = dict(os.environ, SLURM_CONF=str(self.configuration))

    def start(self):
        self.run("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket",
                 f"--key-file={self.folder}/key", f"--pid-file={self.folder}/munged.pid",
                 f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/seed")
        self.wait(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.run("slurmctld", "-D", "-f", str(self.configuration))
        for node in ("n1", "n2"):
            self.run("slurmd", "-D", "-N", node, "-f", str(self.configuration), name=node)
        self.wait(lambda: self.idle_nodes() == 2, "two idle nodes")

    def run(self, *command, name=None):
        log = open(self.folder / f"{name or command[0]}.out", "wb")
        self.daemons[name or command[0]] = subprocess.Popen(
            command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @staticmethod
    def wait(holds, what):
        for _ in range(300):
            if holds():
                return
            time.sleep(0.1)
        raise AssertionError(f"{what}: not there after 30 s")

    def query(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False).stdout

    def idle_nodes(self):
        return self.query("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").count("n")

    def steps_of(self, node):
        """Processes of jobs on the node: they name the folder of its daemon."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"SLURMD_NODENAME={node}".encode() in environment and \
                    f"SLURM_CONF={self.configuration}".encode() in environment:
                found.append(int(entry.name))
        return found

    def kill(self, node):
        """As a machine dies: its daemon and all that runs on it."""
        daemon = self.daemons.pop(node)
        doomed = self.steps_of(node)
        parents = [int((Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[1])
                   for pid in doomed if (Path("/proc") / str(pid)).exists()]
        daemon.kill()
        daemon.wait()
        for pid in {*doomed, *(pid for pid in parents if self.is_step(pid))}:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        return len(doomed)

    @staticmethod
    def is_step(pid):
        try:
            return b"slurmstepd" in (Path("/proc") / str(pid) / "cmdline").read_bytes()
        except OSError:
            return False

    def stop(self):
        for name in ("n1", "n2", "slurmctld", "munged"):
            daemon = self.daemons.pop(name, None)
            if daemon is None:
                continue
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def model_of(place, parts):
    """A model that a list cuts into so many accelerator partitions, no two alike."""
    ops = []
    for i in range(parts):
        ops += ["Relu"] * (i + 1) + ["Sin"]
    (place.folder / "all.json").write_text(json.dumps(
        {"format": "cleave.support", "version": 1, "name": "all", "allow": ["*"], "deny": [{"op": "Sin"}]}))
    return chain(place.folder / "m.onnx", ops)


def lower(place, cluster, model, *more, serve=False):
    backend = place.backend(["slow=1"], serve=serve, identity=["hostname"])
    content = json.loads(backend.read_text())
    content["env"] = {"set": {"SLURM_CONF": str(cluster.configuration)}, "pass": ["PATH", "HOME"]}
    backend.write_text(json.dumps(content))
    command = place.command("lower", model, "-s", "all.json", "--backend", backend, "--json", "-q", "--cache", "off",
                            "-j", 4, "--launcher", "srun --ntasks=1 --cpus-per-task=1", *more)
    return subprocess.Popen(command, cwd=place.folder, env=cluster.environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def result_of(process, seconds):
    out, err = process.communicate(timeout=seconds)
    try:
        return process.returncode, json.loads(out)
    except ValueError:
        raise AssertionError(f"exit {process.returncode}: {err}") from None


def verdicts(result):
    return sorted({part["verdict"] for part in result["parts"]})


def test_all_jobs_are_done(place, cluster, serve):
    begin = time.time()
    code, result = result_of(lower(place, cluster, model_of(place, 8), serve=serve), 300)
    equal((code, verdicts(result), len(result["parts"])), (0, ["lowered"], 8))
    took = time.time() - begin
    cluster.wait(lambda: not cluster.query("squeue", "-h").strip(), "an empty queue")
    kind = "workers" if serve else "programs"
    print(f"passed   8 jobs by {kind}, 4 at once on two nodes, none left in the queue: {took:.0f} s", flush=True)


def test_a_node_that_dies_loses_nothing(place, cluster):
    before = place.calls()
    process = lower(place, cluster, model_of(place, 16))
    cluster.wait(lambda: process.poll() is not None or place.calls() >= before + 4 and cluster.steps_of("n2"),
                 "jobs on both nodes")
    killed = cluster.kill("n2")
    code, result = result_of(process, 500)
    equal((code, verdicts(result), len(result["parts"])), (0, ["lowered"], 16))
    print(f"passed   16 jobs, a node with {killed} processes killed in the middle: {result['compiler_runs']} runs, "
          f"{result['seconds']:.0f} s", flush=True)


def main():
    for program in ("slurmctld", "slurmd", "srun", "sinfo", "munged"):
        if shutil.which(program) is None and not Path("/usr/sbin", program).exists():
            skip(f"there is no {program} (Debian: slurmctld slurmd slurm-client munge)")
    if os.getuid() != 0:
        skip("needs root, for the daemons")
    os.environ["PATH"] += os.pathsep + "/usr/sbin"
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        Path(folder).chmod(0o755)
        work = Path(folder) / "work"
        work.mkdir()
        (Path(folder) / "slurm").mkdir()
        cluster = Cluster(Path(folder) / "slurm")
        place = Place(os.path.abspath(sys.argv[1]), work)
        try:
            cluster.start()
            test_all_jobs_are_done(place, cluster, serve=False)
            test_all_jobs_are_done(place, cluster, serve=True)
            test_all_jobs_are_done(place, cluster, serve=True)
            test_a_node_that_dies_loses_nothing(place, cluster)
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
