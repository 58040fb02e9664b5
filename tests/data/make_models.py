"""The model files: one set of weights in every format and layout that Headscope reads."""

import os
import shutil

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import h5py
import numpy
import torch
from transformers import TFGPT2LMHeadModel

import tiny_model
from golden_file import FOLDER, provenance


def save(model, folder):
    """Write what `save_pretrained` writes, without the text-generation settings."""
    shutil.rmtree(FOLDER / folder, ignore_errors=True)
    model.save_pretrained(FOLDER / folder)
    (FOLDER / folder / "generation_config.json").unlink(missing_ok=True)


def make_safetensors():
    save(tiny_model.model(), "tiny_safetensors")
    for name, changes in config_variants().items():
        tiny_model.config(architectures=["GPT2LMHeadModel"], **changes).to_json_file(
            FOLDER / "tiny_safetensors" / f"config_{name}.json")
    save(tiny_model.model(tie_word_embeddings=False), "tiny_safetensors_untied")
    save(tiny_model.model(torch.float16), "tiny_safetensors_float16")
    save(tiny_model.model(torch.bfloat16), "tiny_safetensors_bfloat16")
    save(tiny_model.pruned_model(), "tiny_safetensors_pruned")


def config_variants():
    """Other configs for the same weights; forward_golden.h5 has the logits of each."""
    activations = {name: {"activation_function": name} for name in ("gelu", "relu", "silu", "quick_gelu")}
    return {**activations, "unscaled": {"scale_attn_weights": False}, "epsilon": {"layer_norm_epsilon": 0.01}}


def make_tensorflow():
    """Convert by Hugging Face's own PyTorch-to-TensorFlow conversion; both models must compute the same."""
    reference = tiny_model.model()
    tensorflow_model = TFGPT2LMHeadModel.from_pretrained(FOLDER / "tiny_safetensors", from_pt=True)
    tokens = tiny_model.documents([20], tiny_model.SEED)[0][None]
    # float32 in both; small logits are differences of larger numbers.
    numpy.testing.assert_allclose(tensorflow_model(tokens.numpy()).logits.numpy(),
                                  reference(tokens).logits.detach().numpy(), rtol=1e-4, atol=1e-4)
    save(tensorflow_model, "tiny_tf")
    make_published_layout()


def make_published_layout():
    """Group names as in the published tf_model.h5 of GPT-2: another root group, and wte/weight."""
    with h5py.File(FOLDER / "tiny_tf" / "tf_model.h5") as source, \
            h5py.File(FOLDER / "tiny_tf" / "tf_model_published_layout.h5", "w") as target:
        target.attrs.update(source.attrs)
        names = []

        def copy(path, item):
            if isinstance(item, h5py.Dataset):
                name = path.split("/", 2)[2].replace("wte/embeddings:0", "wte/weight:0")
                names.append("tfgp_t2lm_head_model_1/transformer/" + name)
                target.create_dataset("transformer/" + names[-1], data=item[()], track_times=False)

        source["transformer"].visititems(lambda path, item: copy("transformer/" + path, item))
        target["transformer"].attrs["weight_names"] = numpy.array([n.encode() for n in names])


def make_flat():
    """Flat HDF5 with state-dict names, and the config as root attributes."""
    weights = {name: tensor.numpy() for name, tensor in tiny_model.random_weights().items()}
    lm_head = {name: weights.pop(name) for name in ("lm_head.weight", "lm_head.bias")}
    body = {name.removeprefix("transformer."): values for name, values in weights.items()}
    shutil.rmtree(FOLDER / "tiny_flat", ignore_errors=True)
    (FOLDER / "tiny_flat").mkdir()

    write_flat("float16.h5", body, dtype="<f2")
    write_flat("float64.h5", body, dtype="<f8", compressed=True)
    write_flat("big_endian.h5", body, dtype=">f4")
    write_flat("chunked.h5", body, compressed=True)
    write_flat("untied_bias.h5", {**body, **lm_head})
    write_flat("attention_only.h5", {name: values for name, values in body.items()
                                     if name != "wte.weight" and not (".mlp." in name and name.endswith("weight"))})
    # As in old state dicts: a prefix, and the causal mask among the weights. No config.
    n = tiny_model.SHAPE["n_positions"]
    masks = {}
    for layer in range(tiny_model.SHAPE["n_layer"]):
        masks[f"transformer.h.{layer}.attn.bias"] = numpy.tri(n, dtype=bool).reshape(1, 1, n, n)
        masks[f"transformer.h.{layer}.attn.masked_bias"] = numpy.float32(-10000.0)
    write_flat("prefixed.h5", {**weights, **masks}, with_config=False)


def write_flat(name, tensors, dtype=None, with_config=True, compressed=False):
    """`compressed` cuts every matrix into chunks that do not divide it evenly."""
    with h5py.File(FOLDER / "tiny_flat" / name, "w") as file:
        file.attrs.update(provenance(tiny_model.SEED))
        if with_config:
            file.attrs.update(tiny_model.SHAPE)
            file.attrs["layer_norm_epsilon"] = 1e-5
            file.attrs["activation_function"] = "gelu_new"
        for tensor_name, values in tensors.items():
            storage = {}
            if compressed and values.ndim == 2:
                storage = dict(chunks=tuple(2 * n // 3 for n in values.shape), compression="gzip", shuffle=True)
            file.create_dataset(tensor_name, data=values, dtype=dtype, track_times=False, **storage)


def main():
    make_safetensors()
    make_tensorflow()
    make_flat()
