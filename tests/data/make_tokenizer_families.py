"""tokenizer_families/: a small tokenizer of each family that Headscope reads, and Hugging Face's ids of strange texts.

NAME.json          as `tokenizers` saves it, with the components of the family's published tokenizers
texts.json         500 texts
NAME_ids.json      the ids of each text, special tokens in it read as text, and of "a" with what the tokenizer itself adds
normal_form.json   SHA-256 of Hugging Face's NFC of all assigned characters in several contexts, by runs of 4096; without the
                   marks that Hugging Face's tables do not know
smollm2_135m_ids.json   SHA-256 of the ids of the texts under SmolLM2-135M's own tokenizer.json; made only if its folder is given

    python3 make_tokenizer_families.py [SMOLLM2_FOLDER]

Hashes of ids as in make_tokenizer_goldens.py. Made with tokenizers 0.23.3 and Python 3.11.
"""

import hashlib
import json
import random
import sys
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import golden_file
from tokenizer.make_tokenizer_goldens import SENTENCES, TEXTS, digest

FOLDER = golden_file.FOLDER / "tokenizer_families"
SEED = 20261125
N_TEXT = 500
RUN = 4096
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
MARK = "\u2581"


def byte_level(use_regex=True):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=use_regex)


def trained_bytes(pre_tokenizer, normalizer=None, first="<|endoftext|>", **settings):
    tokenizer = Tokenizer(models.BPE(**settings))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(SENTENCES * 3, trainers.BpeTrainer(
        vocab_size=420, min_frequency=2, special_tokens=[first], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def template(tokenizer, token):
    return processors.TemplateProcessing(single=f"{token} $A", pair=f"{token} $A {token} $B",
                                         special_tokens=[(token, tokenizer.token_to_id(token))])


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), behavior="isolated"), byte_level(False)])


def neox():
    tokenizer = trained_bytes(byte_level(), normalizers.NFC())
    tokenizer.add_special_tokens(["<|padding|>"])
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    return tokenizer


def smollm2():
    return trained_bytes(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level()]))


def llama3():
    tokenizer = trained_bytes(split(LLAMA3), first="<|begin_of_text|>")
    content = json.loads(tokenizer.to_str())
    content["model"]["ignore_merges"] = True
    # A token that merges alone do not reach.
    content["model"]["vocab"]["Ġzyx"] = len(content["model"]["vocab"])
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.add_special_tokens(["<|eot_id|>"])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False),
                                                    template(tokenizer, "<|begin_of_text|>")])
    return tokenizer


def qwen2():
    tokenizer = trained_bytes(split(QWEN2), normalizers.NFC())
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("cafe\u0301", normalized=True)])
    return tokenizer


def characters(pre_tokenizer, normalizer, added):
    """A vocabulary of characters with a token for each byte, as SentencePiece makes."""
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    lines = [line for text in SENTENCES for line in text.splitlines()]
    learner.train_from_iterator(lines * 3, trainers.BpeTrainer(vocab_size=300, min_frequency=4, limit_alphabet=60,
                                                                   show_progress=False))
    learned = json.loads(learner.to_str())["model"]
    vocabulary = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    # Runs of spaces, as Llama 2 has; they are the last merges.
    runs = [MARK * n for n in (2, 4, 8)]
    vocabulary += [token for token in learned["vocab"] if token not in vocabulary] + runs
    merges = [tuple(merge) for merge in learned["merges"]] + [(run[: len(run) // 2],) * 2 for run in runs]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(vocabulary)}, merges=merges,
                                     unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in vocabulary[:3]])
    tokenizer.add_tokens(added)
    tokenizer.post_processor = template(tokenizer, "<s>")
    return tokenizer


def llama2():
    return characters(None, normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)]),
                      [AddedToken("[TOOL]", normalized=False), AddedToken("[TAG]", normalized=True)])


def mistral():
    return characters(pre_tokenizers.Metaspace(prepend_scheme="first", split=False), None,
                      [AddedToken("[TOOL]", normalized=False), AddedToken("[TAG]", normalized=True)])


def metaspace():
    return characters(pre_tokenizers.Metaspace(prepend_scheme="always", split=True), normalizers.NFC(), ["[TOOL]"])


