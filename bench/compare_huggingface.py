#!/usr/bin/env python3
"""Headscope against Hugging Face (and TransformerLens), on the same weights, tokens and threads, in one run.

    python3 bench/compare_huggingface.py --headscope build-bench/bench/bench_compare --output comparison

needs torch and transformers 4.x or 5.x (measured with torch 2.13.0, transformers 4.57.6 and 5.23.0), and
for `--transformerlens PYTHON` an interpreter with transformer_lens 2.16.1 beside them. It makes a model of GPT-2 small's
shape with random weights, measures every case of every program alternately for several rounds, each in its own process,
checks that all computed the same numbers, and writes a table of ratios (peer's time / Headscope's) as Markdown
and every measurement as JSON. Exit 1 if numbers differ. With `--model FOLDER --tokens FILE` it takes a model of the hub (any
architecture that Headscope reads, model.safetensors) and its tokens instead; attention_patterns is for GPT-2 alone.

Cases
    forward_patterns    loss of one document and the attention patterns of all heads (Hugging Face: eager, output_attentions)
    attention_patterns  z and patterns of all layers from given q, k, v: QK', mask, softmax, AV, no projections
    zero_ablation_all   the loss without each head in turn. Peer: a full forward pass per head with a hook, measured for
                        some heads and extrapolated to all; its attention is scaled-dot-product, the faster one. Also by
                        Headscope's precisions high and fast, and by the peer in bfloat16 (autocast, tuned), with the error
                        of the loss increases against Headscope's float32
    importance          |z . dloss/dz| of all heads by one backward pass
importance also by Headscope's precision high, whose gradient multiplies weights by three bfloat16 products.

Settings of the peer
    as installed        only the number of threads is set
    tuned               threads pinned, and an allocator that gives no memory back to the system: the preloaded
                        library (--preload, such as jemalloc), else glibc with mmap and trimming off and huge pages on

The Headscope side is a program called once per case as

    PROGRAM --model FILE.safetensors --tokens FILE.json --case CASE --precision NAME --threads N --runs N

(config.json lies beside the model; the tokens file is {"tokens": [...]}, one document, taken as it is), which prints one
line of JSON to stdout, with arrays as [layer][head]:

    {"case": ..., "seconds": [one per run], "peak_rss_mb": ..., "versions": "optional text",
     forward_patterns:    "loss", "pattern_square_sum"   (sum over queries and keys of the squared pattern)
     attention_patterns:  "pattern_square_sum", "z_square_sum"
     zero_ablation_all:   "loss_baseline", "loss"
     importance:          "loss", "importance_per_token", "importance_signed"}

Peak memory is the whole process for Headscope; for a peer it is counted after the model has been loaded.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile

CASES = ("forward_patterns", "attention_patterns", "zero_ablation_all", "importance")
PRECISIONS = {"forward_patterns": ("float32",), "attention_patterns": ("float32",),
              "zero_ablation_all": ("float32", "high", "fast"), "importance": ("float32", "high")}
GLIBC_KEEPS_MEMORY = ("glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:"
                      "glibc.malloc.top_pad=268435456:glibc.malloc.hugetlb=1")
PEER = pathlib.Path(__file__).with_name("compare_peer.py")


def run_json(command, environment=None):
    """The last line that a program prints, as JSON; its complaints go where ours go."""
    finished = subprocess.run([str(part) for part in command], env={**os.environ, **(environment or {})},
                              stdout=subprocess.PIPE, text=True, check=False)
    lines = finished.stdout.strip().splitlines()
    if finished.returncode or not lines:
        sys.exit(f"{shlex.join(map(str, command))}: exit code {finished.returncode}, no measurement")
    return json.loads(lines[-1])


def headscope_side(precision):
    return "Headscope" if precision == "float32" else f"Headscope, {precision}"


def settings(options):
    tuned = {"OMP_NUM_THREADS": str(options.threads), "OMP_PROC_BIND": "close", "OMP_PLACES": "threads"}
    if options.preload:
        tuned |= {"LD_PRELOAD": options.preload, "MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1,thp:always"}
    else:
        tuned |= {"GLIBC_TUNABLES": GLIBC_KEEPS_MEMORY}
    return {"as installed": {}, "tuned": tuned}


def measure(options, folder):
    """{(side, case): [one measurement per round]}; sides take turns, so that a slow minute hits all of them."""
    peers = [("Hugging Face", "huggingface", sys.executable)]
    if options.transformerlens:
        peers.append(("TransformerLens", "transformerlens", options.transformerlens))
    found = {}

    def add(side, case, measurement):
        found.setdefault((side, case), []).append(measurement)
        seconds = ", ".join(f"{s:.4g}" for s in measurement["seconds"])
        print(f"{case:20s} {side:32s} {seconds} s", file=sys.stderr, flush=True)

    for _ in range(options.rounds):
        for case in options.cases:
            if options.headscope:
                runs = options.runs if case != "zero_ablation_all" else 1
                for precision in PRECISIONS[case]:
                    add(headscope_side(precision), case, run_json(
                        [options.headscope, "--model", folder / "model.safetensors", "--tokens", folder / "tokens.json",
                         "--case", case, "--precision", precision, "--threads", options.threads, "--runs", runs]))
            if case == "zero_ablation_all":
                add("Hugging Face, bfloat16", case, run_json(
                    [sys.executable, PEER, "--folder", folder, "--case", case, "--attention", options.hook_attention, "--autocast",
                     "--threads", options.threads, "--heads", options.heads], settings(options)["tuned"]))
            for name, peer, python in peers:
                if peer == "transformerlens" and case == "attention_patterns":
                    continue
                attention = "eager" if case in ("forward_patterns", "attention_patterns") else options.hook_attention
                for setting, environment in settings(options).items():
                    add(f"{name}, {setting}", case, run_json(
                        [python, PEER, "--folder", folder, "--peer", peer, "--case", case, "--attention", attention,
                         "--threads", options.threads, "--runs", options.runs, "--heads", options.heads], environment))
    return found


def flatten(values):
    return [x for value in values for x in flatten(value)] if isinstance(values, list) else [values]


def relative_difference(ours, theirs, scale=None):
    """Largest |ours - theirs| / scale, scale being |theirs| unless given."""
    ours, theirs = flatten(ours), flatten(theirs)
    if len(ours) != len(theirs):
        return float("inf")
    scale = [abs(x) for x in theirs] if scale is None else flatten(scale)
    return max(abs(a - b) / s if s else float(a != b) for a, b, s in zip(ours, theirs, scale))


def differences(case, ours, theirs):
    """[(what, relative difference, tolerance)] of one case between Headscope and a peer."""
    if case == "forward_patterns":
        return [(name, relative_difference(ours[name], theirs[name]), 1e-4) for name in ("loss", "pattern_square_sum")]
    if case == "attention_patterns":
        return [(name, relative_difference(ours[name], theirs[name]), 1e-4) for name in ("pattern_square_sum", "z_square_sum")]
    if case == "importance":
        # Signed sums cancel, so the float32 error is relative to the sum of absolute values.
        per_token = theirs["importance_per_token"]
        return [("loss", relative_difference(ours["loss"], theirs["loss"]), 1e-4),
                ("importance_per_token", relative_difference(ours["importance_per_token"], per_token), 1e-4),
                ("importance_signed", relative_difference(ours["importance_signed"], theirs["importance_signed"], per_token), 1e-4)]
    losses = [ours["loss"][layer][head] for layer, head in theirs["measured_heads"]]
    increases = [loss - ours["loss_baseline"] for loss in losses]
    expected = [loss - theirs["loss_baseline"] for loss in theirs["loss"]]
    # One head changes the loss little, so losses agree easily. The increases must agree too, up to the float32
    # rounding of a loss relative to a typical increase.
    typical = statistics.fmean(abs(x) for x in expected)
    return [("loss_baseline", relative_difference(ours["loss_baseline"], theirs["loss_baseline"]), 1e-4),
            ("loss", relative_difference(losses, theirs["loss"]), 1e-4),
            ("loss increase", relative_difference(increases, expected, [typical] * len(expected)), 1e-2)]


def median_seconds(measurement):
    return statistics.median(measurement["seconds"])


def ratio_cell(found, peer_key, own_key):
    """Median over rounds of the ratio of medians, and its range."""
    ratios = [median_seconds(p) / median_seconds(h) for p, h in zip(found[peer_key], found[own_key])]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def table(found):
    lines = ["| case | peer | peer, s | Headscope | s | ratio (range over rounds) | peer's peak, MB | Headscope's peak, MB |",
             "|---|---|--:|---|--:|--:|--:|--:|"]
    sides = list(dict.fromkeys(side for side, _ in found if side.endswith(("as installed", "tuned"))))
    rows = [(case, side, case, precision) for case in CASES for precision in PRECISIONS[case] for side in sides
            if case != "zero_ablation_all" or precision == "float32"]  # the rest is in a table of its own
    rows += [("zero_ablation_all", side, "importance", "float32") for side in sides]
    for peer_case, side, own_case, precision in rows:
        own_side = headscope_side(precision)
        theirs, own = found.get((side, peer_case)), found.get((own_side, own_case))
        if not theirs or (not own and peer_case != own_case):
            continue
        name = peer_case if peer_case == own_case else "importance, against the peer's ablation of every head"
        cells = [name, side, f"{statistics.median(map(median_seconds, theirs)):.4g}"]
        cells += [precision, f"{statistics.median(map(median_seconds, own)):.4g}",
                  ratio_cell(found, (side, peer_case), (own_side, own_case))] if own else ["–", "–", "–"]
        cells += [f"{max(m['peak_rss_mb'] for m in theirs):.0f}", f"{max(m['peak_rss_mb'] for m in own):.0f}" if own else "–"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def increases(measurement, heads):
    """Loss increases of some heads; a peer's losses are those of its measured heads."""
    if "measured_heads" in measurement:
        losses = measurement["loss"]
    else:
        losses = [measurement["loss"][layer][head] for layer, head in heads]
    return [loss - measurement["loss_baseline"] for loss in losses]


