"""forward_golden.h5: Hugging Face's GPT-2 in double precision, step by step."""

import torch

import golden_file
import tiny_model
from make_models import config_variants

LENGTHS = [1, 6, 13, 32]
LONGEST_IN_FULL = 13  # longer documents keep only the residual stream, the logits and the losses


def main():
    documents = tiny_model.documents(LENGTHS, tiny_model.SEED + 1)
    with golden_file.create("forward_golden.h5", tiny_model.SEED,
                            "GPT-2 forward pass of the tiny model in float64, Hugging Face eager") as file:
        file.attrs.update(tiny_model.SHAPE)
        gpt2 = tiny_model.model(torch.float64)
        losses = []
        for index, tokens in enumerate(documents):
            group = file.create_group(f"documents/{index}")
            golden_file.put(group, "tokens", tokens)
            values = tiny_model.ladder(gpt2, tokens)
            for name, value in values.items():
                if len(tokens) <= LONGEST_IN_FULL or name in ("resid_pre", "resid_final", "logits"):
                    golden_file.put(group, name, value)
            losses.append(put_losses(group, values["logits"], tokens))
        golden_file.put(file, "loss", torch.cat(losses).mean())

        untied = tiny_model.model(torch.float64, tie_word_embeddings=False)
        variants = {name: (tiny_model.model(torch.float64, **changes), 0.0)
                    for name, changes in config_variants().items()}
        variants["untied"] = (untied, 0.0)
        variants["untied_bias"] = (untied, tiny_model.random_weights()["lm_head.bias"].double())
        variants["pruned"] = (tiny_model.pruned_model(torch.float64), 0.0)
        for name, (gpt2, lm_head_bias) in variants.items():
            put_variant(file.create_group(f"variants/{name}"), gpt2, lm_head_bias, documents)


@torch.no_grad()
def put_variant(variant, gpt2, lm_head_bias, documents):
    losses = []
    for index, tokens in enumerate(documents):
        group = variant.create_group(str(index))
        logits = gpt2(tokens[None]).logits[0] + lm_head_bias
        if len(tokens) <= LONGEST_IN_FULL:
            golden_file.put(group, "logits", logits)
        losses.append(put_losses(group, logits, tokens))
    golden_file.put(variant, "loss", torch.cat(losses).mean())


def put_losses(group, logits, tokens):
    """A document of one token predicts nothing and gets no loss."""
    nll = tiny_model.token_losses(logits, tokens)
    if len(nll):
        golden_file.put(group, "nll", nll)
        golden_file.put(group, "loss", nll.mean())
    return nll
