"""The models of the study and where their files lie in the working folder."""

import collections

N_HEAD = [1, 2, 4, 8, 16, 32, 128]
SEEDS = [0, 1, 2, 3, 4]
MIDDLE = [4, 8, 16]  # the "middle number of heads" of claims 12 and 15, fixed before any model was trained
SERIES_HEADS = 8  # heads of the models that are looked at during training, start equal, or are pruned
STARTS = ["random", "equal"]
PERCENTS = [0, 1, 3, 10, 30, 100]
KEPT = [1.0, 0.9, 0.7, 0.5]  # share of heads kept
STEPS, LONG_STEPS = 500, 1200  # of 8 rows of 64 tokens
LONG_HEADS = [1, 8, 16, 128]  # heads of the models of the first seed that are also trained for longer

Model = collections.namedtuple("Model", "name n_head seed equal steps")


def random_start(n_head, seed):
    return f"h{n_head}-s{seed}"


def equal_start(seed):
    return f"equal-s{seed}"


def long_training(n_head, seed):
    return f"long-h{n_head}-s{seed}"


def started(start, seed):
    """The model of SERIES_HEADS heads that starts so."""
    return equal_start(seed) if start == "equal" else random_start(SERIES_HEADS, seed)


def every_model():
    """Models in the order of training, so that what is done early is whole."""
    models = []
    for seed in SEEDS:
        models += [Model(random_start(n_head, seed), n_head, seed, False, STEPS) for n_head in N_HEAD]
        models.append(Model(equal_start(seed), SERIES_HEADS, seed, True, STEPS))
        models += [Model(long_training(n_head, seed), n_head, seed, False, LONG_STEPS)
                   for n_head in LONG_HEADS if n_head == SERIES_HEADS or seed == SEEDS[0]]
    return models


def saved_at(model):
    """Percents of the training at which a model is saved."""
    return PERCENTS if model.n_head == SERIES_HEADS else PERCENTS[-1:]


def looked_at(model):
    """Percents of the training after which Headscope looks at a model."""
    return PERCENTS if model.name == long_training(SERIES_HEADS, model.seed) else PERCENTS[-1:]


def model_file(work, name, percent=100):
    return work / "models" / name / f"{percent:03d}.h5"


def run_folder(work, name, percent=100):
    return work / "runs" / f"{name}-{percent:03d}"


def pruned_name(seed, kept):
    return f"s{seed}-{round(100 * kept)}"


def pruned_file(work, seed, kept):
    if kept == 1:
        return model_file(work, long_training(SERIES_HEADS, seed))
    return work / "pruned" / f"{pruned_name(seed, kept)}.h5"