def precision_table(found):
    """Zero ablation by precision: speed against the tuned peer in float32, and the error of the loss increases."""
    case = "zero_ablation_all"
    exact, peer = found.get(("Headscope", case)), found.get(("Hugging Face, tuned", case))
    if not exact or not peer:
        return ""
    lines = ["| zero ablation of all heads | engine | s | ratio to Hugging Face, tuned (range) | median relative error | largest error / typical increase |",
             "|---|---|--:|--:|--:|--:|"]
    every_head = [(layer, head) for layer, row in enumerate(exact[0]["loss"]) for head in range(len(row))]
    for (side, of_case), measured in found.items():
        if of_case != case or side.startswith("TransformerLens"):
            continue
        heads = measured[0].get("measured_heads", every_head)
        errors = [abs(a - b) for a, b in zip(increases(measured[0], heads), increases(exact[0], heads))]
        sizes = [abs(x) for x in increases(exact[0], heads)]
        relative = statistics.median(e / s for e, s in zip(errors, sizes))
        lines.append("| " + " | ".join([
            side, measured[0].get("engine", "–"), f"{statistics.median(map(median_seconds, measured)):.4g}",
            ratio_cell(found, ("Hugging Face, tuned", case), (side, case)),
            f"{relative:.1e}", f"{max(errors) / statistics.median(sizes):.1e}"]) + " |")
    return "\n".join(lines)


