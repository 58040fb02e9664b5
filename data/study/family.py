"""The trainings of the study, by the design in README.md, and where their files lie in the working folder."""

import collections
import dataclasses

MIDDLE, NARROW, ONE = 8, 128, 1  # heads per layer that the claims compare
GROWTH_FROM = 3  # percent of the training from which claim 14 counts


@dataclasses.dataclass(frozen=True)
class Design:
    seeds: dict  # heads per layer -> seeds, in the order of training
    steps: int = 3000  # of `rows` rows
    rows: int = 8
    rates: tuple = (0.001, 0.002, 0.004, 0.008)
    rate_steps: int = 750
    rate_seed: int = 90
    noise: tuple = (1e-6, 1e-4, 1e-2)  # of heads that start nearly equal, in standard deviations of the weights
    noise_seeds: tuple = (0, 1, 2, 3, 4)
    exact_seeds: tuple = (0, 1)
    percents: tuple = (0, 1, GROWTH_FROM, 5, 9, 16, 28, 50, 75, 100)  # of the training, at which MIDDLE heads are looked at
    kept: tuple = (100, 90, 70, 50)  # percent of the heads
    cycle_steps: int = 300
    cycles: int = 4
    check_steps: int = 20
    check_documents: int = 100
    long_steps: int = 21600
    long_seed: int = 0  # also of the models of other than MIDDLE heads that are looked at along training
    stories: int = 40000
    documents: int = 200  # of the held-out and of the validation stories
    draws: int = 4  # of the noise in the input


FULL = Design({8: range(10), 1: range(10), 128: range(10), 2: range(5), 4: range(5), 16: range(5), 32: range(5)})
TINY = Design({8: range(2), 1: range(2), 128: range(2)}, steps=100, rows=1, rates=(0.001, 0.002), rate_steps=3, noise=(1e-2,), noise_seeds=(0, 1), exact_seeds=(0,),
              percents=(0, GROWTH_FROM, 100), kept=(100, 50), cycle_steps=4, cycles=1, check_steps=2, check_documents=2, long_steps=101, stories=120, documents=20, draws=1)

# kind: rate, random, equal, kept or long. noise: of kind equal. kept: percent of the heads, of kind kept. peak: learning rate of kind rate; others take the best.
Training = collections.namedtuple("Training", "name kind n_head seed steps noise kept peak", defaults=(None, None, None))


def random_start(n_head, seed):
    return f"h{n_head}-s{seed}"


def equal_start(noise, seed):
    return f"equal-{noise:g}-s{seed}"


def pruned(kept, seed):
    return f"kept-{kept}-s{seed}"


def long_training(n_head, seed):
    return f"long-h{n_head}-s{seed}"


def rate_trainings(design, n_head):
    return [Training(f"rate-h{n_head}-{peak:g}", "rate", n_head, design.rate_seed, design.rate_steps, peak=peak) for peak in design.rates]


def every_training(design):
    """In the order of training: first what the claims compare, seed by seed, so that what is done early is whole."""
    main = [n_head for n_head in design.seeds if n_head in (MIDDLE, NARROW, ONE)]
    trainings = [training for n_head in main for training in rate_trainings(design, n_head)]
    for seed in range(max(len(seeds) for seeds in design.seeds.values())):
        for n_head in main:
            if seed in design.seeds[n_head]:
                trainings.append(Training(random_start(n_head, seed), "random", n_head, seed, design.steps))
                if n_head == MIDDLE:
                    trainings += [Training(pruned(kept, seed), "kept", MIDDLE, seed, design.cycles * design.cycle_steps, kept=kept) for kept in design.kept]
        for noise, seeds in [(0.0, design.exact_seeds), *((noise, design.noise_seeds) for noise in design.noise)]:
            if seed in seeds:
                trainings.append(Training(equal_start(noise, seed), "equal", MIDDLE, seed, design.steps, noise=noise))
    for n_head in design.seeds:
        if n_head not in main:
            trainings += rate_trainings(design, n_head)
            trainings += [Training(random_start(n_head, seed), "random", n_head, seed, design.steps) for seed in design.seeds[n_head]]
    trainings += [Training(long_training(n_head, design.long_seed), "long", n_head, design.long_seed, design.long_steps) for n_head in design.seeds]
    return trainings


def looked_at(design, training):
    """Percents of the training after which Headscope looks at a model: along training where claim 14 asks, and of one seed of each number of heads."""
    if training.kind == "random" and (training.n_head == MIDDLE or training.seed == design.long_seed):
        return list(design.percents)
    return [100] if training.kind in ("random", "equal", "long") else []


def model_file(work, name, percent=100):
    return work / "models" / name / f"{percent:03d}.h5"


def run_folder(work, name, percent=100):
    return work / "runs" / f"{name}-{percent:03d}"
