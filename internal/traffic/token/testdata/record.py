"""Records what OpenAI's own tiktoken makes of the texts in corpus.json.

    pip install tiktoken==0.14.0
    python record.py O200K_BASE.TIKTOKEN CL100K_BASE.TIKTOKEN

Each entry of corpus.json gets its "ids" of o200k_base and its "cl100k" ids
rewritten; to add a text, add an entry without them and run this again.
"""

import base64
import json
import pathlib
import sys
from unittest import mock

import tiktoken
import tiktoken_ext.openai_public as public


def ranks(path):
    lines = pathlib.Path(path).read_text().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in map(str.split, lines)}


def encoding(define, path):
    # The published definition downloads its ranks: hand it the local file.
    with mock.patch.object(public, "load_tiktoken_bpe", lambda *_, **__: ranks(path)):
        return tiktoken.Encoding(**define())


o200k, cl100k = encoding(public.o200k_base, sys.argv[1]), encoding(public.cl100k_base, sys.argv[2])

corpus = pathlib.Path(__file__).with_name("corpus.json")
entries = json.loads(corpus.read_text())
for entry in entries:
    entry["ids"] = o200k.encode_ordinary(entry["text"])
    entry["cl100k"] = cl100k.encode_ordinary(entry["text"])
lines = ",\n".join("  " + json.dumps(entry) for entry in entries)
corpus.write_text("[\n" + lines + "\n]\n")
