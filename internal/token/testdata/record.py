"""Records what OpenAI's own tiktoken makes of the texts in corpus.json.

    pip install tiktoken==0.14.0
    python record.py O200K_BASE.TIKTOKEN

Each entry of corpus.json gets its "ids" rewritten; to add a text, add an
entry without them and run this again.
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


# The published definition downloads its ranks: hand it the local file instead.
with mock.patch.object(public, "load_tiktoken_bpe", lambda *_, **__: ranks(sys.argv[1])):
    encoding = tiktoken.Encoding(**public.o200k_base())

corpus = pathlib.Path(__file__).with_name("corpus.json")
entries = json.loads(corpus.read_text())
for entry in entries:
    entry["ids"] = encoding.encode_ordinary(entry["text"])
lines = ",\n".join("  " + json.dumps(entry) for entry in entries)
corpus.write_text("[\n" + lines + "\n]\n")
