"""Holds requests to the types of the official SDKs.

Reads lines {"api": NAME, "body": {...}} and prints a JSON object by API: what
does not fit the SDK's type of the request, as PATH: REASON, and the images that
are where the SDK says, in base64.
"""

import base64
import collections.abc
import dataclasses
import json
import re
import sys
import typing

import ollama
from anthropic.types import message_create_params
from huggingface_hub.inference._generated.types import text_generation
from openai.types import completion_create_params as completions
from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_create_params as responses
from typing_extensions import Annotated, Literal, NotRequired, Required, get_args, get_origin, get_type_hints, is_typeddict


def check(value, kind, path=""):
    """Lists what of a value does not fit a type; a key that a TypedDict lacks does not."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Annotated, Required, NotRequired):
        return check(value, args[0], path)
    if isinstance(kind, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        return check(value, kind.__value__, path)
    if kind in (typing.Any, object):
        return []
    if origin is Literal:
        return [] if value in args else [f"{path}: {value!r} is none of {args}"]
    if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
        tries = [check(value, arg, path) for arg in args]
        return min(tries, key=len)
    if is_typeddict(kind):
        if not isinstance(value, dict):
            return [f"{path}: no {kind.__name__}"]
        hints = get_type_hints(kind, include_extras=True)
        found = [f"{path}.{key}: is not in {kind.__name__}" for key in value if key not in hints]
        found += [f"{path}.{key}: is missing in {kind.__name__}" for key in kind.__required_keys__ if key not in value]
        return found + [p for key in value if key in hints for p in check(value[key], hints[key], f"{path}.{key}")]
    if origin in (list, collections.abc.Iterable, collections.abc.Sequence):
        if not isinstance(value, list):
            return [f"{path}: no list"]
        return [p for i, item in enumerate(value) for p in check(item, args[0], f"{path}[{i}]")]
    if origin in (dict, collections.abc.Mapping):
        return [] if isinstance(value, dict) else [f"{path}: no object"]
    if kind in (None, type(None)):
        return [] if value is None else [f"{path}: not null"]
    if kind is float:
        kind = (int, float)
    try:
        fits = isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool)
    except TypeError:
        fits = False
    return [] if fits else [f"{path}: {value!r:.40} is no {kind}"]


def parts(message):
    return message["content"] if isinstance(message.get("content"), list) else []


def from_url(url):
    return re.fullmatch(r"data:image/png;base64,(.*)", url).group(1)


def ollama_chat(body):
    """Ollama's SDK writes the messages again as it would send them."""
    messages = []
    for m in body["messages"]:
        images = [ollama.Image(value=base64.b64decode(i)) for i in m.get("images", [])]
        messages.append(ollama.Message(**{**m, **({"images": images} if images else {})}))
    again = ollama._types.ChatRequest(**{**body, "messages": messages}).model_dump(exclude_none=True)
    found = [f".{key}: is {body[key]!r:.80}, the SDK sends {again.get(key)!r:.80}" for key in body if again.get(key) != body[key]]
    return found, [i for m in body["messages"] for i in m.get("images", [])]


def ollama_generate(body):
    request = ollama._types.GenerateRequest(**{**body, "images": [ollama.Image(value=base64.b64decode(i)) for i in body["images"]]})
    again = request.model_dump(exclude_none=True)
    found = [f".{key}: is {body[key]!r:.80}, the SDK sends {again.get(key)!r:.80}" for key in body if again.get(key) != body[key]]
    return found, body["images"]


def tgi(body):
    """Images stand in the prompt as Markdown."""
    def others(value, kind, path):
        names = {f.name for f in dataclasses.fields(kind)}
        return [f"{path}.{key}: is not in {kind.__name__}" for key in value if key not in names]
    found = others(body, text_generation.TextGenerationInput, "")
    found += others(body["parameters"], text_generation.TextGenerationInputGenerateParameters, ".parameters")
    text_generation.TextGenerationInput.parse_obj_as_instance(body)
    return found, re.findall(r"!\[\]\(data:image/png;base64,([^)]*)\)", body["inputs"])


judges = {
    "openai-chat": lambda b: (check(b, chat.CompletionCreateParamsStreaming),
                              [from_url(p["image_url"]["url"]) for m in b["messages"] for p in parts(m) if p["type"] == "image_url"]),
    "openai-completions": lambda b: (check(b, completions.CompletionCreateParamsStreaming), []),
    "openai-responses": lambda b: (check(b, responses.ResponseCreateParamsStreaming),
                                   [from_url(p["image_url"]) for m in b["input"] for p in parts(m) if p["type"] == "input_image"]),
    "anthropic-messages": lambda b: (check(b, message_create_params.MessageCreateParamsStreaming),
                                     [p["source"]["data"] for m in b["messages"] for p in parts(m) if p["type"] == "image"]),
    "ollama-chat": ollama_chat,
    "ollama-generate": ollama_generate,
    "tgi-generate": tgi,
}

verdicts = {}
for line in sys.stdin:
    asked = json.loads(line)
    wrong, images = judges[asked["api"]](asked["body"])
    verdicts[asked["api"]] = {"wrong": wrong, "images": images}
print(json.dumps(verdicts))
