"""hub/: models and tokenizers as they lie on the Hugging Face hub; hub_golden.h5: what Hugging Face computes from them."""

import json
import shutil

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Tokenizer, GPT2TokenizerFast

import golden_file
import tiny_model
from tokenizer.make_tokenizer_goldens import SENTENCES, TEXTS

HUB = golden_file.FOLDER / "hub"
SNAPSHOT = HUB / "snapshot"
DOCUMENTS = ["The head looks at the previous token.", "She gave [TOOL] the book in 1999."]


def make_tokenizers():
    """One tokenizer with merges as pairs and as texts, and other kinds."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(SENTENCES * 3, trainers.BpeTrainer(
        vocab_size=300, min_frequency=2, special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_special_tokens(["<|pad|>"])
    tokenizer.add_tokens(["[TOOL]", "[TOOL]s", "deux mots", "日本語"])
    tokenizer.add_tokens([AddedToken("<x>", normalized=False), AddedToken("a<x", normalized=True)])
    tokenizer.save(str(SNAPSHOT / "tokenizer.json"))

    content = json.loads((SNAPSHOT / "tokenizer.json").read_text())
    assert isinstance(content["model"]["merges"][0], list)
    content["model"]["merges"] = [" ".join(pair) for pair in content["model"]["merges"]]
    write(HUB / "tokenizer_text_merges.json", content)

    texts = TEXTS[::4] + DOCUMENTS + ["a [TOOL]s and [TOOL] [tool]", "deux mots, 日本語[TOOL][TOOL]s", "a<x> <x>",
                                 "<|pad|><|endoftext|>[TOOL]<|endoftext|>", "[TOOL]"]
    cases = []
    for file in (SNAPSHOT / "tokenizer.json", HUB / "tokenizer_text_merges.json"):
        read = Tokenizer.from_file(str(file))
        read.encode_special_tokens = True  # special tokens in a text are text
        cases.append([{"text": text, "ids": read.encode(text).ids} for text in texts])
    assert cases[0] == cases[1]
    write(HUB / "cases.json", cases[0])
    make_added_tokens(tokenizer)
    make_other_tokenizers()
    return tokenizer


def make_added_tokens(trained):
    """A tokenizer in the files of before tokenizer.json. Without tokenizer_config.json it is one of early versions."""
    folder = HUB / "added_tokens"
    folder.mkdir()
    trained.model.save(str(folder))
    tokenizer = GPT2Tokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), pad_token="<|pad|>",
                              additional_special_tokens=["<|user|>"])
    tokenizer.add_tokens(["[TOOL]", "[TOOL]s", "deux mots", "日本語", AddedToken("<x>", normalized=False)])
    tokenizer.add_tokens(["<|turn|>"], special_tokens=True)
    tokenizer.save_pretrained(folder)
    special = json.loads((folder / "special_tokens_map.json").read_text())
    special["additional_special_tokens"] = ["<|user|>"]  # early versions do not name <|turn|>
    write(folder / "special_tokens_map.json", special)

    texts = TEXTS[::4] + DOCUMENTS + ["a [TOOL]s and [TOOL] [tool]", "deux mots, 日本語[TOOL][TOOL]s", "a<x> <x>", "[TOOL]"]
    with_special = ["<|pad|><|user|>[TOOL]<|endoftext|>", "<|turn|>the<|turn|>"]
    for name in ("cases.json", "cases_early.json"):
        if name == "cases_early.json":
            (folder / "tokenizer_config.json").rename(folder / "later.json")
        fast = GPT2TokenizerFast.from_pretrained(folder)
        fast.backend_tokenizer.encode_special_tokens = True  # special tokens in a text are text
        cases = [{"text": text, "ids": fast.backend_tokenizer.encode(text).ids} for text in texts + with_special]
        slow = GPT2Tokenizer.from_pretrained(folder)
        for case in cases[:len(texts)]:
            assert slow.encode(case["text"]) == case["ids"]
        write(folder / name, cases)
    (folder / "later.json").rename(folder / "tokenizer_config.json")


def make_other_tokenizers():
    """Kinds that Headscope refuses."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe = models.BPE({"a": 0}, [])
    kinds = {
        "word_piece": (models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"), pre_tokenizers.Whitespace(), None),
        "unigram": (models.Unigram([("a", -1.0)]), pre_tokenizers.Metaspace(), None),
        "prefix_space": (bpe, pre_tokenizers.ByteLevel(add_prefix_space=True), None),
    }
    for name, (model, pre_tokenizer, normalizer) in kinds.items():
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer = pre_tokenizer
        if normalizer is not None:
            tokenizer.normalizer = normalizer
        tokenizer.save(str(HUB / f"other_{name}.json"))


def make_snapshot(n_token):
    """A folder of shards; the vocabulary is padded, and scores are scaled by layer, as in Stanford's CRFM models."""
    torch.manual_seed(tiny_model.SEED)
    config = GPT2Config(n_layer=3, n_head=2, n_embd=8, n_positions=32, vocab_size=(n_token + 7) // 8 * 8,
                        bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                        activation_function="gelu_pytorch_tanh", scale_attn_by_inverse_layer_idx=True,
                        reorder_and_upcast_attn=True, initializer_range=0.5)
    gpt2 = GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, parameter in gpt2.named_parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) / 4)
    gpt2.save_pretrained(SNAPSHOT, max_shard_size="6KB")
    (SNAPSHOT / "generation_config.json").unlink(missing_ok=True)


