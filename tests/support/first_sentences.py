"""Write the first sentences of each document of a CoNLL-U file.

    first_sentences.py INPUT.conllu N_SENTENCE OUTPUT.conllu
"""
import pathlib
import sys


def main(source, n_sentence, target):
    kept, place = [], 0
    for sentence in pathlib.Path(source).read_text(encoding="utf-8").strip().split("\n\n"):
        place = 1 if sentence.startswith("# newdoc") else place + 1
        if place <= int(n_sentence):
            kept.append(sentence + "\n\n")
    pathlib.Path(target).write_text("".join(kept), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
