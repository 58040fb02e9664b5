#!/usr/bin/python3
"""Run the program under faults: kills, full disks, file size limits, lost permission, damaged, changing, forged and hostile inputs,
closed streams.

After each fault, either the result is complete and correct, or the program has printed one line that says what failed, and the
same command then gives the undisturbed result, `run` with --resume and `merge` with --force. A file under its final name must be complete at any time.

Usage: fault_campaign.py HEADSCOPE [--rounds N] [--seed N] [--kinds A,B] [--fault KIND:NUMBER]
"""

import argparse
import collections
import contextlib
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy

from fault_support import (MODEL, PROJECT, STORIES, Expected, Failed, Impossible, Running, call, can_mount, check_message, contents, expect,
                           files_below, mounted, must, remount)
from forged_results import forge
from first_sentences import first_sentences
from hostile_inputs import HostileInputs, check_is_plain

NOBODY = 65534
THOROUGH = "HEADSCOPE_THOROUGH" in os.environ
THOROUGH_ROUNDS = 3

# Runs in different folders give the same bits only if they have the same engine, which a trial in each folder need not choose.
OPTIONS = ["--max-documents", "3", "--patterns", "1", "--bootstrap", "20", "--threads", "1", "--engine", "float32", "--figures", "svg",
           "--save-every", "1", "--quiet"]
# Analyses of a run with their options, and its passes; few for less than a round.
MANY_PASSES = (["classification,correlation", "--explain-documents", "1"], 4)
ONE_PASS = (["correlation"], 1)


class Task:
    """A command that writes into out/, how to prepare out/ for it, and how to run it again after a fault."""

    def __init__(self, name, command, again=None, prepare=None, older=None):
        self.name = name
        self.command = command
        self.again = again or (lambda out: [command(out)])
        self.prepare = prepare or (lambda out: None)
        self.older = older
        self.expected = None
        self.seconds = 0


