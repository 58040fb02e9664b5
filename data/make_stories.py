"""Generate annotated English stories from a grammar.

    python3 make_stories.py --seed 7 --count 300 --output stories.conllu
    python3 make_stories.py --seed 1000 --count 50000 --format text --output stories.txt

CoNLL-U (Universal Dependencies, CorefUD entities) or plain text with a blank line between stories. Story i of seed s
depends on (s, i) alone, so the same seed and count always give the same bytes.
"""

import argparse
import random
import sys

from dependency_tree import text_of, to_conllu
from story_grammar import Story

LONGEST = 29
ENTITY_HEADER = "# global.Entity = eid-etype-head-other\n"


def make_story(seed, index):
    """Story number `index` of `seed`: (identifier, list of sentence phrases). One that grew too long is told anew."""
    identifier = f"{index:05d}"
    rng = random.Random(f"{seed}/{index}")
    while True:
        sentences = Story(rng, identifier).tell()
        if len(sentences) <= LONGEST:
            return identifier, sentences


def story_text(sentences):
    return " ".join(text_of(sentence) for sentence in sentences)


def story_conllu(identifier, sentences):
    body = "".join(to_conllu(sentence, f"story-{identifier}-{number}") for number, sentence in enumerate(sentences, 1))
    return f"# newdoc id = story-{identifier}\n" + body


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--format", choices=["conllu", "text"], default="conllu")
    parser.add_argument("--output", help="file to write (default: standard output)")
    arguments = parser.parse_args()
    out = open(arguments.output, "w", encoding="utf-8", newline="\n") if arguments.output else sys.stdout
    for index in range(arguments.count):
        identifier, sentences = make_story(arguments.seed, index)
        if arguments.format == "text":
            out.write(story_text(sentences) + "\n\n")
        else:
            block = story_conllu(identifier, sentences)
            newdoc, rest = block.split("\n", 1)
            out.write(newdoc + "\n" + ENTITY_HEADER + rest)
    if arguments.output:
        out.close()


if __name__ == "__main__":
    main()
