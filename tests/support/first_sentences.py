"""Write the first sentences of each document of a CoNLL-U file.

    first_sentences.py INPUT.conllu N_SENTENCE OUTPUT.conllu
"""
import pathlib
import sys


def first_sentences(text, n_sentence):
    kept, place = [], 0
    for sentence in text.strip().split("\n\n"):
        place = 1 if sentence.startswith("# newdoc") else place + 1
        if place <= n_sentence:
            kept.append(sentence + "\n\n")
    return "".join(kept)


if __name__ == "__main__":
    source, count, target = sys.argv[1:]
    pathlib.Path(target).write_text(first_sentences(pathlib.Path(source).read_text(encoding="utf-8"), int(count)), encoding="utf-8")
