"""Write the first documents of a CoNLL-U file, and the first sentences of its other documents.

    first_sentences.py INPUT.conllu N_SENTENCE N_WHOLE_DOCUMENT OUTPUT.conllu
"""
import pathlib
import sys


def first_sentences(text, n_sentence, n_whole=0):
    kept, place, document = [], 0, 0
    for sentence in text.strip().split("\n\n"):
        if sentence.startswith("# newdoc"):
            document, place = document + 1, 0
        place += 1
        if document <= n_whole or place <= n_sentence:
            kept.append(sentence + "\n\n")
    return "".join(kept)


if __name__ == "__main__":
    source, n_sentence, n_whole, target = sys.argv[1:]
    text = pathlib.Path(source).read_text(encoding="utf-8")
    pathlib.Path(target).write_text(first_sentences(text, int(n_sentence), int(n_whole)), encoding="utf-8")
