#!/usr/bin/env python3
"""Run tools/slurm on a real Slurm: this test starts and stops a controller and two nodes on this machine.

Usage: slurm_test.py HEADSCOPE [CPUS_PER_NODE]. Skips, with a message and exit status 77, where Slurm cannot start.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests/support"))
from children import ending_with_parent

SKIPPED = 77

CONFIGURATION = """
ClusterName=headscope
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdSpoolDir={folder}/spool-%n
StateSaveLocation={folder}/state
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1
MinJobAge=600
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cpus} RealMemory=1000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cpus} RealMemory=1000
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Slurm:
    """Runs munged, slurmctld and two slurmd until stopped."""

    def __init__(self, folder, cpus):
        self.folder = folder
        self.daemons = []
        host = socket.gethostname().split(".")[0]
        (folder / "state").mkdir()
        (folder / "slurm.conf").write_text(
            CONFIGURATION.format(folder=folder, host=host, ports=free_ports(3), cpus=cpus))
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.environment = dict(os.environ, SLURM_CONF=str(folder / "slurm.conf"))

    def start(self):
        munge = [f"--{name}={self.folder}/munge.{suffix}" for name, suffix in
                 [("socket", "socket"), ("key-file", "key"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed")]]
        self.launch("munged", "--foreground", "--force", *munge)
        self.wait_until(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.launch("slurmctld", "-D")
        for node in ["n1", "n2"]:
            self.launch("slurmd", "-D", "-N", node)
        self.wait_until(lambda: self.call("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "2", "slurmctld and slurmd")

    def launch(self, *command):
        log = open(self.folder / "daemons.log", "a")
        self.daemons.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                             preexec_fn=ending_with_parent()))

    def wait_until(self, condition, what, seconds=30):
        end = time.time() + seconds
        while not condition():
            if time.time() > end or any(daemon.poll() is not None for daemon in self.daemons):
                skip(f"{what} did not start: " + (self.folder / "daemons.log").read_text()[-500:])
            time.sleep(0.2)

    def call(self, *command):
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return done.stdout

    def wait_for_job(self, job, seconds):
        """Wait for the last job of a chain; returns its final state."""
        end = time.time() + seconds
        while time.time() < end:
            fields = dict(part.split("=", 1) for part in self.call("scontrol", "-o", "show", "job", job).split() if "=" in part)
            if fields.get("JobState") not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"):
                return fields.get("JobState")
            time.sleep(0.5)
        return "waited too long"

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()


def differences(first, second):
    """Names of datasets of the first file whose bytes differ in the second."""
    names = []

    def compare(name, item):
        if not isinstance(item, h5py.Dataset):
            return
        if name not in second:
            names.append(name)
            return
        ours, theirs = item[()], second[name][()]
        same = (ours == theirs).all() if item.dtype.kind == "O" and item.shape else \
            ours == theirs if item.dtype.kind == "O" else ours.tobytes() == theirs.tobytes()
        if not same:
            names.append(name)

    first.visititems(compare)
    return names


def main():
    headscope = sys.argv[1]
    cpus = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    for program in ["munged", "slurmctld", "slurmd", "sbatch"]:
        if shutil.which(program) is None:
            skip(f"no {program}; Debian's packages slurmctld, slurmd and munge have it")
    if os.geteuid() != 0:
        skip("the daemons need root")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        slurm = Slurm(folder, cpus)
        try:
            slurm.start()
            check(slurm, headscope, folder)
        finally:
            slurm.stop()


def check(slurm, headscope, folder):
    options = ["--model", str(PROJECT / "data/planted-model.h5"), "--corpus", str(PROJECT / "tests/data/classification.conllu"),
               "--analyses", "pruning,classification,correlation,attention", "--prune-documents", "3", "--bootstrap", "20",
               "--control", "random", "--figures", "svg"]
    subprocess.run([headscope, "run", *options, "--threads", "1", "--quiet", "--output", folder / "whole"], check=True)
    # Kill the second shard on its first run, as if its machine had failed.
    wrapper = folder / "headscope"
    wrapper.write_text(f"""#!/bin/sh
if [ "$3" = 2/3 ] && [ ! -e {folder}/killed ]; then touch {folder}/killed; kill -9 $$; fi
exec {headscope} "$@"
""")
    wrapper.chmod(0o755)
    output = folder / "out"
    environment = dict(slurm.environment, HEADSCOPE=str(wrapper), CPUS="1")
    submitted = subprocess.run([PROJECT / "tools/slurm/submit.sh", "3", *options, "--output", output], env=environment,
                               stdout=subprocess.PIPE, text=True, check=True)
    state = slurm.wait_for_job(submitted.stdout.strip(), 300)
    logs = "\n".join(f"{log.name}: {log.read_text()}" for log in sorted((output / "log").iterdir()))
    if state != "COMPLETED":
        sys.exit(f"expected the merge to be COMPLETED, got {state}\n{logs}")
    if "shard 2: status 137; runs again" not in logs:
        sys.exit(f"expected shard 2 to be killed and to run again\n{logs}")
    with h5py.File(folder / "whole/results.h5") as whole, h5py.File(output / "results.h5") as merged:
        different = differences(whole, merged)
    if different:
        sys.exit(f"expected the numbers of one run, got others in {different}")
    print("3 shards on 2 nodes, one killed and run again: the numbers of one run")


if __name__ == "__main__":
    main()