def make_prefixed():
    """State dicts of wrapped models, with a tensor for each name."""
    gpt2 = tiny_model.model()
    for name, wrapped in {"compiled": torch.compile(gpt2), "parallel": torch.nn.DataParallel(torch.compile(gpt2))}.items():
        state = {key: value.clone() for key, value in wrapped.state_dict().items() if "lm_head" not in key}
        save_file(state, HUB / f"{name}.safetensors", {"format": "pt"})


def make_pickle():
    """A PyTorch checkpoint; Headscope refuses it."""
    torch.save({"wte.weight": torch.zeros(2, 2)}, HUB / "pytorch_model.bin")


def make_golden(tokenizer):
    gpt2 = GPT2LMHeadModel.from_pretrained(SNAPSHOT, attn_implementation="eager", reorder_and_upcast_attn=False)
    gpt2.double().eval()  # upcasting works in float32 alone, and changes nothing else
    end_of_text = tokenizer.token_to_id("<|endoftext|>")
    with golden_file.create("hub_golden.h5", tiny_model.SEED,
                            "the model in hub/snapshot in float64, Hugging Face eager") as file:
        for index, text in enumerate(DOCUMENTS):
            tokens = torch.tensor([end_of_text] + tokenizer.encode(text).ids)
            output = gpt2(tokens[None], output_attentions=True)
            group = file.create_group(f"documents/{index}")
            golden_file.put(group, "tokens", tokens)
            golden_file.put(group, "nll", tiny_model.token_losses(output.logits[0], tokens))
            golden_file.put(group, "pattern", torch.stack([a[0] for a in output.attentions]))
            golden_file.put(group, "grad_z", gradient_of_z(gpt2, tokens))


def gradient_of_z(gpt2, tokens):
    """The gradient of the document's mean loss by z, [layer, token, n_embd]."""
    z = []
    hooks = [block.attn.c_proj.register_forward_pre_hook(lambda _, inputs: z.append(inputs[0]))
             for block in gpt2.transformer.h]
    loss = tiny_model.token_losses(gpt2(tokens[None]).logits[0], tokens).mean()
    for hook in hooks:
        hook.remove()
    return torch.cat(torch.autograd.grad(loss, z))


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")


def main():
    shutil.rmtree(HUB, ignore_errors=True)
    SNAPSHOT.mkdir(parents=True)
    tokenizer = make_tokenizers()
    make_snapshot(tokenizer.get_vocab_size())
    make_prefixed()
    make_pickle()
    make_golden(tokenizer)


if __name__ == "__main__":
    main()
