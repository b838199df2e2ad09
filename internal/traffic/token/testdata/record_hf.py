"""Records what Hugging Face's own library makes of a mixed corpus.

    python3 -m venv VENV && VENV/bin/pip install tokenizers==0.23.3
    VENV/bin/python record_hf.py CACHE

It trains the small tokenizer of tiny.json on the word list and writes to
tiny_ids.json, for many ways to split and normalize, the ids and the lengths of
the pieces of the short texts; and to published_ids.json the ids of published
tokenizers. CACHE holds those as NAME/tokenizer.json, as the tests fetch them.
"""

import json
import pathlib
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, trainers

here = pathlib.Path(__file__).parent
PUBLISHED = ["gpt2", "llama3_1", "qwen3", "mistral_nemo", "deepseek_v3"]
CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
BLANKS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PREFIX = r"[^\r\n\p{L}\p{N}]?"
SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n"


def cased(suffix, digits):
    return f"{PREFIX}{UPPER}*{LOWER}+{suffix}|{PREFIX}{UPPER}+{LOWER}*{suffix}|{digits}|{SIGNS}/]*|{BLANKS}"


def byte_level(prefix=False, regex=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


NFC, NFD = {"type": "NFC"}, {"type": "NFD"}
DEEPSEEK = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = rf"{CONTRACTION}|{PREFIX}\p{{L}}+|\p{{N}}{{1,3}}|{SIGNS}]*|{BLANKS}"
QWEN2 = LLAMA3.replace("{1,3}", "")
MARKED = rf"{CONTRACTION}|{PREFIX}[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{BLANKS}"
VARIANTS = [
    # name, normalizer, pre-tokenizer, ignore_merges
    ("gpt2", None, byte_level(regex=True), False),
    ("gpt2 with a space before", None, byte_level(prefix=True, regex=True), False),
    ("gpt2 written out", None, sequence(split(GPT2), byte_level()), False),
    ("llama3", None, sequence(split(LLAMA3), byte_level()), True),
    ("cl100k", None, sequence(split(LLAMA3, "Removed", True), byte_level()), False),
    ("qwen2", NFC, sequence(split(QWEN2), byte_level()), False),
    ("words with marks", NFC, sequence(split(MARKED), byte_level()), False),
    ("o200k", None, sequence(split(cased(CONTRACTION + "?", r"\p{N}{1,3}"), "Removed", True), byte_level()), False),
    ("tekken", None, sequence(split(cased("", r"\p{N}")), byte_level()), True),
    ("deepseek", {"type": "Sequence", "normalizers": []}, sequence(*map(split, DEEPSEEK), byte_level()), False),
    ("single digits", NFC, sequence({"type": "Digits", "individual_digits": True}, byte_level(regex=True)), False),
    ("digits", {"type": "Sequence", "normalizers": [NFD, NFC]}, sequence({"type": "Digits", "individual_digits": False}, byte_level(regex=True)), False),
    ("decomposed", NFD, byte_level(regex=True), False),
]


def corpus():
    yield from (entry["text"] for entry in json.loads((here / "corpus.json").read_text()))
    yield from (
        "", " ", "\n", "x", "'", "'s", "'S", "'\u017f", "don't DON'T you'LL 'tis rock'n'roll",
        "A\u030a \u212b \u00c5 e\u0301\u0327 \u1100\u1161\u11a8 \ufb01 \u00bd \u2460 \uff21",
        "e" + "\u0301\u0327" * 24 + "x", "\u0327\u0301" * 40, "\u0301", " \u0301a", "1\u0301a",
        "12345 1a2b3c \u0663\u06f4\u2167 v1.2.3", "\u6f22\u5b57kana\u30ab\u30bf123\u3072\u3089 mixed",
        "tabs\t\tand  spaces \r\n\r\n  end  ", "trailing\n ", "\u00a0x\u3000y\u2003\u2003z\u200bw\ufeff",
        "a\x00b\x1cc\x7fd\x85e", "#include <stdio.h>\n//path/to\n/*x*/", "camelCaseHTTPServer\u01c5x",
        "<|end|>", "a<|end|>b <|end|> c", "x  <mask>  y", "x  <pad> \n y<pad>", "<A\u030a><\u00c5>", "<|en", "<|end|><|end|>",
        "  <mask><pad>  <mask>",
    )
    draw = random.Random(4)
    letters = "aAsStTlLdD'' \n\r\t/.!09\u017f\u00df\u00e9\u01c5\u02b0\u05d0\u0301\u0327\u4e2d\u304b\u30ab\U0001f642\u200d\u00bd\u0663\u00a0\u2003\x00"
    for _ in range(60):
        yield "".join(draw.choice(letters) for _ in range(draw.randint(2, 16)))


def write(path, entries):
    lines = ",\n".join("  " + json.dumps(entry, separators=(",", ":")) for entry in entries)
    (here / path).write_text("[\n" + lines + "\n]\n")


def train():
    tiny = Tokenizer(models.BPE())
    tiny.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words = [word for word in (here.parent / "words.txt").read_text().split() if len(word) < 6][:150]
    lines = [f" {word} {word.title()}\n{word.title()}" for word in words] * 20 + TEXTS
    trainer = trainers.BpeTrainer(
        vocab_size=1500, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    tiny.train_from_iterator(lines, trainer)
    tiny.add_special_tokens(["<|end|>"])
    tiny.add_tokens([AddedToken("<mask>", lstrip=True, normalized=False), AddedToken("<pad>", rstrip=True, normalized=False),
                     AddedToken("<A\u030a>", normalized=True)])
    return json.loads(tiny.to_str())


def varied(tiny, normalizer, pre_tokenizer, ignore_merges):
    definition = tiny | {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer}
    definition["model"] = tiny["model"] | {"ignore_merges": ignore_merges}
    return Tokenizer.from_str(json.dumps(definition))


def ids(tokenizer, texts):
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


def pieces(tokenizer, texts):
    # Every character of a byte-level piece stands for one byte.
    return [[len(piece) for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)] for text in texts]


TEXTS = sorted(corpus(), key=len)
SHORT = [text for text in TEXTS if len(text) < 150]
tiny = train()
(here / "tiny.json").write_text(json.dumps(tiny, separators=(",", ":")) + "\n")
write("texts.json", TEXTS)
recorded = []
for name, *parts in VARIANTS:
    tokenizer = varied(tiny, *parts)
    recorded.append(dict(zip(("normalizer", "pre_tokenizer", "ignore_merges"), parts), name=name,
                         ids=ids(tokenizer, SHORT), pieces=pieces(tokenizer, SHORT)))
write("tiny_ids.json", recorded)
write("published_ids.json", [
    {"name": name, "ids": ids(Tokenizer.from_file(f"{sys.argv[1]}/{name}/tokenizer.json"), TEXTS)} for name in PUBLISHED])
