"""Write a folder of seed inputs for each fuzz target, from tests/data: make_seeds.py FOLDER."""

import json
import pathlib
import random
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
DATA = TESTS / "data"

ENTITIES = """# newdoc id = one
# global.Entity = eid-etype-head-other
# sent_id = 1
1\tThe\tthe\tDET\tDT\tDefinite=Def\t2\tdet\t_\tEntity=(e1-person-2-new
2\tmother\tmother\tNOUN\tNN\t_\t4\tnsubj\t_\tEntity=e1)
3-4\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
3\tca\tcan\tAUX\tMD\t_\t4\taux\t_\t_
4\tn't\tnot\tPART\tRB\t_\t0\troot\t_\tEntity=(e2[1/2]-place-1-)
4.1\t_\t_\tPRON\t_\t_\t_\t_\t_\tEntity=(e3)
5\tsay\tsay\tVERB\tVB\t_\t4\tconj\t_\tSpaceAfter=No|Entity=(e2[2/2]-place-1-)
6\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

# newdoc
1\tHé\t_\tX\t_\t_\t_\t_\t_\t_
2\t,\t_\tX\t_\t_\t_\t_\t_\t_

"""


def conllu():
    sentences = (DATA / "classification.conllu").read_text(encoding="utf-8").split("\n\n")
    texts = [ENTITIES, "\n\n".join(sentences[:2]) + "\n\n"]
    return [bytes([room]) + text.encode() for text in texts for room in (3, 20, 255)]


def text():
    words = "The old man said: “Go!” He went. 東京に行った。次の日。 Mr. Smith isn't (here).\n\nNew one…\n"
    return [bytes([room]) + words.encode() for room in (1, 4, 19, 255)] + [b"\x10\xff\xfe a\r\n\r\nb"]


def tasks():
    lines = ['{"sentence_good": "The cat runs.", "sentence_bad": "The cat run.", "UID": "agreement"}',
             '{"prefix": "An old", "good": " man", "bad": " men", "task": "number", "relation": "det"}']
    return [bytes([room]) + ("\n".join(lines) + "\n").encode() for room in (3, 12, 63)]


def vocabulary():
    merges = (DATA / "tokenizer" / "merges.txt").read_bytes()[:1500]
    whole = (DATA / "tokenizer" / "vocab.json").read_bytes()
    return [b"\x01th\nthe\nin\n\xff#version: 0.2\nt h\nth e\ni n\n\xffthe thin inn",
            b"\x01ab\nabab\n\xffa b\nab ab\n\xff" + b"ab" * 40,
            b"\x00" + whole + b"\xff" + merges,
            b'\x00{"a":0,"b":1}\xffa b\n']


def encoding():
    cases = json.loads((DATA / "tokenizer" / "cases.json").read_text(encoding="utf-8"))
    texts = [str(case) for case in (cases if isinstance(cases, list) else list(cases.values()))]
    return [text.encode()[:1000] for text in texts[:40]] + [bytes(range(256)), b"ab" * 100]


def config():
    folders = ("tiny_safetensors", "tiny_safetensors_pruned", "tiny_tf")
    return [(DATA / folder / "config.json").read_bytes() for folder in folders] + [
        b'{"pruned_heads":{"0":[1,0]},"n_head":2,"activation_function":"relu"}']


def safetensors():
    d_model, shapes = 2, {}
    shapes["wpe.weight"] = shapes["wte.weight"] = [3, d_model]
    for norm in ("h.0.ln_1", "h.0.ln_2", "ln_f"):
        shapes[norm + ".weight"] = shapes[norm + ".bias"] = [d_model]
    for layer, widths in {"h.0.attn.c_attn": (2, 6), "h.0.attn.c_proj": (2, 2), "h.0.mlp.c_fc": (2, 3),
                          "h.0.mlp.c_proj": (3, 2)}.items():
        shapes[layer + ".weight"], shapes[layer + ".bias"] = list(widths), [widths[1]]
    seeds = []
    for kind, size in (("F32", 4), ("BF16", 2), ("F64", 8)):
        header, offset = {"__metadata__": {"format": "pt"}}, 0
        for name, shape in shapes.items():
            n_byte = size * shape[0] * (shape[1] if len(shape) > 1 else 1)
            header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + n_byte]}
            offset += n_byte
        text = json.dumps(header, separators=(",", ":")).encode()
        seeds.append(b"\x00" + offset.to_bytes(2, "little") + text)
    seeds.append(b"\x07\x02\x00\x00\x00\x00\x00\x00\x00{}")
    return seeds


def index():
    return [(DATA / "hub" / "snapshot" / "model.safetensors.index.json").read_bytes(),
            b'{"weight_map":{"a":"a.safetensors"}}']


def tokenizer_json():
    names = ["snapshot/tokenizer.json", "tokenizer_text_merges.json"]
    names += sorted(path.name for path in (DATA / "hub").glob("other_*.json"))
    return [(DATA / "hub" / name).read_bytes() + b"\xffthe [TOOL]s <x>" for name in names]


def edits():
    draw = random.Random(20240607)
    return [b"\x01"] + [draw.randbytes(draw.randrange(4, 200)) for _ in range(200)]


SEEDS = {"conllu": conllu, "text": text, "tasks": tasks, "vocabulary": vocabulary, "encoding": encoding, "config": config, "index": index, "tokenizer_json": tokenizer_json,
         "safetensors": safetensors, "model_hdf5": edits, "model_keras": edits, "results": edits,
         "statistics": edits, "token_ids": edits, "hdf5_damage": edits}


def main():
    for target, make in SEEDS.items():
        folder = pathlib.Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(make()):
            (folder / f"seed_{number:03}").write_bytes(seed)


if __name__ == "__main__":
    main()