FAMILIES = {"neox": neox, "smollm2": smollm2, "llama3": llama3, "qwen2": qwen2, "llama2": llama2, "mistral": mistral,
            "metaspace": metaspace}


def make_texts():
    """The texts of the other goldens, and random ones of what tokenizers disagree on."""
    rng = random.Random(SEED)
    pieces = (["'s", "'S", "'\u017F", "'LL", "’t", " ", "  ", "   ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u180e", "\u0085",
               "\u2028", "0", "12", "345", "6789", "½", "Ⅳ", "²", "١٢٣", "๓", "!", "...", "?!\n", "#", "_", "$", "://", "(", "]",
               "é", "e\u0301", "\u0301", "a\u0323\u0307", "a\u0307\u0323", "\u212b", "\u2126", "각", "\u1100\u1161\u11a8",
               "\uac00\u11a8", "\u0958", "\u0f73", "\u1e9b\u0323", "ﬁ", "ß", "İ", "ǆ", "क्षि", "ไทย", "العربية", "日本語", "。",
               "\ufffd", "\x00", "\x7f", "\u200b", "\ufeff", "👩‍👩‍👧", "🇫🇷", "👍🏽", "\U0001D15E", MARK, MARK + "a", "<0x41>",
               "<s>", "</s>", "<unk>", "<|endoftext|>", "[TOOL]", " [TAG]", "[TAG]", "<tool_call>", "cafe\u0301", "zyx", " zyx",
               "\u00b5", "Ω", "if (x) {\n        y;\n\t}"] + [word for text in SENTENCES for word in text.split()])
    texts = list(TEXTS)
    while len(texts) < N_TEXT:
        text = "".join(rng.choice(pieces) + rng.choice(["", "", " "]) for _ in range(rng.randint(1, 14)))
        if rng.random() < 0.2:
            text += "".join(chr(rng.choice([rng.randrange(0x20, 0x3000), rng.randrange(0xA000, 0xD7A4),
                                            rng.randrange(0x1F300, 0x1F700)])) for _ in range(rng.randint(1, 6)))
        if text not in texts:
            texts.append(text)
    return texts


def write(name, content):
    (FOLDER / name).write_text(json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n")


def normal_form():
    """Of each run: the ranges of assigned code points, and the hash of the NFC of these in several contexts."""
    nfc = normalizers.NFC()

    def in_contexts(c):
        return f"{c}{c}\u0301a{c}\u0323{c}\u1161{c}\u11a8\n"

    def is_known(c):
        return nfc.normalize_str(in_contexts(c)) == unicodedata.normalize("NFC", in_contexts(c))

    runs = []
    for first in range(0, 0x30000, RUN):
        assigned = [chr(code) for code in range(first, first + RUN) if unicodedata.category(chr(code)) not in ("Cn", "Cs") and is_known(chr(code))]
        if assigned:
            text = "".join(map(in_contexts, assigned))
            runs.append({"ranges": ranges(assigned),
                         "nfc": hashlib.sha256(nfc.normalize_str(text).encode()).hexdigest()})
    return runs


def ranges(found):
    result = []
    for code in map(ord, found):
        if result and result[-1][1] == code - 1:
            result[-1][1] = code
        else:
            result.append([code, code])
    return result


def main(smollm2_folder=None):
    FOLDER.mkdir(exist_ok=True)
    texts = make_texts()
    write("texts.json", texts)
    write("normal_form.json", normal_form())
    for name, make in FAMILIES.items():
        make().save(str(FOLDER / f"{name}.json"), pretty=False)
        tokenizer = Tokenizer.from_file(str(FOLDER / f"{name}.json"))
        tokenizer.encode_special_tokens = True  # special tokens in a text are text
        write(f"{name}_ids.json", {"ids": [tokenizer.encode(text, add_special_tokens=False).ids for text in texts],
                                   "with_first": tokenizer.encode("a").ids})
    if smollm2_folder is not None:
        tokenizer = Tokenizer.from_file(f"{smollm2_folder}/tokenizer.json")
        tokenizer.encode_special_tokens = True
        write("smollm2_135m_ids.json", [digest(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts])


if __name__ == "__main__":
    main(*sys.argv[1:])