class Campaign:
    def __init__(self, headscope, folder, seed, rounds):
        self.headscope = Path(headscope).resolve()
        self.folder = folder
        self.seed = seed
        self.environment = dict(os.environ, HEADSCOPE_DATA=str(PROJECT / "data"))
        self.without_gnuplot = dict(self.environment, PATH="/nonexistent")  # draws no figures
        self.reference = folder / "reference"
        self.reference.mkdir()
        self.stories = folder / "stories.conllu"
        self.stories.write_text(first_sentences(STORIES.read_text(), 3))
        analyses, self.n_pass = MANY_PASSES if rounds > 0 else ONE_PASS
        self.n_input_document = 12 if rounds > 0 else 6
        self.run = [self.headscope, "run", "--model", MODEL, "--analyses", *analyses, *OPTIONS, "--corpus", self.stories]
        self.tasks = self.make_tasks()
        for task in self.tasks:
            out = self.reference / task.name
            out.mkdir()
            task.prepare(out)
            begin = time.monotonic()
            must(*task.command(out), env=self.environment)
            task.seconds = time.monotonic() - begin
            for command in task.again(out)[1:]:
                must(*command, env=self.environment)
            task.expected = Expected(out)
        self.inputs = self.make_inputs()
        self.undisturbed_inputs = {}  # expected results and seconds by command

    def make_tasks(self):
        program, shards, models = self.headscope, self.reference / "shards", self.reference / "models"
        models.mkdir()
        self.make_shards(shards)
        must(program, "prune", MODEL, models / "older.h5", "--heads", "L0H1", env=self.environment)
        older = contents(models / "older.h5")

        def run(out, *more):
            return [*self.run, "--output", out, *more]

        def merge(out, *more):
            return [program, "merge", out, "--output", out, "--quiet", *more]

        def take_shards(pattern):
            return lambda out: shutil.copytree(shards / "shards", out / "shards",
                                               ignore=lambda _, names: [name for name in names if not re.match(pattern, name)])

        def take_results(out):
            shutil.copy(self.reference / "run/results.h5", out)

        def take_older(out):
            shutil.copy(models / "older.h5", out / "model.h5")

        return [
            Task("run", run, lambda out: [run(out, "--resume", "--force")]),
            Task("shard", lambda out: run(out, "--shard", "1/2"),
                 lambda out: [run(out, "--shard", "1/2", "--resume"), merge(out)], take_shards("2-of-2")),
            Task("merge", merge, lambda out: [merge(out, "--force")], take_shards("")),
            Task("report", lambda out: [program, "report", out, "--figures", "svg"], prepare=take_results),
            Task("convert", lambda out: [program, "convert", MODEL, out / "model.h5"], prepare=take_older, older=older),
            Task("prune", lambda out: [program, "prune", MODEL, out / "model.h5", "--heads", "L1H0,L0H0"]),
        ]

    def make_shards(self, out, *more):
        for _ in range(self.n_pass):
            for part in (1, 2):
                must(*self.run, "--output", out, "--shard", f"{part}/2", "--resume", *more, env=self.environment)

    @contextlib.contextmanager
    def place(self, task):
        """A temporary folder with an empty out/."""
        folder = Path(tempfile.mkdtemp(dir=self.folder, prefix=task.name + "-"))
        (folder / "out").mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def recover(self, task, out):
        for command in task.again(out):
            must(*command, env=self.environment)
        task.expected.check_complete(out)

    # A kill.

    def kill(self, rng, number):
        task = self.tasks[number % len(self.tasks)]
        which = signal.SIGTERM if rng.random() < 0.3 else signal.SIGKILL
        with self.place(task) as folder:
            out = folder / "out"
            task.prepare(out)
            running = Running(task.command(out), env=self.environment)
            running.wait_until(rng.uniform(0, 1.1 * task.seconds))
            running.process.send_signal(which)
            ended = running.wait()
            expect(ended.status in (0, -which, 128 + which), f"status {ended.status}: {ended.err.strip()}")
            if ended.status == 128 + signal.SIGTERM:
                stops = r"headscope: SIGTERM: (saved after|nothing was saved yet|the state was saved before).*\n"
                expect(re.fullmatch(stops, ended.err), f"got {ended.err!r}")
            else:
                expect(ended.err == "", f"got {ended.err!r}")
            self.settle(task, out, ended)
            return f"{task.name}, {which.name}", ended.status == 0

    def settle(self, task, out, ended):
        """Check what a fault left, and that running the task again completes it."""
        task.expected.check_whole(out, task.older)
        if ended.status == 0 and task.name != "shard":
            task.expected.check_complete(out)
        self.recover(task, out)

    # A full disk.

    def disk(self, rng, number):
        if not can_mount():
            raise Impossible("no right to mount a tmpfs")
        task = self.tasks[number % len(self.tasks)]
        with self.place(task) as folder:
            out = folder / "out"
            task.prepare(out)
            before = sum((out / name).stat().st_size + 8192 for name in files_below(out))
            shutil.move(out, folder / "prepared")
            out.mkdir()
            room = before + int(math.exp(rng.uniform(math.log(4096), math.log(1.1 * task.expected.size + 65536))))
            with mounted(out, f"size={room}"):
                shutil.copytree(folder / "prepared", out, dirs_exist_ok=True)
                ended = call(*task.command(out), env=self.environment)
                if ended.status != 0:
                    check_message(ended, out, ["No space left on device"])
                task.expected.check_whole(out, task.older)
                remount(out, "size=256m")
                self.settle(task, out, ended)
        return f"{task.name}, {room} bytes", ended.status == 0

    # A limit on the size of files.

    def size(self, rng, number):
        task = self.tasks[number % len(self.tasks)]
        limit = int(math.exp(rng.uniform(math.log(256), math.log(1.05 * task.expected.largest))))
        with self.place(task) as folder:
            out = folder / "out"
            task.prepare(out)
            running = Running(task.command(out), env=self.environment,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            ended = running.wait()
            if ended.status != 0:
                check_message(ended, out, ["File too large"])
            self.settle(task, out, ended)
        return f"{task.name}, {limit} bytes", ended.status == 0

    # Lost permission.

    def permission(self, rng, number):
        task = self.tasks[number % len(self.tasks)]
        as_other = as_nobody if os.geteuid() == 0 else None
        if as_other:
            try:
                must(self.headscope, "inspect", MODEL, env=self.environment, preexec_fn=as_other)
            except (Failed, PermissionError, subprocess.SubprocessError) as error:
                raise Impossible(f"another user cannot run the program: {error}") from None
        with self.place(task) as folder:
            out = folder / "out"
            task.prepare(out)
            give_away(folder)
            closed = [out]
            moment = rng.choice([0, rng.uniform(0, 1.1 * task.seconds)])
            if moment == 0:
                out.chmod(0o555)
            running = Running(task.command(out), env=self.environment, preexec_fn=as_other)
            if moment > 0:
                running.wait_until(moment)
                folders = [out] + sorted(path for path in out.iterdir() if path.is_dir())
                closed = [rng.choice(folders)]
                with contextlib.suppress(FileNotFoundError):
                    closed[0].chmod(0o555)
            ended = running.wait()
            if ended.status != 0:
                check_message(ended, out, ["Permission denied"])
            task.expected.check_whole(out, task.older)
            for path in closed:
                with contextlib.suppress(FileNotFoundError):
                    path.chmod(0o755)
            self.settle(task, out, ended)
        return f"{task.name}, {closed[0].name} after {moment:.2f} s", ended.status == 0

    # A read-only file system.

    def read_only(self, rng, number):
        if not can_mount():
            raise Impossible("no right to mount a tmpfs")
        task = self.tasks[number % len(self.tasks)]
        with self.place(task) as folder:
            out = folder / "out"
            with mounted(out, "size=64m"):
                task.prepare(out)
                remount(out, "ro")
                ended = call(*task.command(out), env=self.environment)
                check_message(ended, out, ["Read-only file system"])
                remount(out, "rw")
                self.settle(task, out, ended)
        return task.name, False

    # Damage to files, with a heap that holds no valid pointers by chance.

    def damage(self, rng, number):
        program, models = self.headscope, self.reference / "models"
        by_name = {task.name: task for task in self.tasks}
        task, name, command = [
            (by_name["prune"], "older.h5", lambda out: [program, "convert", out / "older.h5", out / "model.h5"]),
            (by_name["merge"], "shards/2-of-2.pass-1.h5", by_name["merge"].command),
            (by_name["shard"], "shards/1-of-2.pass-1.h5", lambda out: by_name["shard"].command(out) + ["--resume"]),
            (by_name["report"], "results.h5", by_name["report"].command),
            (by_name["convert"], "model.safetensors", lambda out: [program, "convert", out / "model.safetensors", out / "model.h5"])
        ][number % 5]
        with self.place(task) as folder:
            out = folder / "out"
            if name == "older.h5":
                shutil.copy(models / "older.h5", out)
            elif name == "model.safetensors":
                for needed in (name, "config.json"):
                    shutil.copy(self.reference / "inputs" / needed, out)
            elif name == "results.h5":
                task.prepare(out)
            else:
                shutil.copytree(self.reference / "shards/shards", out / "shards")
            path = out / name
            whole = path.read_bytes()
            damaged = whole
            while damaged == whole:
                kind = rng.choice(list(DAMAGES))
                damaged = DAMAGES[kind](rng, bytearray(whole))
            path.write_bytes(damaged)
            ended = call(*command(out), env=dict(self.without_gnuplot, MALLOC_PERTURB_="165"))
            if ended.status != 0:
                check_message(ended, path, [""])
            elif name == "model.safetensors":  # without a digest, only a length or a header can be wrong
                expect(len(damaged) == len(whole), f"{name}, {kind}: not noticed")
                contents(out / "model.h5")
            else:
                expect(damaged == whole[:len(damaged)] and len(whole) - len(damaged) <= DIGEST_SIZE, f"{name}, {kind}: not noticed")
        return f"{name}, {kind}", ended.status == 0

    # Inputs that change while they are read.

    def make_inputs(self):
        """Each kind of input: its file in inputs/ and the command that reads it. others/ holds a replacement for each file."""
        folder, others = self.reference / "inputs", self.reference / "others"
        program = self.headscope
        for place in (folder, others):
            shutil.copytree(PROJECT / "data/tokenizer", place)
        shutil.copy(MODEL, folder / "model.h5")
        must(program, "prune", MODEL, others / "model.h5", "--heads", "L0H0", "--mode", "zero", env=self.environment)
        for place in (folder, others):
            write_safetensors(place / "model.h5", place / "model.safetensors")
        stories = self.stories.read_text().split("# newdoc")
        stories = "# newdoc".join(stories[:self.n_input_document + 1])
        (folder / "corpus.conllu").write_text(stories)
        (others / "corpus.conllu").write_text(re.sub(r"(?m)^(\d+\t)(\S+)", lambda m: m[1] + m[2].swapcase(), stories))
        text = re.sub(r"(?m)^# newdoc.*$", "\n", "\n".join(
            line.removeprefix("# text = ") for line in stories.splitlines() if line.startswith(("# text = ", "# newdoc"))))
        (folder / "corpus.txt").write_text(text)
        (others / "corpus.txt").write_text(text.swapcase())
        config = json.loads((folder / "config.json").read_text())
        n_vocabulary = config["vocab_size"]
        for place, step in ((folder, 7), (others, 11)):
            with h5py.File(place / "corpus.h5", "w") as file:
                file["tokens"] = numpy.arange(self.n_input_document * 50, dtype="i8") * step % (n_vocabulary - 1)
                file["offsets"] = numpy.arange(self.n_input_document + 1, dtype="i8") * 50
        (others / "config.json").write_text(json.dumps({**config, "layer_norm_epsilon": 2 * config["layer_norm_epsilon"]}))
        exchanged = {"a": "b", "b": "a"}
        vocabulary = json.loads((folder / "vocab.json").read_text())
        (others / "vocab.json").write_text(json.dumps({exchanged.get(key, key): number for key, number in vocabulary.items()}))
        merges = (folder / "merges.txt").read_text().splitlines(keepends=True)
        (others / "merges.txt").write_text("".join(merges[:-100]))
        shutil.copytree(self.reference / "shards/shards", folder / "shards")
        self.make_shards(others, "--seed", "1")

        options = ["--analyses", "correlation", *OPTIONS]
        options[options.index("--max-documents") + 1] = str(self.n_input_document)

        def run(model, corpus):
            def command(inputs, out):
                return [program, "run", *options, "--tokenizer", inputs, "--model", inputs / model, "--corpus", inputs / corpus,
                        "--output", out]
            return command

        def convert(model):
            return lambda inputs, out: [program, "convert", inputs / model, out / "model.h5"]

        def merge(inputs, out):
            return [program, "merge", inputs, "--output", out, "--quiet"]

        return [Input(folder, *rest) for rest in [
            ("model.h5", run("model.h5", "corpus.conllu")), ("corpus.conllu", run("model.h5", "corpus.conllu")),
            ("corpus.txt", run("model.h5", "corpus.txt")), ("model.safetensors", run("model.safetensors", "corpus.conllu")),
            ("corpus.h5", run("model.h5", "corpus.h5")), ("model.h5", convert("model.h5")),
            ("model.safetensors", convert("model.safetensors")), ("config.json", run("model.safetensors", "corpus.conllu")),
            ("vocab.json", run("model.h5", "corpus.txt")), ("merges.txt", run("model.h5", "corpus.txt")),
            (f"shards/1-of-2.pass-{self.n_pass}.h5", merge)]]

    def input(self, rng, number):
        kind = self.inputs[number % len(self.inputs)]
        words = tuple(map(str, kind.command(kind.folder, Path("out"))))
        if words not in self.undisturbed_inputs:
            self.undisturbed_inputs[words] = self.undisturbed(kind, kind.folder)
        expected, seconds = self.undisturbed_inputs[words]
        with self.place(Task("input", None)) as folder:
            out, inputs = folder / "out", folder / "inputs"
            shutil.copytree(kind.folder, inputs)
            path = inputs / kind.name
            change, name = rng.choice(CHANGES)
            running = Running(kind.command(inputs, out), env=self.without_gnuplot)
            # Text is read document by document, other inputs at the start.
            if path.name in ("corpus.conllu", "corpus.txt") and rng.random() < 0.7:
                saved = out / "shards/1-of-1.pass-1.saved"
                while not saved.exists() and running.process.poll() is None:
                    time.sleep(0.001)
                moment = rng.uniform(0, 0.05 * seconds)
            else:
                moment = rng.uniform(0, 0.15 * seconds)
            running.wait_until(moment)
            change(rng, path, kind.other)
            ended = running.wait()
            hit = ended.status != 0
            if hit:
                # The error names the folder if it contains none of the possible file names.
                missing = "got neither" in ended.err and not path.exists()
                check_message(ended, inputs if missing else path, [""])
                expected.check_whole(out)
            else:
                self.check_one_version(kind, expected, inputs, out)
            shutil.copy(kind.folder / kind.name, path)
            again = call(*kind.again(inputs, out), env=self.without_gnuplot)
            if again.status != 0:
                # The saved state belongs to another version of the input.
                check_message(again, out, ["SHA-256 is "])
                shutil.rmtree(out)
                out.mkdir()
                must(*kind.command(inputs, out), env=self.without_gnuplot)
            expected.check_complete(out)
        return f"{kind.name} {name} after {moment:.2f} s", not hit

    def undisturbed(self, kind, inputs):
        with self.place(Task("undisturbed", None)) as folder:
            begin = time.monotonic()
            must(*kind.command(inputs, folder / "out"), env=self.without_gnuplot)
            return Expected(folder / "out"), time.monotonic() - begin

    def check_one_version(self, kind, expected, inputs, out):
        """A complete result must be that of the input before or after the change."""
        try:
            expected.check_complete(out)
        except Failed as first:
            try:
                now, _ = self.undisturbed(kind, inputs)
                now.check_complete(out)
            except Failed as second:
                raise Failed(f"a result of neither version: {first}; {second}") from None

    # Streams and outputs that cannot be written.

    def stream(self, rng, number):
        faults = self.stream_faults()
        name, check = faults[number % len(faults)]
        with self.place(Task("stream", None)) as folder:
            check(folder)
        return name, False

    def stream_faults(self):
        program, by_name = self.headscope, {task.name: task for task in self.tasks}
        writers = {"list": ["list"], "inspect": ["inspect", MODEL], "inspect corpus": ["inspect", self.reference / "inputs/corpus.conllu"],
                   "run --help": ["run", "--help"]}
        faults = []

        def full(arguments):
            def check(_):
                with open("/dev/full", "w") as stream:
                    ended = call(program, *arguments, env=self.environment, stdout=stream)
                check_message(ended, "standard output", ["No space left on device"])
            return check

        def closed(arguments):
            def check(_):
                ended = call(program, *arguments, env=self.environment, preexec_fn=lambda: os.close(1))
                check_message(ended, "standard output", ["Bad file descriptor"])
            return check

        def broken(arguments):
            def check(_):
                for ignored in (False, True):
                    reading, writing = os.pipe()
                    os.close(reading)
                    ended = call(program, *arguments, env=self.environment, stdout=writing, restore_signals=not ignored)
                    os.close(writing)
                    if ignored:
                        check_message(ended, "standard output", ["Broken pipe"])
                    else:
                        expect((ended.status, ended.err) == (-signal.SIGPIPE, ""), f"status {ended.status}: {ended.err}")
            return check

        printing = ("run", "merge", "convert", "prune")  # on standard output

        def no_streams(task):
            def check(folder):
                task.prepare(folder / "out")
                command = [word for word in task.command(folder / "out") if word != "--quiet"]
                ended = call(*command, env=self.environment, preexec_fn=lambda: os.closerange(0, 3))
                expect(ended.status == (1 if task.name in printing else 0), f"status {ended.status}")
                task.expected.check_complete(folder / "out")
            return check

        def full_streams(task):
            def check(folder):
                task.prepare(folder / "out")
                command = [word for word in task.command(folder / "out") if word != "--quiet"]
                with open("/dev/full", "w") as stream:
                    ended = call(*command, env=self.environment, stdout=stream, stderr=stream)
                expect(ended.status == (1 if task.name in printing else 0), f"status {ended.status}")
                task.expected.check_complete(folder / "out")
            return check

        def special(task, make):
            def check(folder):
                out = folder / "out"
                task.prepare(out)
                target = out / ("model.h5" if task.name in ("convert", "prune") else "results.h5")
                target.unlink(missing_ok=True)
                make(target)
                before = target.lstat()[:3]
                ended = call(*task.command(out), env=self.environment)
                check_message(ended, target, ["cannot be written: it is not a file"])
                expect(target.lstat()[:3] == before, f"{target} was replaced")
            return check

        for name, arguments in writers.items():
            faults += [(f"{name} to a full device", full(arguments)), (f"{name} to a closed stream", closed(arguments)),
                       (f"{name} to a broken pipe", broken(arguments))]
        for name in ("run", "merge", "convert", "prune"):
            faults.append((f"{name} without standard streams", no_streams(by_name[name])))
        for name in ("run", "convert"):
            faults.append((f"{name} with full standard streams", full_streams(by_name[name])))
            faults.append((f"{name} onto a full device", special(by_name[name], lambda path: path.symlink_to("/dev/full"))))
        for name in ("merge", "prune"):
            faults.append((f"{name} onto a pipe", special(by_name[name], os.mkfifo)))
        return faults


    # A disk that fills while tables, figures and the report are drawn.

    def figures(self, rng, number):
        if not can_mount():
            raise Impossible("no right to mount a tmpfs")
        task = next(task for task in self.tasks if task.name == "report")
        results = self.reference / "run/results.h5"
        room = results.stat().st_size + int(rng.uniform(0.02, 0.98) * task.expected.size)
        with self.place(task) as folder:
            out = folder / "out"
            with mounted(out, f"size={room}"):
                task.prepare(out)
                ended = call(*task.command(out), env=self.environment)
                if ended.status != 0:
                    check_message(ended, out, ["No space left on device"])
                task.expected.check_whole(out)
                remount(out, "size=256m")
                self.settle(task, out, ended)
        return f"{room} bytes", ended.status == 0

    # Results with forged contents.

    def forged(self, rng, number):
        program, whole = self.headscope, self.reference / "run"
        with self.place(Task("forged", None)) as folder:
            path = folder / "forged/results.h5"
            commands = [["inspect", path], ["inspect", "--arrays", path], ["report", path.parent, "--figures", "svg"]]
            if number % 3 == 2:
                must(program, "compare", whole, whole, "--figures", "svg", "--quiet", "--output", path.parent, env=self.environment)
            else:
                path.parent.mkdir()
                shutil.copy(whole / "results.h5", path)
                commands += [["compare", *runs, "--figures", "svg", "--force", "--output", folder / "out"]
                             for runs in ([whole, path.parent], [path.parent, whole])]
            what = forge(rng, path)
            finished = True
            for command in commands:
                ended = call(program, *command, env=self.environment)
                check_is_plain(ended)
                if ended.status != 0:
                    finished = False
                    check_message(ended, folder, [""])
                    raw = re.search(r": (bad |vector|basic_string|map::|unordered|std::|stoi|stod|array::|logic)", ended.err)
                    expect(raw is None, f"{what}: `{command[0]}`: {ended.err}")
        return what, finished

    # Inputs that no program writes.

    def hostile(self, rng, number):
        checks = HostileInputs(self.headscope, self.environment, self.reference).checks()
        name, check = checks[number % len(checks)]
        with self.place(Task("hostile", None)) as folder:
            check(folder)
        return name, False


class Input:
    def __init__(self, folder, name, command):
        self.folder = folder
        self.name = name
        self.other = folder.with_name("others") / name
        self.command = command

    def again(self, inputs, out):
        command = self.command(inputs, out)
        return command + {"run": ["--resume", "--force"], "merge": ["--force"]}.get(command[1], [])


def write_safetensors(hdf5, path):
    header, data = {}, b""
    with h5py.File(hdf5) as file:
        def take(name, item):
            nonlocal data
            if not isinstance(item, h5py.Dataset) or name.startswith("tokenizer"):
                return
            values = item[()].astype("<f4").tobytes()
            header[name] = {"dtype": "F32", "shape": item.shape, "data_offsets": [len(data), len(data) + len(values)]}
            data += values

        file.visititems(take)
        config = {key: value.item() if hasattr(value, "item") else value for key, value in file.attrs.items()}
    header["__metadata__"] = {"format": "pt"}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    path.with_name("config.json").write_text(json.dumps(config))


def place_and_length(rng, data):
    length = min(int(math.exp(rng.uniform(0, math.log(len(data))))), len(data) // 2)
    begin = rng.choice([rng.randrange(len(data) - length), max(0, len(data) - length - rng.randrange(2 * DIGEST_SIZE))])
    return begin, length


def flip(rng, data):
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def fill(value):
    def change(rng, data):
        begin, length = place_and_length(rng, data)
        data[begin:begin + length] = value(rng, length)
        return data
    return change


def swap(rng, data):
    (a, length), (b, _) = place_and_length(rng, data), place_and_length(rng, data)
    b = min(b, len(data) - length)
    first, second = data[a:a + length], data[b:b + length]
    data[a:a + length] = second
    data[b:b + length] = first
    return data


def cut(rng, data):
    return data[:len(data) - place_and_length(rng, data)[1]]


DAMAGES = {"flipped bit": flip, "swapped": swap, "cut": cut, "noise": fill(lambda rng, length: rng.randbytes(length)),
           "zeros": fill(lambda rng, length: bytes(length)), "ones": fill(lambda rng, length: b"\xff" * length)}
DIGEST_SIZE = len("\nheadscope sha256 \n") + 64


def truncate(rng, path, _):
    os.truncate(path, int(path.stat().st_size * rng.random() ** rng.choice([0.1, 1])))


def remove(rng, path, _):
    path.unlink()


def overwrite(rng, path, other):
    with open(path, "r+b") as file:
        file.truncate(file.write(other.read_bytes()))


def exchange(rng, path, other):
    fresh = path.with_name("fresh")
    shutil.copy(other, fresh)
    fresh.rename(path)


def grow(rng, path, other):
    with open(path, "ab") as file:
        file.write(other.read_bytes()[:rng.randrange(1, 100000)])


CHANGES = [(truncate, "cut"), (remove, "removed"), (overwrite, "overwritten"), (exchange, "exchanged"), (grow, "grown")]


def run_unshared(arguments, kinds):
    """Run the faults that need mounts in a new mount namespace; returns None if that is impossible."""
    unshare = ["unshare", "--map-root-user", "--mount"]
    try:
        subprocess.run([*unshare, "true"], check=True, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return None
    return subprocess.run([*unshare, sys.executable, __file__, arguments.headscope, "--rounds", str(arguments.rounds), "--seed",
                           str(arguments.seed), "--kinds", ",".join(kinds), *["--verbose"] * arguments.verbose]).returncode


def as_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def give_away(folder):
    if os.geteuid() != 0:
        return
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)


def check_the_checks(task, folder):
    """Expect the checks to find damage to a copy of the undisturbed result."""
    def cut(path):
        os.truncate(path, path.stat().st_size - 7)

    def garble(path):
        text = path.read_bytes()
        path.write_bytes(text.replace(b"1", b"2", 1))

    def set_number(path):
        with h5py.File(path, "r+") as file:
            names = [name for name in file["correlation"] if file["correlation"][name].dtype.kind == "f"]
            dataset = file["correlation"][names[0]]
            values = dataset[()]
            numpy.atleast_1d(values).flat[0] += 1
            dataset[...] = values

    damages = [(cut, "results.h5"), (set_number, "results.h5"), (Path.unlink, "results.h5"), (cut, "report.html"),
               (cut, "report.md"), (cut, "figures/*.svg"), (cut, "figures/*.dat"), (cut, "tables/*.csv"), (garble, "tables/*.csv"),
               (Path.unlink, "tables/*.csv"), (lambda path: shutil.copy(path, path.with_name("more")), "report.md"),
               (lambda path: shutil.copy(path, path.with_name("results.h5.part-1-0")), "results.h5")]
    for damage, pattern in damages:
        copy = folder / "damaged"
        shutil.copytree(folder / "reference" / task.name, copy)
        damage(sorted(copy.glob(pattern))[0])
        try:
            task.expected.check_complete(copy)
        except Failed:
            pass
        else:
            sys.exit(f"the campaign's own checks do not notice damage to {pattern}")
        shutil.rmtree(copy)


# Number of faults of each kind per round.
FAULTS = {"kill": 6, "disk": 6, "size": 3, "permission": 3, "read_only": 2, "damage": 40, "input": 11, "stream": 22, "figures": 3,
          "forged": 12, "hostile": 13}
# Groups of kinds whose faults nearly always stop the program: if no fault of a group does, the campaign makes them wrongly.
HITTING = [("size", "disk", "permission", "figures"), ("damage",)]


def faults_of(kind, rounds):
    """Number of faults. Streams and inputs differ from fault to fault, those of the other kinds in moment, place, size or contents."""
    if kind in ("stream", "hostile"):  # the same in every round
        return FAULTS[kind]
    if rounds > 0 or kind in ("input", "read_only"):
        return max(rounds, 1) * FAULTS[kind]
    return math.ceil(FAULTS[kind] / 12)


def check_the_page():
    """Expect docs/fault_campaign.md to state the kinds and numbers of faults."""
    page = (PROJECT / "docs/fault_campaign.md").read_text()
    stated = {kind: int(number) for kind, number in re.findall(r"(?m)^\| (\w+) \|.*\| (\d+)(?:, once)? \|$", page)}
    if stated != FAULTS:
        sys.exit(f"docs/fault_campaign.md: expected the faults {FAULTS}, got {stated}")
    total = sum(faults_of(kind, THOROUGH_ROUNDS) for kind in FAULTS)
    if f"three rounds: {total} faults of {len(FAULTS)} kinds" not in page:
        sys.exit(f"docs/fault_campaign.md: expected three rounds of {total} faults of {len(FAULTS)} kinds")


def survive(campaign, kind, numbers):
    """Run the program under faults of one kind; returns the failures and how many faults were made and how many stopped a program."""
    failures, unhurt, done = [], 0, 0
    for number in numbers:
        name = f"{kind}:{number}"
        try:
            what, finished = getattr(campaign, kind)(random.Random(f"{campaign.seed}/{name}"), number)
        except Impossible as reason:
            print(f"{kind}: skipped: {reason}")
            return [f"{kind}: skipped: {reason}"] if THOROUGH else [], 0, 0
        except Failed as failure:
            failures.append(f"{name} (seed {campaign.seed}): {failure}")
            print(failures[-1], flush=True)
            continue
        done += 1
        unhurt += finished
        if campaign.talks:
            print(f"{name}: {what}: {'finished all the same' if finished else 'stopped, then completed'}", flush=True)
    print(f"{kind}: {done} of {len(numbers)} faults survived, {unhurt} of them without stopping", flush=True)
    if len(numbers) >= 12 and 0 < done == unhurt:
        failures.append(f"{kind}: expected some fault to stop the program, none did")
    return failures, done, done - unhurt


def failures_to_hit(done, stopped):
    """A failure for each group of HITTING of which faults were made and none stopped a program."""
    return [f"{', '.join(kinds)}: expected some fault to stop the program, none did" for kinds in HITTING
            if sum(done[kind] for kind in kinds) > 0 and sum(stopped[kind] for kind in kinds) == 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headscope")
    parser.add_argument("--rounds", type=int,
                        default=int(os.environ.get("HEADSCOPE_FAULT_ROUNDS", str(THOROUGH_ROUNDS) if THOROUGH else "0")),
                        help="0: a twelfth of a round on a run of one pass, but each faulty stream, input and hostile file once")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("HEADSCOPE_FAULT_SEED", "1")))
    parser.add_argument("--kinds", default=",".join(FAULTS))
    parser.add_argument("--fault", help="one fault alone, KIND:NUMBER as a failure names it")
    parser.add_argument("--verbose", action="store_true", help="a line for each fault")
    arguments = parser.parse_args()
    check_the_page()
    plan = {kind: range(faults_of(kind, arguments.rounds)) for kind in arguments.kinds.split(",")}
    if arguments.fault:
        kind, number = arguments.fault.split(":")
        plan = {kind: [int(number)]}
    failures = []
    mounts = [kind for kind in plan if kind in ("disk", "read_only", "figures")]
    if mounts and os.geteuid() != 0 and not arguments.fault and (status := run_unshared(arguments, mounts)) is not None:
        failures += [f"{kind}: see above" for kind in mounts if status]
        plan = {kind: numbers for kind, numbers in plan.items() if kind not in mounts}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        campaign = Campaign(arguments.headscope, folder, arguments.seed, arguments.rounds)
        campaign.talks = arguments.verbose or arguments.fault is not None
        check_the_checks(campaign.tasks[0], folder)
        done, stopped = collections.Counter(), collections.Counter()
        for kind, numbers in plan.items():
            failed, done[kind], stopped[kind] = survive(campaign, kind, numbers)
            failures += failed
        if not arguments.fault:
            failures += failures_to_hit(done, stopped)
    if failures:
        sys.exit("\n".join([f"{len(failures)} failures:", *failures]))


if __name__ == "__main__":
    main()
