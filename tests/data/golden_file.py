"""Write golden HDF5 files: their root attributes and datasets."""

from pathlib import Path

import h5py
import numpy
import torch
import transformers

FOLDER = Path(__file__).parent


def create(name, seed, description):
    """Open a new golden file with its description, seed and versions."""
    file = h5py.File(FOLDER / name, "w", libver=("v108", "v108"))
    file.attrs["description"] = description
    file.attrs.update(provenance(seed))
    return file


def provenance(seed):
    """Root attributes: the seed and the versions of the programs."""
    modules = (h5py, numpy, torch, transformers)
    return {"seed": seed} | {module.__name__: str(module.__version__) for module in modules}


def put(group, name, value):
    """Write a tensor in its own type, compressed if that saves space."""
    array = value.detach().numpy() if torch.is_tensor(value) else numpy.asarray(value)
    compression = {"compression": "gzip", "shuffle": True} if array.nbytes > 4000 else {}
    group.create_dataset(name, data=array, track_times=False, **compression)
