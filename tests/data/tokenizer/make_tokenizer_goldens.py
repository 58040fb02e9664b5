"""Make the tokenizer goldens in this folder with Hugging Face `tokenizers`.

    python3 make_tokenizer_goldens.py [../shared]

vocab.json, merges.txt   a byte-level BPE trained on the sentences below
cases.json               texts and their Hugging Face ids
characters.json          for each run of 4096 code points, the hash of the ids of all its assigned
                         characters in several contexts
shared_files.json        the hash of the ids of each text of the shared data under GPT-2's vocabulary;
                         made only if the argument is given

A hash is the SHA-256 of the ids as little-endian 32-bit integers. Made with tokenizers 0.22.1 and
Python 3.11, whose Unicode version (14.0) decides which characters are assigned.
"""

import hashlib
import json
import pathlib
import struct
import sys
import unicodedata

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
RUN = 4096

SENTENCES = [
    "The head that looks at the previous token isn't the one that's looking at the next.",
    "She gave her sister the book, and the sister gave it back to her in 1999.",
    "We're sure they'll have seen what you've done; I'd say it's done, and I'm done.",
    "In the beginning there were 12 heads and 12 layers, and every head had 64 dimensions.",
    "Où est la bibliothèque? Dans la rue où naquit l'été, près du café.",
    "Die Köpfe schauen zurück, aber nie nach vorn; größer ist nicht immer schöner.",
    "東京の図書館で本を読みました。モデルは何を見ていますか。",
    "Голова смотрит назад и никогда не смотрит вперёд.",
    "if (x == y) {\n        return x + 1;  // the same\n    }\n\n\tfor (int i = 0; i < 10; ++i) {}\n",
    "😀 😀 👩‍👩‍👧 🇩🇪 ... --- *** === ,,, !!! ???",
]

TEXTS = SENTENCES + [
    "",
    " ",
    "  ",
    "a",
    "   leading and trailing   ",
    "\n\n\n",
    "\r\n\r\nline one\r\nline two\r\n",
    "tabs\t\tand\x0bother\x0cspaces\x85here\u00a0and\u2003there\u3000.",
    "a \u180e b\u200bc\ufeffd",
    "x" + " " * 500 + "y" + " " * 499,
    " " * 1000,
    "\n" * 300 + "a",
    "the" * 400,
    "é" * 300 + "e\u0301" * 100,
    "can't CAN'T can' t 'S's 've''re",
    "it’s ’tis “quoted” …",
    "<|endoftext|> is text here",
    "1234567890 ١٢٣ Ⅳ ½ ² 10,000.50",
    "👩‍👩‍👧‍👦👍🏽🏴󠁧󠁢󠁥󠁮󠁧󠁿 flags 🇫🇷🇩🇪",
    "\x00\x01\x02\x1c\x1d\x1e\x1f\x7f",
    "a\ufffdb \ufffd\ufffd c",
    "mixed日本語and русский123text",
    "हिन्दी में लिखा हुआ ภาษาไทย العربية עברית",
]


def digest(ids):
    return hashlib.sha256(struct.pack(f"<{len(ids)}i", *ids)).hexdigest()


def byte_level(model):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def train():
    tokenizer = byte_level(models.BPE())
    tokenizer.train_from_iterator(
        SENTENCES * 3,
        trainers.BpeTrainer(
            vocab_size=600,
            min_frequency=2,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.model.save(str(HERE))
    return byte_level(models.BPE.from_file(str(HERE / "vocab.json"), str(HERE / "merges.txt")))


def character_runs(tokenizer):
    runs = []
    for first in range(0, 0x110000, RUN):
        assigned = [c for c in range(first, first + RUN) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
        if not assigned:
            continue
        ranges = []
        for c in assigned:
            if ranges and ranges[-1][1] == c - 1:
                ranges[-1][1] = c
            else:
                ranges.append([c, c])
        text = "".join(f"a{c}b {c}1{c}2 .{c}! {c}{c} \n" for c in map(chr, assigned))
        runs.append({"ranges": ranges, "sha256": digest(tokenizer.encode(text).ids)})
    return runs


def write(name, value):
    (HERE / name).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


def main():
    tokenizer = train()
    write("cases.json", [{"text": text, "ids": tokenizer.encode(text).ids} for text in TEXTS])
    write("characters.json", character_runs(tokenizer))
    if len(sys.argv) > 1:
        data = pathlib.Path(sys.argv[1]) / "data"
        gpt2 = byte_level(models.BPE.from_file(str(data / "tokenizer/encoder.json"), str(data / "tokenizer/vocab.bpe")))
        files = sorted(data.glob("text/*.txt")) + sorted(data.glob("treebanks/*.conllu"))
        hashes = {}
        for path in files:
            ids = gpt2.encode(path.read_bytes().decode("utf-8")).ids
            hashes[str(path.relative_to(data))] = {"n_token": len(ids), "sha256": digest(ids)}
        (HERE / "shared_files.json").write_text(json.dumps(hashes, indent=1) + "\n")


if __name__ == "__main__":
    main()