def equality(found):
    """Markdown list of the largest difference per number, and whether all are within tolerance."""
    lines, equal = [], True
    for (side, case), measurements in found.items():
        if not side.endswith(("as installed", "tuned")):
            continue
        for precision in PRECISIONS[case]:
            own = found.get((headscope_side(precision), case))
            if not own or (case == "zero_ablation_all" and precision != "float32"):  # whose errors have a table
                continue
            for what, difference, tolerance in differences(case, own[0], measurements[0]):
                within = difference <= tolerance
                equal &= within
                lines.append(f"- {case}, {precision}, {side}: {what} differs by {difference:.1e} (tolerance {tolerance:g})"
                             f"{'' if within else ' **too much**'}")
    return "\n".join(lines), equal


def versions_of(found):
    return sorted({m["versions"] for ms in found.values() for m in ms if m.get("versions")})


def processor():
    return next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")), platform.machine())


def shape(options):
    """Of the model and its document, in words."""
    if options.model:
        return f"{options.model.resolve().name}, {len(json.loads(options.tokens.read_text())['tokens'])} tokens"
    return (f"n_layer {options.n_layer}, n_head {options.n_head}, d_model {options.d_model}, d_vocab {options.d_vocab}, "
            f"{options.n_token} tokens")


def prepare(options, folder):
    """The model and tokens that are measured, in `folder`."""
    if options.model:
        for name in ("config.json", "model.safetensors"):
            (folder / name).symlink_to((options.model / name).resolve(strict=True))
        (folder / "tokens.json").symlink_to(options.tokens.resolve(strict=True))
        return
    arguments = [part for name in ("n_layer", "n_head", "d_model", "n_token", "d_vocab", "seed")
                 for part in (f"--{name.replace('_', '-')}", str(getattr(options, name)))]
    subprocess.run([sys.executable, PEER, "--prepare", "--folder", folder, *arguments], check=True)


