"""Holds redline's token ids against those of Hugging Face's own library, and
of its embedded vocabularies against those of OpenAI's tiktoken.

    python3 -m venv VENV && VENV/bin/pip install tokenizers==0.23.3 tiktoken==0.14.0
    VENV/bin/python scripts/tokens/compare.py TOKENIZER.JSON… CL100K_BASE.TIKTOKEN…

Run from the repository's root. The texts are the repository's own files, the
recorded corpus, every character of Unicode between others, and random
mixtures of letters, digits, white space, marks, emoji and special tokens.
Characters that this Python's Unicode does not know are left out: what class a
newer character is of depends on how old the reader is.
"""

import base64
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata
from unittest import mock

import tiktoken
import tiktoken_ext.openai_public as public
from tokenizers import Tokenizer

MIXTURE = (
    "aAbBzZsStTlLdDmMrReEvV''  \n\r\t/.!0123456ſßéÀǅʰªאבسلام\u0301\u0327\u0308中文字かなカナ한글"
    "🙂👩‍👩‍👧🇩🇪½Ⅷ٣۴\u00a0\u2003\u3000\u200b\u200d\ufeff\x00\x1c\x7f\x85_-+=<>|#@[](){}$^`~&%\"\\,;:?"
    "สวัสดีनमस्तेதமிழ்\u1100\u1161\u11a8\uac00\u212b\u00c5A\u030a\ufb01²①㎏"
)


def texts(special):
    for path in sorted(pathlib.Path(".").rglob("*")):
        if path.suffix in {".go", ".md", ".py", ".sh", ".txt", ".yaml"} and path.is_file():
            yield path.read_text(errors="replace")[:20000]
    for entry in json.loads(pathlib.Path("internal/traffic/token/testdata/corpus.json").read_text()):
        yield entry["text"]
    for point in list(range(0xD800)) + list(range(0xE000, 0x20000)) + list(range(0xE0000, 0xE0200)):
        c = chr(point)
        if unicodedata.category(c) == "Cn":
            continue
        yield f"aA{c}Bb {c}{c} {c}\n1{c}!{c}'{c}"
    draw = random.Random(1)
    pieces = list(MIXTURE) + ["'ll", "'RE", "'ſ", "\r\n", "   ", "\n \n", "e\u0301" * 3, "\u0301\u0327" * 20] + special
    for _ in range(60000):
        yield "".join(draw.choice(pieces) for _ in range(draw.randint(1, 14)))


def hugging_face(path):
    reference = Tokenizer.from_file(path)
    reference.no_truncation()
    special = [t["content"] for t in json.load(open(path))["added_tokens"]][:12]
    return path, lambda text: reference.encode(text, add_special_tokens=False).ids, special


def openai(path):
    lines = map(str.split, pathlib.Path(path).read_text().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    name = pathlib.Path(path).stem
    # The published definition downloads its ranks: hand it the local file.
    with mock.patch.object(public, "load_tiktoken_bpe", lambda *_, **__: ranks):
        return name, tiktoken.Encoding(**getattr(public, name)()).encode_ordinary, []


def compare(path):
    name, reference, special = (openai if path.endswith(".tiktoken") else hugging_face)(path)
    corpus = list(texts(special))
    lines = "".join(json.dumps(text) + "\n" for text in corpus)
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["go", "build", "-o", f"{work}/tokens", "./scripts/tokens"], check=True)
        done = subprocess.run([f"{work}/tokens", name], input=lines, text=True, capture_output=True)
    if done.returncode:
        return f"{path}: {done.stderr.strip()}"
    total = wrong = 0
    for text, line in zip(corpus, done.stdout.splitlines(), strict=True):
        want = reference(text)
        total += len(want)
        if want != json.loads(line):
            wrong += 1
            if wrong <= 12:
                print(f"{path}: {text[:60]!a}\n  want {want[:30]}\n  got  {line[:120]}")
    return f"{path}: {len(corpus)} texts, {total} tokens, {wrong} texts differ"


verdicts = [compare(path) for path in sys.argv[1:]]
print("\n".join(verdicts))
sys.exit(any(not verdict.endswith(" 0 texts differ") for verdict in verdicts))
