"""What the fault campaign and its kinds of faults share: running the program, comparing its results, limited file systems."""

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests/support"))
from children import ending_with_parent

MODEL = PROJECT / "data/planted-model.h5"
STORIES = PROJECT / "data/stories.conllu"
PATIENCE = 120  # seconds after which a command counts as hanging
# Attributes that may differ between two runs with equal numbers.
VARYING = {"date", "command_line", "options", "model_path", "corpus_path"}


class Failed(Exception):
    """The program misbehaved."""


class Impossible(Exception):
    """This machine cannot produce the fault."""


def expect(condition, problem):
    if not condition:
        raise Failed(problem)


# Results and their comparison.

def plain(value):
    """An HDF5 value in a form that compares bit for bit; None for references."""
    array = numpy.asarray(value)
    if array.dtype.kind == "O":
        items = array.ravel().tolist()
        if not all(isinstance(item, (str, bytes)) for item in items):
            return None
        return array.shape, [item.encode() if isinstance(item, str) else item for item in items]
    return None if array.dtype.kind == "V" else (array.shape, array.dtype.str, array.tobytes())


def contents(path):
    """All numbers and texts of an HDF5 file by name; checks the digest at its end."""
    found = {}
    data, mark, digest = path.read_bytes().rpartition(b"\nheadscope sha256 ")
    if not mark or digest != hashlib.sha256(data).hexdigest().encode() + b"\n":
        raise ValueError("does not end in its digest")

    def take(name, item):
        for key, value in item.attrs.items():
            if not (name == "" and key in VARYING):
                found[f"{name}@{key}"] = plain(value)
        if isinstance(item, h5py.Dataset):
            found[name] = plain(item[()])

    with h5py.File(path, "r") as file:
        take("", file)
        file.visititems(take)
    return found


def difference(path, expected):
    """How an HDF5 file differs from the expected contents, or None."""
    try:
        got = contents(path)
    except Exception as error:  # h5py has no single exception type for damaged files
        return f"cannot be read: {error}"
    names = sorted(name for name in got.keys() | expected.keys() if got.get(name) != expected.get(name))
    return f"differs in {', '.join(names[:3])}" if names else None


def settled(path):
    """The bytes of a file; for a report, without its date and the attributes that may differ."""
    text = path.read_bytes()
    if path.name == "engines.json":
        return re.sub(rb'"times_float32_speed": {[^}]*}', b"", text)  # measured in each run
    if path.stem != "report":
        return text
    text = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"DATE", text)
    text = re.sub(rb"headscope report [^\"&<]*", b"headscope report", text)  # of this folder, to draw figures later
    names = "|".join(VARYING).replace("_", r"\\?_")
    return re.sub(rf"(?m)^(<tr><th scope=\"row\">|\| )({names})\b.*$".encode(), b"", text)


def is_pending(path):
    return any(".part-" in part for part in path.parts)


def files_below(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())


class Expected:
    """The content of a folder after an undisturbed run."""

    def __init__(self, folder):
        self.hdf5 = {}
        self.other = {}
        self.size = 0
        self.largest = 0
        for name in files_below(folder):
            if name.parts[0] == "shards":
                continue
            size = (folder / name).stat().st_size
            self.size += (size + 4095) // 4096 * 4096
            self.largest = max(self.largest, size)
            if name.suffix == ".h5":
                self.hdf5[name] = contents(folder / name)
            else:
                self.other[name] = settled(folder / name)

    def problem(self, folder, name):
        """What is wrong with a file under its final name, or None."""
        path = folder / name
        if name.parts[0] == "shards":
            try:
                contents(path)
            except Exception as error:
                return f"cannot be read: {error}"
            return None
        if name in self.hdf5:
            return difference(path, self.hdf5[name])
        if name not in self.other:
            return "is not one of the files expected"
        return None if settled(path) == self.other[name] else "is not as the undisturbed run leaves it"

    def check_whole(self, folder, older=None):
        """@param older  contents that an HDF5 file may still have because nothing has replaced it yet"""
        for name in files_below(folder):
            if is_pending(name) or name.name.endswith(".lock"):
                continue
            problem = self.problem(folder, name)
            if problem and older and name in self.hdf5 and difference(folder / name, older) is None:
                continue
            expect(problem is None, f"{name} {problem}")

    def check_complete(self, folder):
        self.check_whole(folder)
        names = {name for name in files_below(folder) if name.parts[0] != "shards" or is_pending(name)}
        known = self.hdf5.keys() | self.other.keys()
        missing, left = known - names, names - known
        expect(not missing, f"missing: {', '.join(map(str, sorted(missing)))}")
        expect(not left, f"left behind: {', '.join(map(str, sorted(left)))}")


# Running the program.

class Ended:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


class Running:
    def __init__(self, arguments, cwd=None, **options):
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        options.setdefault("stdout", self.out)
        options.setdefault("stderr", self.err)
        options.setdefault("stdin", subprocess.DEVNULL)
        options["preexec_fn"] = ending_with_parent(options.get("preexec_fn"))
        self.process = subprocess.Popen([str(argument) for argument in arguments], cwd=cwd or "/", **options)

    def wait(self, seconds=PATIENCE):
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failed(f"did not end within {seconds} s") from None
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
            file.close()
        return Ended(status, *texts)

    def wait_until(self, moment):
        """Sleep for `moment` seconds or until the program ends."""
        end = time.monotonic() + moment
        while time.monotonic() < end and self.process.poll() is None:
            time.sleep(min(0.002, max(0, end - time.monotonic())))


def call(*arguments, **options):
    return Running(arguments, **options).wait()


def must(*arguments, **options):
    ended = call(*arguments, **options)
    if ended.status != 0:
        words = [str(argument) for argument in arguments[1:]]
        raise Failed(f"`headscope {' '.join(words)}`: status {ended.status}: {ended.err.strip()}")
    return ended


def check_message(ended, place, reasons):
    """Expect one line of error that names a file below `place` and one of the reasons."""
    expect(ended.status == 1, f"expected status 1, got {ended.status}: {ended.err.strip()}")
    lines = ended.err.splitlines()
    expect(len(lines) == 1 and lines[0].startswith("headscope: "), f"expected one line of error, got {ended.err!r}")
    expect(str(place) in lines[0], f"expected the name of a file in {place}, got {lines[0]}")
    expect(any(reason in lines[0] for reason in reasons), f"expected one of {reasons}, got {lines[0]}")


# What the faults need from the machine.

@contextlib.contextmanager
def mounted(folder, options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True, stderr=subprocess.PIPE)
    try:
        yield
    finally:
        for _ in range(50):
            if subprocess.run(["umount", folder], stderr=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.1)
        else:
            subprocess.run(["umount", "-l", folder])


def remount(folder, options):
    # Given type and source, mount adds no other options; a user namespace could not set them.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "remount," + options, "tmpfs", folder], check=True)


def can_mount():
    if not hasattr(can_mount, "answer"):
        with tempfile.TemporaryDirectory() as folder:
            try:
                with mounted(folder, "size=64k"):
                    can_mount.answer = True
            except (OSError, subprocess.CalledProcessError):
                can_mount.answer = False
    return can_mount.answer
