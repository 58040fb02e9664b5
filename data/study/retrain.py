"""Retrain a model of the study without some of its heads, until its loss is that of the whole model before retraining.

    python3 retrain.py --model models/h8-s0/100.h5 --remove L0H1 L2H3 --stories stories.npy --documents validation.npy --rate 1e-3 --seed 0 --first-step 3000 --output models/kept-90-s0

The removed heads' z are held at zero. Training goes in cycles: rate up over 60 steps, down to zero along a cosine. Every --check-steps the
loss on the first documents is compared with the whole model's, and training stops as soon as it is no higher. Writes
--output/100.h5 (the removed heads' rows of W_O are zero) and --output/record.h5, whose attributes say whether the loss was reached. A killed
retraining begins again.

Needs what train_family.py needs.
"""

import argparse
import os
import pathlib
import re
import time

import h5py
import torch

from train_family import CONFIG, HERE, Optimizer, Stories, document_loss, documents_of, loss_of, rate, read_weights, write_model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=pathlib.Path, required=True, help="the whole model")
    parser.add_argument("--remove", nargs="*", default=[], help="heads such as L0H1; none: the whole model is retrained")
    parser.add_argument("--stories", type=pathlib.Path, required=True)
    parser.add_argument("--tokenizer", type=pathlib.Path, default=HERE.parent / "tokenizer")
    parser.add_argument("--documents", type=pathlib.Path, required=True, help="documents of which the first --check-documents decide when to stop")
    parser.add_argument("--check-documents", type=int, default=100)
    parser.add_argument("--rate", type=float, required=True, help="peak of the learning rate")
    parser.add_argument("--seed", type=int, required=True, help="of the order of the stories")
    parser.add_argument("--first-step", type=int, required=True, help="step of that order to begin with")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--cycle-steps", type=int, default=300)
    parser.add_argument("--cycles", type=int, default=4)
    parser.add_argument("--check-steps", type=int, default=20)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder to write")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    started = time.process_time()
    stories = Stories(arguments.stories, arguments.seed, arguments.rows)
    documents = documents_of(arguments.documents)[: arguments.check_documents]
    weights = {name: value.requires_grad_() for name, value in read_weights(arguments.model).items()}
    with h5py.File(arguments.model) as file:
        n_head = int(file.attrs["n_head"])
    kept = torch.ones(CONFIG["n_layer"], n_head, CONFIG["n_embd"] // n_head)
    for head in arguments.remove:
        layer, number = map(int, re.fullmatch(r"L(\d+)H(\d+)", head).groups())
        kept[layer, number] = 0
    kept = kept.flatten(1)

    wanted = document_loss(weights, n_head, documents)
    reached, step = False, 0
    while step < arguments.cycles * arguments.cycle_steps and not reached:
        if step % arguments.cycle_steps == 0:
            optimizer = Optimizer(weights, arguments.rate)
        loss = loss_of(weights, n_head, *stories.batch(arguments.first_step + step, "cpu"), kept=kept)
        optimizer.step(loss, rate(step % arguments.cycle_steps, arguments.cycle_steps))
        step += 1
        if step % arguments.check_steps == 0:
            checked = document_loss(weights, n_head, documents, kept)
            reached = checked <= wanted
            print(f"{arguments.output.name}  step {step}  loss {checked:.4f}, wanted {wanted:.4f}", flush=True)

    with torch.no_grad():
        for i in range(CONFIG["n_layer"]):
            weights[f"h.{i}.attn.c_proj.weight"] *= kept[i][:, None]
    arguments.output.mkdir(parents=True, exist_ok=True)
    write_model(arguments.output / "100.h5", weights, n_head, arguments.tokenizer, {"training_steps": step, "training_seed": arguments.seed})
    with h5py.File(arguments.output / "record.partial", "w") as file:
        file.attrs.update({"n_head": n_head, "seed": arguments.seed, "peak_rate": arguments.rate, "steps": step, "seconds": time.process_time() - started,
                           "tokens": step * arguments.rows * CONFIG["n_positions"], "pytorch_version": str(torch.__version__), "device": "cpu",
                           "reached": int(reached), "removed": " ".join(arguments.remove), "check_loss": document_loss(weights, n_head, documents),
                           "whole_check_loss": wanted})
    os.replace(arguments.output / "record.partial", arguments.output / "record.h5")


if __name__ == "__main__":
    main()
