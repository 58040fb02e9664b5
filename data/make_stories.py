"""Generate annotated English stories from a grammar.

    python3 make_stories.py --seed 7 --count 160 --tokens 192 --tokenizer tokenizer --output stories.conllu
    python3 make_stories.py --seed 1000 --count 150000 --format text --output stories.txt

CoNLL-U (Universal Dependencies, CorefUD entities) or plain text with a blank line between stories. Story i of seed s
depends on (s, i) alone, so the same seed and count always give the same bytes. With --tokens a story ends before the sentence
that would not fit in a context of so many, <|endoftext|> included.
"""

import argparse
import pathlib
import random
import sys

from dependency_tree import text_of, to_conllu
from gpt2 import Tokenizer
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


def beginning(sentences, tokenizer, tokens):
    """As many of the first sentences as fit, with <|endoftext|> before them."""
    fit = len(sentences)
    while len(tokenizer.encode(story_text(sentences[:fit]))) + 1 > tokens:
        fit -= 1
    return sentences[:fit]


def story_conllu(identifier, sentences):
    body = "".join(to_conllu(sentence, f"story-{identifier}-{number}") for number, sentence in enumerate(sentences, 1))
    return f"# newdoc id = story-{identifier}\n" + body


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--tokens", type=int, help="end each story where the context would be full")
    parser.add_argument("--tokenizer", type=pathlib.Path, default=pathlib.Path(__file__).parent / "tokenizer",
                        help="folder with vocab.json and merges.txt, for --tokens")
    parser.add_argument("--format", choices=["conllu", "text"], default="conllu")
    parser.add_argument("--output", help="file to write (default: standard output)")
    arguments = parser.parse_args()
    vocab, merges = ((arguments.tokenizer / name).read_text(encoding="utf-8") for name in ("vocab.json", "merges.txt"))
    tokenizer = Tokenizer(vocab, merges)
    out = open(arguments.output, "w", encoding="utf-8", newline="\n") if arguments.output else sys.stdout
    for index in range(arguments.count):
        identifier, sentences = make_story(arguments.seed, index)
        if arguments.tokens:
            sentences = beginning(sentences, tokenizer, arguments.tokens)
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
