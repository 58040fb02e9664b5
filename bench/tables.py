#!/usr/bin/env python3
"""Tables of bench/README.md from bench/machines/*.json, a file a machine.

    bench/tables.py                            write the tables into the README
    bench/tables.py --check                    exit 1 if the README's tables are not those of the files
    bench/tables.py --add COMPARISON.json NAME [--kind KIND] [--note TEXT]
                                               make bench/machines/NAME.json of what compare_huggingface.py wrote, then the tables

A machine's file: "kind" (the heading it stands under), "processor", "date", "versions", "rounds", "runs", "note", "engines" (by
precision) and "seconds": by case and side, the median of each round. A ratio is the median over the rounds of the peer's
time over Headscope's, with the range where there are several rounds.
"""
import argparse
import json
import pathlib
import re
import statistics
import sys
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parent
README, MACHINES = FOLDER / "README.md", FOLDER / "machines"
BEGIN, END = "<!-- tables: made by bench/tables.py -->\n", "<!-- end of tables -->\n"
KINDS = ("With AMX", "AVX-512 with VNNI, no AMX", "AVX2", "arm64")
CASES = {"forward_patterns": "forward, patterns of all heads", "attention_patterns": "attention from q, k, v, patterns kept",
         "importance": "importance of all heads", "zero_ablation_all": "zero ablation of all heads"}
SIDES = {"Headscope": "float32", "Headscope, high": "`--precision high`", "Headscope, fast": "`--precision fast`"}
INSTALLED, TUNED, BFLOAT16 = "Hugging Face, as installed", "Hugging Face, tuned", "Hugging Face, bfloat16"


def digits(value):
    """Three digits, as many as times repeat to."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def middle(values):
    return digits(statistics.median(values))


def counted(number, name):
    return f"{number} {name}" + ("" if number == 1 else "s")


def ratio(theirs, own):
    """Rounds are paired: a slow minute hits both sides."""
    ratios = [a / b for a, b in zip(theirs, own)]
    text = f"{statistics.median(ratios):.2f}"
    return text if len(ratios) == 1 else f"{text} ({min(ratios):.2f}–{max(ratios):.2f})"


def pair(values):
    return " / ".join(values)


def rows(machine):
    engines = machine.get("engines", {})
    for case, title in CASES.items():
        seconds = machine["seconds"].get(case, {})
        peers = [seconds[side] for side in (INSTALLED, TUNED) if side in seconds]
        for side, name in SIDES.items():
            if side not in seconds:
                continue
            own, engine = seconds[side], engines.get(side) if case == "zero_ablation_all" else None
            yield [title, name + (f" ({engine})" if engine and engine != name else ""), middle(own), pair(map(middle, peers)),
                   pair(ratio(peer, own) for peer in peers)]
            title = ""
        if BFLOAT16 in seconds and "Headscope, fast" in seconds:
            yield ["the same, against Hugging Face in bfloat16", SIDES["Headscope, fast"], middle(seconds["Headscope, fast"]),
                   middle(seconds[BFLOAT16]) + " (tuned)", ratio(seconds[BFLOAT16], seconds["Headscope, fast"])]


def table_of(machine):
    facts = [machine["processor"], *machine["versions"], f"{counted(machine['rounds'], 'round')} of {counted(machine['runs'], 'run')}",
             machine["date"]]
    words = "; ".join(facts) + "." + (f" {machine['note']}" if machine.get("note") else "")
    lines = [textwrap.fill(words, 140, break_long_words=False, break_on_hyphens=False), "",
             "| case | Headscope | s | Hugging Face, as installed / tuned, s | ratio |", "|---|---|--:|--:|--:|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows(machine)])


def all_tables():
    machines = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(MACHINES.glob("*.json"))]
    unknown = {machine["kind"] for machine in machines} - set(KINDS)
    if unknown:
        sys.exit(f"tables: expected one of {', '.join(KINDS)}; got {', '.join(unknown)}")
    parts = []
    for kind in KINDS:
        of_kind = [table_of(machine) for machine in machines if machine["kind"] == kind]
        if of_kind:
            parts += [f"## {kind}", *of_kind]
    return "\n" + "\n\n".join(parts) + "\n\n"


def machine_of(comparison, kind, note):
    """A machine's file from the measurements that compare_huggingface.py wrote."""
    seconds, engines = {}, {}
    for measurement in comparison["measurements"]:
        side, case = measurement["side"], measurement["case"]
        seconds.setdefault(case, {}).setdefault(side, []).append(round(statistics.median(measurement["seconds"]), 4))
        if "engine" in measurement:
            engines[side] = measurement["engine"]
    facts = {key: comparison[key] for key in ("processor", "date", "versions", "rounds", "runs")}
    return {"kind": kind, **facts, "note": note, "engines": engines, "seconds": seconds}


def kind_here():
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    if "amx_bf16" in flags:
        return KINDS[0]
    if "avx512_vnni" in flags:
        return KINDS[1]
    return KINDS[2] if "avx2" in flags else KINDS[3]


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--add", nargs=2, metavar=("COMPARISON", "NAME"))
    parser.add_argument("--kind", choices=KINDS, default=None, help="of processor; default: this machine's")
    parser.add_argument("--note", default="", help="a sentence on how it was measured")
    options = parser.parse_args()
    if options.add:
        comparison = json.loads(pathlib.Path(options.add[0]).read_text(encoding="utf-8"))
        machine = machine_of(comparison, options.kind or kind_here(), options.note)
        (MACHINES / f"{options.add[1]}.json").write_text(json.dumps(machine, indent=1) + "\n", encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{README}: expected the marks around the tables once each")
    made = re.sub(re.escape(BEGIN) + ".*" + re.escape(END), lambda _: BEGIN + all_tables() + END, text, flags=re.S)
    if options.check:
        if made != text:
            sys.exit(f"{README}: its tables are not those of {MACHINES}; bench/tables.py writes them")
        return
    README.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
