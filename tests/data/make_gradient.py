"""gradient_golden.h5: autograd's gradients of the loss by each head's z, and losses with heads masked, one full pass each.

Heads are masked where their values enter the output projection (the input of c_proj).
A document's loss is the mean over its predicted tokens; a corpus loss is the mean over the
predicted tokens of all documents, each token counted once.
"""

import contextlib

import numpy
import torch

import golden_file
import tiny_model

LENGTHS = [2, 9, 20, 20]
DONORS = [1, 2, 3, 2]  # the document that each document's resampled z comes from; never a shorter one
N_SETS = 6
N_LAYER, N_HEAD = tiny_model.SHAPE["n_layer"], tiny_model.SHAPE["n_head"]
D_HEAD = tiny_model.SHAPE["n_embd"] // N_HEAD


def main():
    gpt2 = tiny_model.model(torch.float64)
    documents = half_predictable_documents(gpt2)
    n_predicted = torch.tensor(LENGTHS) - 1
    weight = n_predicted / n_predicted.sum()

    with golden_file.create("gradient_golden.h5", tiny_model.SEED,
                            "head importance and masked-head losses of the tiny model in float64") as file:
        z, products = [], []
        for index, tokens in enumerate(documents):
            values = gradients(gpt2, tokens)
            group = file.create_group(f"documents/{index}")
            golden_file.put(group, "tokens", tokens)
            for name, value in values.items():
                golden_file.put(group, name, value)
            z.append(values["z"])
            products.append((values["z"] * values["grad_z"]).sum(-1))  # [layer, token, head]

        importance = file.create_group("importance")
        golden_file.put(importance, "per_token", torch.stack([p.abs().sum(1) for p in products]).mean(0))
        golden_file.put(importance, "per_example", torch.stack([p.sum(1).abs() for p in products]).mean(0))
        golden_file.put(importance, "signed", torch.stack([-p.sum(1) for p in products]).mean(0))

        mean_z = torch.cat(z, dim=1).mean(1)  # [layer, head, d_head]
        golden_file.put(file, "mean_z", mean_z)
        golden_file.put(file, "n_predicted", n_predicted)
        golden_file.put(file, "donor", torch.tensor(DONORS))
        sets = distinct_sets()
        golden_file.put(file, "set_zeroed", sets)

        def put_losses(name, shape, edits):
            """edits(index) -> document number -> replacement function of (layer, z)."""
            losses, correct = [], []
            for index in numpy.ndindex(*shape):
                passes = [masked_pass(gpt2, tokens, edits(index)(number)) for number, tokens in enumerate(documents)]
                losses.append([p[0] for p in passes])
                correct.append([p[1] for p in passes])
            losses = torch.tensor(losses, dtype=torch.float64).reshape(*shape, len(documents))
            correct = torch.tensor(correct, dtype=torch.float64).reshape(*shape, len(documents))
            golden_file.put(file, f"loss_{name}_document", losses)
            golden_file.put(file, f"loss_{name}", losses @ weight.double())
            golden_file.put(file, f"accuracy_{name}", correct @ weight.double())

        per_head = (N_LAYER, N_HEAD)
        put_losses("baseline", (), lambda _: lambda number: keep)
        put_losses("zero", per_head, lambda lh: lambda number: replace(lh, 0.0))
        put_losses("mean", per_head, lambda lh: lambda number: replace(lh, mean_z[lh]))
        put_losses("resample", per_head, lambda lh: lambda number:
                   replace(lh, z[DONORS[number]][lh[0], :LENGTHS[number], lh[1]]))
        put_losses("all_but_one", per_head, lambda lh: lambda number: zero_others(*lh))
        put_losses("set", (N_SETS,), lambda s: lambda number: zero_set(sets[s]))


@torch.no_grad()
def half_predictable_documents(gpt2):
    """Random tokens, about half of them the model's own predictions, so that accuracy is not near zero."""
    documents = tiny_model.documents(LENGTHS, tiny_model.SEED + 2)
    generator = numpy.random.default_rng(tiny_model.SEED + 3)
    for tokens in documents:
        for position in range(1, len(tokens)):
            if generator.random() < 0.5:
                tokens[position] = gpt2(tokens[None, :position]).logits[0, -1].argmax()
    return documents


def distinct_sets():
    """Which heads each of N_SETS different sets zeroes, [set, layer, head]."""
    n_unit = N_LAYER * N_HEAD
    codes = numpy.random.default_rng(tiny_model.SEED + 4).choice(2 ** n_unit - 1, N_SETS, replace=False) + 1
    return ((codes[:, None] >> numpy.arange(n_unit)) & 1).astype(numpy.uint8).reshape(N_SETS, N_LAYER, N_HEAD)


def gradients(gpt2, tokens):
    """z and the gradients of the document's mean loss; z is [layer, token, head, d_head]."""
    z, resid = [], []
    with contextlib.ExitStack() as hooks:
        for block in gpt2.transformer.h:
            hooks.callback(block.ln_1.register_forward_pre_hook(lambda _, inputs: resid.append(inputs[0])).remove)
            hooks.callback(block.attn.c_proj.register_forward_pre_hook(lambda _, inputs: z.append(inputs[0])).remove)
        loss = tiny_model.token_losses(gpt2(tokens[None]).logits[0], tokens).mean()
    grads = torch.autograd.grad(loss, z + resid)
    by_head = (N_LAYER, len(tokens), N_HEAD, D_HEAD)
    return {"loss": loss.detach(),
            "z": torch.cat(z).reshape(by_head).detach(),
            "grad_z": torch.cat(grads[:N_LAYER]).reshape(by_head),
            "grad_resid_pre": torch.cat(grads[N_LAYER:])}


@torch.no_grad()
def masked_pass(gpt2, tokens, edit):
    """Mean loss and next-token accuracy with z of every layer passed through edit(layer, z)."""
    def hook(layer):
        def change(_, inputs):
            z = inputs[0].reshape(len(tokens), N_HEAD, D_HEAD).clone()
            return (edit(layer, z).reshape(1, len(tokens), -1),)
        return change

    with contextlib.ExitStack() as hooks:
        for layer, block in enumerate(gpt2.transformer.h):
            hooks.callback(block.attn.c_proj.register_forward_pre_hook(hook(layer)).remove)
        logits = gpt2(tokens[None]).logits[0]
    accuracy = (logits[:-1].argmax(-1) == tokens[1:]).double().mean()
    return tiny_model.token_losses(logits, tokens).mean(), accuracy


def keep(layer, z):
    return z


def replace(layer_head, value):
    def edit(layer, z):
        if layer == layer_head[0]:
            z[:, layer_head[1]] = value
        return z
    return edit


def zero_others(kept_layer, kept_head):
    def edit(layer, z):
        if layer == kept_layer:
            z[:, [h for h in range(N_HEAD) if h != kept_head]] = 0.0
        return z
    return edit


def zero_set(zeroed):
    def edit(layer, z):
        z[:, zeroed[layer].astype(bool)] = 0.0
        return z
    return edit
