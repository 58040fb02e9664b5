#!/usr/bin/python3
"""The whole study: stories, trainings, Headscope's look at them, retraining, noise; then results.h5 and figures.

    data/study/run_study.py --work out/study --headscope build/headscope --torch-python python3

Every finished training leaves its numbers in --trainings/NAME.json; what has such a file is not made again. Kill it at any time and
start it again, also on another machine: training goes on from its last checkpoint in --work, if there is one. Without --headscope
it trains only, and what Headscope has to say is added by a later start with the same --work.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import pathlib
import subprocess
import sys
import threading

import numpy as np

import family
import losses
import measure

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent
sys.path.insert(0, str(DATA))
from gpt2 import Tokenizer  # noqa: E402
from make_stories import ENTITY_HEADER, beginning, make_story, story_conllu, story_text  # noqa: E402

CONTEXT = 128
TRAINING_SEED = 1000
DOCUMENT_SEEDS = {"held_out": 2000, "validation": 3000}


def call(*command):
    subprocess.run([str(part) for part in command], check=True)


def make_corpora(work, design):
    """stories.npy: token ids of the training stories, <|endoftext|> before each. held_out and validation: as .conllu for Headscope and as .npy."""
    tokenizer = Tokenizer(*((DATA / "tokenizer" / name).read_text(encoding="utf-8") for name in ("vocab.json", "merges.txt")))

    def save(name, texts):
        ids = [number for text in texts for number in (tokenizer.end_of_text, *tokenizer.encode(text))]
        with open(work / f"{name}.partial", "wb") as file:
            np.save(file, np.array(ids, dtype=np.uint16))
        (work / f"{name}.partial").replace(work / f"{name}.npy")

    for name, seed in DOCUMENT_SEEDS.items():
        if not (work / f"{name}.npy").exists():
            told = [make_story(seed, i) for i in range(design.documents)]
            told = [(identifier, beginning(sentences, tokenizer, CONTEXT)) for identifier, sentences in told]
            blocks = [story_conllu(*story).replace("\n", "\n" + ENTITY_HEADER, 1) for story in told]
            (work / f"{name}.conllu").write_text("".join(blocks), encoding="utf-8")
            save(name, (story_text(sentences) for _, sentences in told))
    if not (work / "stories.npy").exists():
        save("stories", (story_text(make_story(TRAINING_SEED, i)[1]) for i in range(design.stories)))


class Study:
    def __init__(self, arguments):
        self.work, self.trainings = arguments.work.resolve(), arguments.trainings
        self.headscope, self.python, self.device = arguments.headscope, arguments.torch_python, arguments.device
        self.design = family.TINY if arguments.tiny else family.FULL
        for folder in (self.work, self.trainings):
            folder.mkdir(parents=True, exist_ok=True)
        make_corpora(self.work, self.design)
        self.locks = collections.defaultdict(threading.Lock)  # a model's name -> held while it is trained
        self.stories_sha256 = hashlib.sha256(np.load(self.work / "stories.npy").tobytes()).hexdigest()

    def numbers(self, name):
        """What --trainings has of a training, or None."""
        path = self.trainings / f"{name}.json"
        if not path.exists():
            return None
        numbers = json.loads(path.read_text(encoding="utf-8"))
        if numbers["stories_sha256"] != self.stories_sha256:
            sys.exit(f"{path}: expected stories of digest {self.stories_sha256}, got {numbers['stories_sha256']}: use the commit that made them")
        return numbers

    def best_rate(self, n_head):
        """The rate of the lowest validation loss among those tried; None before all were."""
        tried = [self.numbers(training.name) for training in family.rate_trainings(self.design, n_head)]
        return min(tried, key=lambda numbers: numbers["validation_loss"])["peak_rate"] if all(tried) else None

    def is_done(self, training):
        numbers = self.numbers(training.name)
        return numbers is not None and (not family.looked_at(self.design, training) or "looked" in numbers or not self.headscope)

    def train(self, training):
        """Trains unless the model is there."""
        folder = self.work / "models" / training.name
        with self.locks[training.name]:
            if (folder / "record.h5").exists():
                return
            peak = training.peak or self.best_rate(training.n_head)
            looked = family.looked_at(self.design, training)
            call(self.python, HERE / "train_family.py", "--stories", self.work / "stories.npy", "--n-head", training.n_head, "--seed", training.seed,
                 "--steps", training.steps, "--rows", self.design.rows, "--rate", peak, "--device", self.device, "--output", folder,
                 "--save-at", *(looked or [100]), "--documents", *(self.work / f"{name}.npy" for name in DOCUMENT_SEEDS),
                 *([] if training.noise is None else ["--equal-heads", training.noise]))

    def run(self, model, corpus, folder, *options):
        """Runs Headscope on a model."""
        if not (folder / "results.h5").exists():
            call(self.headscope, "run", "--model", model, "--corpus", self.work / f"{corpus}.conllu", "--js-queries", 0, "--no-cosine-all", "--figures", "svg",
                 "--threads", 1, "--quiet", "--output", folder, *options, *(["--resume"] if folder.exists() else []))
        return folder / "results.h5"

    def look(self, training, percent):
        """Only the last model of family.MIDDLE heads has heads ablated, on two documents: with that comes the loss, which must be that of the training's record."""
        compared = training.n_head == family.MIDDLE and percent == 100
        analyses = "classification,correlation" + (",pruning" if compared else "")
        return self.run(family.model_file(self.work, training.name, percent), "held_out", family.run_folder(self.work, training.name, percent),
                        "--analyses", analyses, *(["--prune-documents", 2] if compared else []))

    def retrain(self, training):
        """Prunes and retrains the model of family.MIDDLE heads of the seed, which is trained again if it is not there."""
        whole = family.Training(family.random_start(family.MIDDLE, training.seed), "random", family.MIDDLE, training.seed, self.design.steps)
        folder = self.work / "models" / training.name
        if not (folder / "record.h5").exists():
            self.train(whole)
            model = family.model_file(self.work, whole.name)
            with self.locks[whole.name]:
                ablated = self.run(model, "validation", family.run_folder(self.work, whole.name + "-ablated"), "--analyses", "pruning", "--prune-documents", 0)
            call(self.python, HERE / "retrain.py", "--model", model, "--remove", *measure.heads_to_remove(ablated, training.kept), "--stories", self.work / "stories.npy",
                 "--documents", self.work / "validation.npy", "--check-documents", self.design.check_documents, "--rate", self.best_rate(family.MIDDLE) / 4,
                 "--seed", training.seed, "--first-step", self.design.steps, "--rows", self.design.rows, "--cycle-steps", self.design.cycle_steps,
                 "--cycles", self.design.cycles, "--check-steps", self.design.check_steps, "--output", folder)

    def under_noise(self, training):
        choices = np.unique(np.load(self.work / "stories.npy"))[:-1]
        clean, *noisy = losses.losses_under_noise(family.model_file(self.work, training.name), losses.documents_of(self.work / "held_out.npy"), choices, self.design.draws)
        return {"held_out_loss": clean, "noisy_loss": noisy}

    def check_commit(self, commit):
        """All models of the study are looked at by one commit of Headscope."""
        for path in self.trainings.glob("*.json"):
            looked = json.loads(path.read_text(encoding="utf-8")).get("looked", {"headscope_commit": commit})
            if looked["headscope_commit"] != commit:
                sys.exit(f"{path}: expected a look by Headscope's commit {commit}, which --headscope is of, got {looked['headscope_commit']}")

    def make(self, training):
        """Makes a training and its file; leaves out what needs Headscope or a rate that is not there."""
        if self.is_done(training) or (training.kind != "rate" and self.best_rate(training.n_head) is None):
            return
        if training.kind == "kept":
            if not self.headscope:
                return
            self.retrain(training)
        else:
            self.train(training)
        numbers = {key: value for key, value in training._asdict().items() if key != "peak"} | {"stories_sha256": self.stories_sha256}
        numbers |= measure.of_record(self.work / "models" / training.name / "record.h5")
        if training.kind == "kept":
            numbers |= self.under_noise(training)
        percents = family.looked_at(self.design, training) if self.headscope else []
        if percents:
            numbers["looked"] = measure.of_runs(percents, [self.look(training, percent) for percent in percents])
            self.check_commit(numbers["looked"]["headscope_commit"])
            loss = numbers["looked"]["loss"][-1]
            if training.n_head == family.MIDDLE and not abs(loss - numbers["held_out_loss"]) < 1e-4:
                sys.exit(f"{training.name}: expected Headscope's loss {loss} to be that of the training, got {numbers['held_out_loss']}")
        measure.write_numbers(self.trainings / f"{training.name}.json", numbers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for models, runs and all that is not committed")
    parser.add_argument("--headscope", type=pathlib.Path, help="the program; without it the study trains only")
    parser.add_argument("--torch-python", default=sys.executable, help="a Python with PyTorch, numpy and h5py")
    parser.add_argument("--device", default="cpu", help="PyTorch's name of the device that trains")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time, each of one thread")
    parser.add_argument("--trainings", type=pathlib.Path, default=HERE / "trainings", help="folder of the trainings' numbers")
    parser.add_argument("--output", type=pathlib.Path, help="folder for results.h5 and figures (default: --work)")
    parser.add_argument("--tiny", action="store_true", help="a budget of seconds, to see that everything runs; its numbers mean nothing")
    arguments = parser.parse_args()

    study = Study(arguments)
    trainings = family.every_training(study.design)
    for _, group in itertools.groupby(trainings, lambda training: training.kind == "rate"):
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for future in [pool.submit(study.make, training) for training in group]:
                future.result()
    output = arguments.output or study.work
    output.mkdir(parents=True, exist_ok=True)
    call(sys.executable, HERE / "summarise.py", "--trainings", study.trainings, "--output", output / "results.h5", *(["--tiny"] if arguments.tiny else []))
    call(sys.executable, HERE / "figures.py", "--results", output / "results.h5", "--output", output / "figures")


if __name__ == "__main__":
    main()
