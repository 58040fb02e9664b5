"""How a golden HDF5 file is written: its header, and its datasets."""

from pathlib import Path

import h5py
import numpy
import torch
import transformers

FOLDER = Path(__file__).parent


def create(name, seed, description):
    """Open a new golden file that says what it is and what made it."""
    file = h5py.File(FOLDER / name, "w", libver=("v108", "v108"))
    file.attrs["description"] = description
    file.attrs.update(provenance(seed))
    return file


def provenance(seed):
    """Root attributes: the seed and the versions."""
    modules = (h5py, numpy, torch, transformers)
    return {"seed": seed} | {module.__name__: str(module.__version__) for module in modules}


def put(group, name, value):
    """Write a tensor as it is typed, compressed where that saves space."""
    array = value.detach().numpy() if torch.is_tensor(value) else numpy.asarray(value)
    compression = {"compression": "gzip", "shuffle": True} if array.nbytes > 4000 else {}
    group.create_dataset(name, data=array, track_times=False, **compression)
