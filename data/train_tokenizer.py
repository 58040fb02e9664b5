"""Train a byte-level BPE in GPT-2's format: vocab.json and merges.txt.

    python3 train_tokenizer.py --size 2560 --output tokenizer stories.txt books/*.txt

Ids are laid out as in GPT-2: the 256 byte symbols, then one id per merge, then <|endoftext|>.
Needs the Hugging Face library `tokenizers` (0.23).
"""

import argparse
import json
import pathlib

from tokenizers import ByteLevelBPETokenizer


def byte_symbols():
    """GPT-2's printable stand-in for every byte, in GPT-2's order of ids."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + i) for i in range(len(others))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", help="UTF-8 text files")
    parser.add_argument("--size", type=int, default=2560, help="number of tokens, <|endoftext|> included")
    parser.add_argument("--bytes-per-file", type=int, default=2_000_000, help="how much of each file to read")
    parser.add_argument("--output", required=True, help="folder for vocab.json and merges.txt")
    arguments = parser.parse_args()

    texts = [pathlib.Path(name).read_text(encoding="utf-8")[: arguments.bytes_per_file] for name in arguments.files]
    trainer = ByteLevelBPETokenizer()
    trainer.train_from_iterator(texts, vocab_size=arguments.size - 1, min_frequency=2, show_progress=False)

    merges = [tuple(pair) for pair in json.loads(trainer.to_str())["model"]["merges"]]
    tokens = byte_symbols() + [left + right for left, right in merges] + ["<|endoftext|>"]
    assert len(tokens) == len(set(tokens)) == arguments.size
    folder = pathlib.Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {token: number for number, token in enumerate(tokens)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges), encoding="utf-8")


if __name__ == "__main__":
    main()
