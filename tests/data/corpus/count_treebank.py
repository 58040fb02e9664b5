"""Count the content of a CoNLL-U file in plain Python, to check Headscope's reader.

    python3 count_treebank.py FILE.conllu…

Prints one JSON object; `treebank_counts.json` is the output for the treebanks in the shared data.
A mention counts at its closing bracket, and only if it contains a word.
"""

import json
import pathlib
import re
import sys


def count(path):
    counts = dict(documents=0, sentences=0, words=0, arcs=0, mentions=0, mention_words=0)
    head_checksum = 0
    blocks = re.split(r"\n[ \t]*\n", pathlib.Path(path).read_text(encoding="utf-8").strip("\n"))
    open_mentions = {}
    for block in blocks:
        lines = block.split("\n")
        if any(re.match(r"# newdoc\b", line) for line in lines):
            counts["documents"] += 1
            assert not any(open_mentions.values())
            open_mentions = {}
        rows = [line.split("\t") for line in lines if not line.startswith("#")]
        counts["sentences"] += 1
        for row in rows:
            if "-" in row[0]:
                continue
            is_word = row[0].isdigit()
            if is_word:
                counts["words"] += 1
                counts["arcs"] += row[6] != "0"
                head_checksum = (head_checksum * 31 + int(row[6])) % 1000000007
            entity = dict(a.split("=", 1) for a in row[9].split("|") if "=" in a).get("Entity", "")
            for bracket in re.findall(r"\([^()]+\)?|[^()]+\)", entity):
                if bracket.startswith("("):
                    name = bracket[1:].rstrip(")").split("-")[0]
                    open_mentions.setdefault(name, []).append(0)
            for stack in open_mentions.values():
                for i in range(len(stack)):
                    stack[i] += is_word
            for bracket in re.findall(r"\([^()]+\)?|[^()]+\)", entity):
                if bracket.endswith(")"):
                    name = bracket[:-1].lstrip("(").split("-")[0]
                    length = open_mentions[name].pop()
                    counts["mentions"] += length > 0
                    counts["mention_words"] += length
    counts["head_checksum"] = head_checksum
    return counts


if __name__ == "__main__":
    print(json.dumps({pathlib.Path(p).name: count(p) for p in sys.argv[1:]}, indent=1))