def report(options, found):
    versions = versions_of(found)
    measured = next((ms[0] for (side, case), ms in found.items() if case == "zero_ablation_all" and not side.startswith("Headscope")), None)
    differences_list, equal = equality(found)
    text = [f"{shape(options)}, float32, {options.threads} threads, {processor()}; {options.rounds} rounds of {options.runs} runs.",
            *versions, f"Tuned: {shlex.join(f'{k}={v}' for k, v in settings(options)['tuned'].items())}"]
    if measured:
        text.append(f"The peers' zero_ablation_all is extrapolated from {len(measured['measured_heads'])} heads to "
                    f"{measured['n_unit']}; Hugging Face's attention there and in importance: {options.hook_attention}.")
    text += [table(found), precision_table(found)]
    if differences_list:
        text.append("Largest relative differences between the numbers:\n\n" + differences_list)
    return "\n\n".join(part for part in text if part) + "\n", equal


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headscope", help="the Headscope side; without it only the peers are measured")
    parser.add_argument("--transformerlens", metavar="PYTHON", help="an interpreter that can import transformer_lens")
    parser.add_argument("--output", type=pathlib.Path, help="write OUTPUT.md and OUTPUT.json")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="how often every measurement is made anew")
    parser.add_argument("--runs", type=int, default=3, help="timed runs in each measurement")
    parser.add_argument("--heads", type=int, default=6, help="heads for which a peer's ablation is measured")
    parser.add_argument("--hook-attention", choices=("sdpa", "eager"), default="sdpa", help="Hugging Face's attention where no patterns are wanted")
    parser.add_argument("--preload", help="allocator library for the tuned setting")
    for name, value in (("n-layer", 12), ("n-head", 12), ("d-model", 768), ("n-token", 1024), ("d-vocab", 50257), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--model", type=pathlib.Path, metavar="FOLDER", help="a model of the hub instead of random weights")
    parser.add_argument("--tokens", type=pathlib.Path, metavar="FILE", help='its document: {"tokens": [...]}')
    options = parser.parse_args()
    if bool(options.model) != bool(options.tokens):
        parser.error("--model and --tokens belong together")
    if options.model and json.loads((options.model / "config.json").read_text()).get("model_type") != "gpt2":
        options.cases = [case for case in options.cases if case != "attention_patterns"]
    return options


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        prepare(options, folder)
        found = measure(options, folder)
    text, equal = report(options, found)
    print(text)
    if options.output:
        options.output.with_suffix(".md").write_text(text)
        options.output.with_suffix(".json").write_text(json.dumps(
            {"processor": f"{processor()}, {options.threads} threads", "date": datetime.date.today().isoformat(),
             "versions": versions_of(found), "rounds": options.rounds, "runs": options.runs,
             "measurements": [{"side": side, "round": index, **m} for (side, _), ms in found.items() for index, m in enumerate(ms)]},
            indent=1))
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
