"""Results files with the digest of a whole file and contents that no program writes."""

import h5py
import numpy

from hostile_inputs import ESCAPE, sign

TEXTS = ["", "a b", ESCAPE, "<script>alert(1)</script>", "=1+1", "x" * 100_000, "layer", "../../a", "\n\n", "L99H99"]
NUMBERS = [float("nan"), float("inf"), -float("inf"), -1, 0, 1e308, 2.0**53, 2.0**62]


def datasets_of(file):
    names = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return sorted(names)


def is_text(dataset):
    return h5py.check_string_dtype(dataset.dtype) is not None


def change_elements(rng, file, name):
    """Text becomes another text, a number another number, in one element or all."""
    values = numpy.atleast_1d(file[name][()])
    if values.size == 0 or values.dtype.kind not in "fiuO":
        return
    new = rng.choice(TEXTS) if is_text(file[name]) else rng.choice(NUMBERS)
    if values.dtype.kind in "iu":
        new = rng.choice([0, 1, 3, 127])
    places = slice(None) if rng.random() < 0.4 else rng.randrange(values.size)
    values.flat[places] = new
    file[name][...] = values.reshape(file[name].shape)


def replace(rng, file, name):
    """A dataset of the same name has another shape or type."""
    shape = file[name].shape
    del file[name]
    file[name] = rng.choice([numpy.zeros(()), numpy.zeros((0,)), numpy.zeros((*shape, 2)), numpy.zeros(tuple(n + 1 for n in shape)),
                             numpy.zeros(shape, "i8") - 1, numpy.full(shape, 3, "u1"), numpy.zeros(shape, "c8"),
                             numpy.array("x" * 10, "O")])


def remove(rng, file, name):
    del file[name]


def move(rng, file, name):
    file.move(name, f"{name.rpartition('/')[0]}/{rng.choice(['other', 'layer', 'ordering', 'x' * 3000])}{rng.randrange(100)}")


def link(rng, file, name):
    del file[name]
    file[name] = rng.choice([h5py.SoftLink("/nowhere"), h5py.SoftLink("/" + name.split("/")[0]), h5py.SoftLink("/" + name),
                             h5py.ExternalLink("/etc/passwd", "/"), h5py.ExternalLink("results.h5", "/")])


def change_attribute(rng, file, name):
    """Of the file, a group or a dataset."""
    item = file[rng.choice(["/", name.split("/")[0], name])]
    names = [key for key in sorted(item.attrs) if key not in ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME")]
    if not names:
        return
    key = rng.choice(names)
    del item.attrs[key]
    if rng.random() < 0.8:
        item.attrs[key] = rng.choice([*TEXTS, *NUMBERS, -1, 2**62, [], ["a", "a"], [name], ["layer", "\u202e"], [1.0, 2.0]])


def leave_out(rng, file, name):
    """The group no longer says that it has the variable, nor other variables after it."""
    attributes = file[name.split("/")[0]].attrs
    names = list(attributes["variables"])
    attributes["variables"] = names[:rng.randrange(1, len(names))]


CHANGES = [change_elements] * 4 + [replace, remove, move, link] + [change_attribute] * 2 + [leave_out] * 3


def forge(rng, path):
    """Change a results file in one to three places. @return what was changed"""
    made = []
    with h5py.File(path, "r+") as file:
        for _ in range(rng.randrange(1, 4)):
            name, change = rng.choice(datasets_of(file)), rng.choice(CHANGES)
            try:
                change(rng, file, name)
            except (KeyError, ValueError, OSError, RuntimeError, TypeError):
                continue  # h5py cannot make this change
            made.append(f"{change.__name__} {name}")
    sign(path)
    return ", ".join(made)
