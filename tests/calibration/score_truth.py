"""What the analysis score_model says where the truth is known: of shuffled words, of untrained models, of two halves of a corpus.

    score_truth.py HEADSCOPE_BINARY [--model M] [--tokenizer T] [--corpus C ...] [--max-documents N] [--queries N] [--seeds N]

calibration_test.py runs its parts on a few stories; docs/score_model.md has its numbers.
"""

import collections
import os
import random
import sys
import tempfile

import numpy as np

import calibration

UNTRAINED_SHAPES = calibration.SHAPES | {"2 layers of 12 heads, 768": (2, 12, 768)}
LARGEST_GAIN = 0.01  # of syntax and coreference, that words shuffled over the trees may have in all but 1 of 20 heads


def names(group, name):
    return [label.decode() for label in group[name][()]]


def families(group):
    """By head, the name of the family that it attends by."""
    attends_by = group["attends_by"]
    meanings = attends_by.attrs["flag_meanings"]
    meanings = (meanings.decode() if isinstance(meanings, bytes) else meanings).split()
    return np.array([meanings[int(value)] for value in attends_by[()].ravel()])


def run(runs, documents, fields, n_query, **options):
    path = os.path.join(runs.folder, "score.conllu")
    calibration.write_documents(documents, fields, path)
    more = ["--score-queries", str(n_query), "--score-effect-documents", "0"]
    return runs.run(path, "score_model", more=more, **options)


def gains(runs, make, documents, fields, seeds, n_query):
    """Of syntax and coreference: the largest gain and how many heads have more than LARGEST_GAIN, of how many."""
    largest, above, n_head = {}, {}, 0
    for seed in range(seeds):
        with run(runs, make(documents, random.Random(seed)), fields, n_query, seed=seed, bootstrap=0) as results:
            group = results["score_model"]
            gain = dict(zip(names(group, "family"), group["family_gain"][()]))
            n_head += group["attends_by"].size
        for family in ("syntax", "coreference"):
            largest[family] = max(largest.get(family, -np.inf), np.nanmax(gain[family]))
            above[family] = above.get(family, 0) + int((gain[family] > LARGEST_GAIN).sum())
    return {f"{family} gain above {LARGEST_GAIN}": f"{above[family]} of {n_head}, at most {largest[family]:.3f}" for family in largest}


def untrained(runs, documents, fields, seeds, n_query):
    """How many heads of untrained models have attention to explain, and how many attend by each family."""
    table = {}
    for name, shape in UNTRAINED_SHAPES.items():
        found, explained, n_head = collections.Counter(), 0, 0
        for seed in range(seeds):
            model = os.path.join(runs.folder, "untrained.h5")
            calibration.write_untrained(runs.options.model, shape, seed, model)
            with run(runs, documents, fields, n_query, model=model, seed=seed, bootstrap=100) as results:
                group = results["score_model"]
                found.update(families(group))
                full = names(group, "step").index("full")
                explained += int((~np.isnan(group["deviance_explained_beyond_sink"][full])).sum())
                n_head += group["attends_by"].size
        del found["none"]
        by = ", ".join(f"{count} attend by {family}" for family, count in sorted(found.items())) or "none attends by a family"
        table[name] = f"of {n_head} heads {explained} have attention to explain, {by}"
    return table


def of_halves(runs, documents, fields, n_query, bootstrap=200):
    """By half of the corpus: the families that heads attend by, and the gain of each head by family. Each half has documents of either
    parity."""
    found = []
    for half in (0, 1):
        part = [document for i, document in enumerate(documents) if i // 2 % 2 == half]
        with run(runs, part, fields, n_query, bootstrap=bootstrap) as results:
            group = results["score_model"]
            found.append((families(group), dict(zip(names(group, "family"), group["family_gain"][()]))))
    return found


def agreement(first, second):
    """Of heads that attend by a family in either half of the corpus, how many attend by the same in both."""
    either = (first != "none") | (second != "none")
    both = (first != "none") & (second != "none")
    same = first == second
    return {"the same family in both halves": f"{(same & either).sum()} of {either.sum()}",
            "the same where both name one": f"{(same & both).sum()} of {both.sum()}"}


def main():
    parser = calibration.parser_of_runs(2, "true,shuffled,untrained,halves")
    parser.add_argument("--queries", type=int, default=4000)
    options = parser.parse_args()
    documents, fields = calibration.read_documents(options.corpus)
    documents = documents[:options.max_documents]
    with tempfile.TemporaryDirectory() as folder:
        runs = calibration.Runs(options, folder)
        parts = {
            "true": lambda: gains(runs, lambda same, rng: same, documents, fields, 1, options.queries),
            "shuffled": lambda: gains(runs, calibration.shuffled_words, documents, fields, options.seeds, options.queries),
            "untrained": lambda: untrained(runs, documents, fields, options.seeds, options.queries),
            "halves": lambda: agreement(*(by for by, _ in of_halves(runs, documents, fields, options.queries))),
        }
        for part in options.parts.split(","):
            for name, value in parts[part]().items():
                print(f"| {part} | {name} | {value} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
