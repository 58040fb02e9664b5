"""Inputs that no program writes: odd names, sizes, encodings and kinds of files, each with what the program must make of it."""

import gzip
import hashlib
import json
import os
import re
import resource
import shutil

import h5py

from fault_support import MODEL, PROJECT, STORIES, call, check_message, expect

TOKENIZER = PROJECT / "data/tokenizer"
QUICK = ["--threads", "1", "--bootstrap", "20", "--figures", "svg", "--quiet"]
MIB = 1 << 20
# What a terminal would obey, and characters that turn text around.
ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


def check_is_plain(ended):
    """Expect no control characters but line ends, nor characters that set a direction."""
    for stream in (ended.out, ended.err):
        found = re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", stream)
        expect(found is None, f"a control character is printed: {stream[found.start() - 30:found.end() + 30]!r}" if found else "")


def within(memory, file):
    """A preexec_fn that limits the address space and the size of files, in bytes. Sanitizers reserve more address space than any limit."""
    def limit():
        if "HEADSCOPE_SANITIZED" not in os.environ:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_FSIZE, (file, file))
    return limit


def sign(path):
    """Give a changed HDF5 file the digest that it would have been written with."""
    data = re.sub(rb"\nheadscope sha256 [0-9a-f]{64}\n\Z", b"", path.read_bytes())
    path.write_bytes(data + b"\nheadscope sha256 " + hashlib.sha256(data).hexdigest().encode() + b"\n")


