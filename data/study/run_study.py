#!/usr/bin/python3
"""The whole study: stories, training, Headscope on every model, noise, results.h5 and figures. What is there is not made again.

    OMP_NUM_THREADS=1 data/study/run_study.py --work out/study --headscope build/cli/headscope --torch-python python3

Kill it at any time and start it again: training goes on from its last checkpoint.
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys

import h5py
import numpy as np

import family
import losses

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent
sys.path.insert(0, str(DATA))
from gpt2 import Tokenizer  # noqa: E402
from make_stories import ENTITY_HEADER, make_story, story_conllu, story_text  # noqa: E402

CONTEXT = 64
TRAINING_STORIES, TRAINING_SEED = 20000, 1000
HELD_OUT_STORIES, HELD_OUT_SEED = 200, 2000


def call(*command):
    subprocess.run([str(part) for part in command], check=True)


def first_sentences(tokenizer, sentences):
    """As many of a story's first sentences as fit in the context behind <|endoftext|>: what training sees of it."""
    while sentences and len(tokenizer.encode(story_text(sentences))) > CONTEXT - 1:
        sentences = sentences[:-1]
    return sentences


def make_corpora(work):
    """held_out.conllu, and stories.npy: token ids of the training stories, <|endoftext|> before each."""
    tokenizer = Tokenizer(*((DATA / "tokenizer" / name).read_text(encoding="utf-8") for name in ("vocab.json", "merges.txt")))
    if not (work / "held_out.conllu").exists():
        blocks = []
        for i in range(HELD_OUT_STORIES):
            identifier, sentences = make_story(HELD_OUT_SEED, i)
            sentences = first_sentences(tokenizer, sentences)
            if sentences:
                blocks.append(story_conllu(identifier, sentences).replace("\n", "\n" + ENTITY_HEADER, 1))
        (work / "held_out.conllu").write_text("".join(blocks), encoding="utf-8")
    if not (work / "stories.npy").exists():
        stories = (story_text(make_story(TRAINING_SEED, i)[1]) for i in range(TRAINING_STORIES))
        ids = [number for story in stories for number in (tokenizer.end_of_text, *tokenizer.encode(story))]
        np.save(work / "stories.npy", np.array(ids, dtype=np.uint16))


def train(work, python, model):
    folder = work / "models" / model.name
    if not (folder / "record.h5").exists():
        call(python, HERE / "train_family.py", "--stories", work / "stories.npy", "--n-head", model.n_head, "--seed", model.seed, "--steps", model.steps,
             "--save-at", *family.saved_at(model), "--output", folder, *(["--equal-heads"] if model.equal else []))


def look(work, headscope, model, percent):
    """Runs Headscope on a model. Heads are ablated one by one only where their order is needed; elsewhere on two documents."""
    folder = family.run_folder(work, model.name, percent)
    if (folder / "results.h5").exists():
        return
    ablate = percent == 100 and model.name == family.long_training(family.SERIES_HEADS, model.seed)
    call(headscope, "run", "--model", family.model_file(work, model.name, percent), "--corpus", work / "held_out.conllu",
         "--analyses", "classification,correlation,pruning", "--prune-documents", 20 if ablate else 2, "--js-queries", 0, "--no-cosine-all",
         "--figures", "svg", "--threads", 1, "--quiet", "--output", folder, *(["--resume"] if folder.exists() else []))


def prune(work, headscope, seed, kept):
    """Zeroes the heads whose ablation costs least, until this share is kept."""
    output = family.pruned_file(work, seed, kept)
    if output.exists():
        return
    name = family.long_training(family.SERIES_HEADS, seed)
    with h5py.File(family.run_folder(work, name) / "results.h5") as file:
        zero = [label.decode() for label in file["pruning/ablation"][()]].index("zero")
        increase = file["pruning/loss_increase"][zero]
    removed = np.argsort(increase, axis=None)[: int((1 - kept) * increase.size + 1e-9)]
    heads = ",".join(f"L{unit // increase.shape[1]}H{unit % increase.shape[1]}" for unit in sorted(removed))
    output.parent.mkdir(exist_ok=True)
    call(headscope, "prune", family.model_file(work, name), output, "--heads", heads, "--mode", "zero")


def compare(work, headscope, output, runs, labels, by):
    folder = work / "comparison" / output
    if not (folder / "results.h5").exists():
        folder.parent.mkdir(exist_ok=True)
        call(headscope, "compare", *runs, "--label", *labels, "--by", by, "--figures", "svg", "--quiet", "--output", folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for models, runs and all that is not committed")
    parser.add_argument("--headscope", required=True, help="the program")
    parser.add_argument("--torch-python", default=sys.executable, help="a Python with PyTorch")
    parser.add_argument("--jobs", type=int, default=2, help="trainings and runs at a time, each of one thread")
    parser.add_argument("--output", type=pathlib.Path, default=HERE, help="folder for results.h5, figures and the README with its table")
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)

    make_corpora(work)
    models = family.every_model()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(lambda model: train(work, arguments.torch_python, model), models))
        list(pool.map(lambda job: look(work, arguments.headscope, *job),
                      [(model, percent) for model in models for percent in family.looked_at(model)]))
    for seed in family.SEEDS:
        for kept in family.KEPT[1:]:
            prune(work, arguments.headscope, seed, kept)
    names = [family.random_start(n_head, seed) for n_head in family.N_HEAD for seed in family.SEEDS]
    names += [family.equal_start(seed) for seed in family.SEEDS]
    compare(work, arguments.headscope, "heads", [family.run_folder(work, name) for name in names], names, "n_head")
    for seed in family.SEEDS:
        name = family.long_training(family.SERIES_HEADS, seed)
        compare(work, arguments.headscope, name, [family.run_folder(work, name, percent) for percent in family.PERCENTS], family.PERCENTS,
                "percent of training")
    losses.measure_all(work, arguments.jobs)
    readme = arguments.output / "README.md"
    call(sys.executable, HERE / "summarise.py", "--work", work, "--output", arguments.output / "results.h5",
         *(["--readme", readme] if readme.exists() else []))
    call(sys.executable, HERE / "figures.py", "--results", arguments.output / "results.h5", "--output", arguments.output / "figures")


if __name__ == "__main__":
    main()