class HostileInputs:
    """Each check gets an empty folder, and raises Failed if the program is not as expected."""

    def __init__(self, headscope, environment, reference):
        """@param reference  folder with an undisturbed run/, its inputs/ and the shards of another model, others/."""
        self.headscope, self.environment, self.reference = headscope, environment, reference

    def checks(self):
        return [(name.removeprefix("try_").replace("_", " "), getattr(self, name)) for name in vars(type(self)) if name.startswith("try_")]

    def call(self, *arguments, **options):
        ended = call(self.headscope, *arguments, **{"env": self.environment, **options})
        check_is_plain(ended)
        return ended

    def run(self, folder, *arguments, analyses="correlation", **options):
        return self.call("run", "--model", MODEL, "--tokenizer", TOKENIZER, "--analyses", analyses, *QUICK, "--output", folder / "out",
                         *arguments, **options)

    # Names and counts.

    def try_tasks_whose_names_become_one(self, folder):
        names = ["时态", "性别", "a b", "a_b", "A B", "x" * 246, "x" * 246 + "y", "../../a", ESCAPE]
        pair = {"prefix": "The king", "good": " is", "bad": " are"}
        (folder / "tasks.jsonl").write_text("".join(json.dumps({**pair, "task": name}) + "\n" for name in names for _ in range(4)))
        ended = self.run(folder, "--tasks", folder / "tasks.jsonl", "--paths-repeated", "0", "--paths-exact", "2", analyses="tasks,paths")
        expect(ended.status == 0, ended.err)
        with h5py.File(folder / "out/results.h5") as file:
            expect(len(file["tasks/task"]) == len(names), "tasks are missing")
        circuits = {path.name.lower() for path in (folder / "out/figures").glob("circuit_*.json")}
        expect(len(circuits) == len(names), f"expected a circuit of each task under a name unlike the others, got {sorted(circuits)}")

    def try_tasks_by_the_ten_thousand(self, folder):
        pair = {"prefix": "The king", "good": " is", "bad": " are"}
        (folder / "tasks.jsonl").write_text("".join(json.dumps({**pair, "task": str(number)}) + "\n" for number in range(20_000)))
        ended = self.run(folder, "--tasks", folder / "tasks.jsonl", "--memory", "1G", analyses="tasks")
        expect(ended.status == 2, f"status {ended.status}: {ended.err}")
        expect("fewer than 20,000 tasks take less" in ended.err, ended.err)

    def try_stories_that_a_special_token_separates(self, folder):
        stories = "One day a king sat.<|endoftext|>The queen sat.<|endoftext|>They sat."
        (folder / "text.txt").write_text(stories)
        for more, n_document in (([], 3), (["--literal-special-tokens"], 1)):
            ended = self.run(folder, "--corpus", folder / "text.txt", "--force", *more,
                             env={**self.environment, "PATH": "/nonexistent"})  # without gnuplot
            expect(ended.status == 0, ended.err)
            with h5py.File(folder / "out/results.h5") as file:
                expect(file.attrs["n_document"] == n_document, f"expected {n_document} documents, got {file.attrs['n_document']}")

    # Sizes.

    def try_a_line_without_end(self, folder):
        (folder / "line.txt").write_bytes(b"a" * (70 * MIB))
        ended = self.run(folder, "--corpus", folder / "line.txt", preexec_fn=within(1500 * MIB, 256 * MIB))
        check_message(ended, folder / "line.txt:1", ["expected lines of at most 64 MiB"])

    def try_ten_gigabytes_in_ten_megabytes(self, folder):
        for name, text, reasons in (("zeros", b"\0" * 64, ["got a NUL byte"]),
                                    ("stories", b"A king sat.\n\n" * 5, ["expected data that grow at most 200-fold"])):
            part = gzip.compress(text * (8 * MIB // len(text)), 9)
            path = folder / f"{name}.txt.gz"
            path.write_bytes(part * 1280)
            ended = self.run(folder, "--corpus", path, preexec_fn=within(1500 * MIB, 256 * MIB))
            check_message(ended, path, reasons)

    # Files of other kinds, and places that are none.

    def try_a_temporary_folder_that_is_none(self, folder):
        with gzip.open(folder / "text.txt.gz", "wt") as file:
            file.write("One day a king sat.\n")
        (folder / "file").touch()
        for place in (folder / "file", folder / "none"):
            ended = self.run(folder, "--corpus", folder / "text.txt.gz", env={**self.environment, "TMPDIR": str(place)})
            check_message(ended, place, ["expected a folder for temporary files (TMPDIR), got none"])

    # Other pipes and options are in command_line_test.cpp.

    def try_pipes_without_a_writer(self, folder):
        for name in ("pipe.jsonl", "pipe.h5", "config.json"):
            os.mkfifo(folder / name)
        check_message(self.run(folder, "--corpus", folder / "pipe.h5"), folder / "pipe.h5", ["expected a file"])
        check_message(self.run(folder, "--tasks", folder / "pipe.jsonl", analyses="tasks"), folder / "pipe.jsonl", ["expected a file"])
        for name in ("pipe.h5", "config.json"):
            check_message(self.call("inspect", folder / name), folder / name, ["expected a file"])

    def try_odd_files_of_options(self, folder):
        for text, reason in (("no such option", "run.cfg"), (ESCAPE + " = 1", "run.cfg"), ("seed = 1\nseed = 2", "seed"),
                             ("model = " + "x" * 5000, "xxx")):
            (folder / "run.cfg").write_text(text + "\n")
            ended = self.call("run", "--config", folder / "run.cfg", "--output", folder / "out")
            expect(ended.status in (1, 2) and reason in ended.err and ended.err.count("\n") == 1, f"{text!r}: {ended.err!r}")

    def try_a_shard_of_another_model(self, folder):
        shutil.copytree(self.reference / "shards/shards", folder / "out/shards")
        for path in (folder / "out/shards").glob("2-of-2.*"):
            path.unlink()
        ended = self.call("run", "--model", self.reference / "others/model.h5", "--corpus", STORIES, "--max-documents", "3", "--analyses",
                          "classification,correlation", "--patterns", "1", *QUICK, "--output", folder / "out", "--shard", "2/2")
        check_message(ended, folder / "out/shards/1-of-2.pass-1.h5", ["is "])
        expect(not list((folder / "out/shards").glob("2-of-2.*")), "a pass of another model was added")

    # Text from files that a terminal would obey.

    def try_escapes_in_models(self, folder):
        shutil.copy(MODEL, folder / "model.h5")
        with h5py.File(folder / "model.h5", "r+") as file:
            file[ESCAPE] = [1.0]
            file.attrs[ESCAPE] = ESCAPE
            file["wte.weight" if "wte.weight" in file else list(file)[0]].attrs["note"] = ESCAPE
        inputs = self.reference / "inputs"
        data = (inputs / "model.safetensors").read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + size])
        (folder / "snapshot").mkdir()
        forged = {"names": {**header, ESCAPE: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}},
                  "metadata": {**header, "__metadata__": {ESCAPE: ESCAPE, "format": ESCAPE}},
                  "types": {**header, "more": {"dtype": ESCAPE, "shape": [0], "data_offsets": [0, 0]}}}
        config = json.loads((inputs / "config.json").read_text())
        configs = {"type": {**config, "model_type": ESCAPE}, "architecture": {**config, "architectures": [ESCAPE]},
                   "activation": {**config, "activation_function": ESCAPE}, "key": {**config, ESCAPE: ESCAPE}}
        statuses = []
        for new in forged.values():
            text = json.dumps(new).encode()
            (folder / "snapshot/model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size:])
            (folder / "snapshot/config.json").write_text(json.dumps(config))
            statuses += self.inspected(folder / "snapshot/model.safetensors")
        for new in configs.values():
            (folder / "snapshot/config.json").write_text(json.dumps(new))
            statuses += self.inspected(folder / "snapshot/config.json")
        statuses += self.inspected(folder / "model.h5")
        expect(0 in statuses, "no forged model was shown")

    def inspected(self, path):
        """The exit statuses of `inspect`, whose output is checked; an error is one line."""
        statuses = []
        for more in ([], ["--arrays"]):
            ended = self.call("inspect", *more, path)
            expect(ended.status == 0 or (ended.status == 1 and ended.err.count("\n") == 1), f"status {ended.status}: {ended.err!r}")
            statuses.append(ended.status)
        return statuses

    def try_escapes_in_texts(self, folder):
        pair = {"prefix": "The king", "good": " is", "bad": " are", "task": ESCAPE, "relation": ESCAPE}
        (folder / "tasks.jsonl").write_text(json.dumps(pair) + "\n")
        lines = "".join(f"{n}\t{ESCAPE}\t{ESCAPE}\tNOUN\t{ESCAPE}\t_\t{n - 1}\t{ESCAPE}\t_\t_\n" for n in range(1, 9)).replace("\x9b", "")
        (folder / "text.conllu").write_text(f"# newdoc id = {ESCAPE}\n{lines}\n")
        place = folder / ESCAPE
        place.mkdir()
        (place / "text.txt").write_text(ESCAPE + "\n")
        for path in (folder / "tasks.jsonl", folder / "text.conllu", place / "text.txt", place):
            ended = self.call("inspect", "--tokenizer", TOKENIZER, path)
            expect(ended.status == 0, ended.err)
        ended = self.run(folder, "--corpus", folder / "text.conllu", "--tasks", folder / "tasks.jsonl", "--paths-repeated", "0",
                         analyses="classification,tasks")
        expect(ended.status == 0, ended.err)
        self.inspected(folder / "out")
        for name in ("report.html", "report.md"):
            text = (folder / "out" / name).read_text()
            expect("\x1b" not in text and "\u202e" not in text, f"{name} has a control character")

    def try_escapes_in_tokenizers(self, folder):
        shutil.copytree(TOKENIZER, folder / "tokenizer")
        vocabulary = json.loads((folder / "tokenizer/vocab.json").read_text())
        vocabulary[ESCAPE] = len(vocabulary)
        (folder / "tokenizer/vocab.json").write_text(json.dumps(vocabulary))
        for words in (["--bos", ESCAPE], []):
            ended = self.call("run", "--model", MODEL, "--tokenizer", folder / "tokenizer", "--corpus", STORIES, "--max-documents", "1",
                              "--analyses", "correlation", *QUICK, "--output", folder / "out", *words)
            expect(ended.status in (0, 1, 2), ended.err)
        (folder / "tokenizer.json").write_text(json.dumps({"model": {"type": ESCAPE, "vocab": {ESCAPE: 0}, "merges": []}, "version": ESCAPE,
                                                           "added_tokens": [{"id": 0, "content": ESCAPE}]}))
        ended = self.call("inspect", "--tokenizer", folder, STORIES)
        expect(ended.status == 1 and ended.err.count("\n") == 1, ended.err)

    def try_escapes_in_results(self, folder):
        (folder / "out").mkdir(exist_ok=True)
        path = folder / "out/results.h5"
        shutil.copy(self.reference / "run/results.h5", path)
        with h5py.File(path, "r+") as file:
            for name in ("title", "version", "model_path", "corpus_path", "precision_engine"):
                file.attrs[name] = ESCAPE
            for group in file.values():
                group.attrs["title"] = group.attrs["summary"] = ESCAPE
                for item in group.values():
                    item.attrs["long_name"] = item.attrs["units"] = ESCAPE
        sign(path)
        statuses = self.inspected(path)
        statuses.append(self.call("report", folder / "out", "--figures", "svg").status)
        statuses.append(self.call("compare", self.reference / "run", folder / "out", "--output", folder / "comparison").status)
        expect(0 in statuses, "no forged results were shown")
        shutil.copytree(self.reference / "shards/shards", folder / "shards")
        for path in (folder / "shards").glob("*.h5"):
            with h5py.File(path, "r+") as file:
                for name in list(file.attrs):
                    if isinstance(file.attrs[name], str):
                        file.attrs[name] = ESCAPE
            sign(path)
        ended = self.call("inspect", folder)
        expect(ended.status in (0, 1), ended.err)
