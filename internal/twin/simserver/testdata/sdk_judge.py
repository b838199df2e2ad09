"""Reads a server's answers with the official SDKs of the APIs that it speaks.

usage: sdk_judge.py MODEL PROMPT MAX_TOKENS BASE_URL...

Prints one JSON object per server: for each API and way of asking, in this
order, what the SDK made of the answer.
"""

import base64
import json
import struct
import sys
import zlib

import anthropic
import huggingface_hub
import ollama
import openai


def openai_usage(usage):
    prompt = usage.prompt_tokens_details
    output = usage.completion_tokens_details
    return {
        "prompt_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "cached_tokens": (prompt.cached_tokens or 0) if prompt else 0,
        "reasoning_tokens": (output.reasoning_tokens or 0) if output else 0,
    }


def anthropic_usage(usage):
    cached = usage.cache_read_input_tokens or 0
    created = usage.cache_creation_input_tokens or 0
    return {
        "prompt_tokens": usage.input_tokens + cached + created,
        "output_tokens": usage.output_tokens,
        "cached_tokens": cached,
    }


def answer(**found):
    empty = {"text": "", "reasoning": "", "tool": "", "arguments": None, "finish": "", "outputs": 0, "usage": {}}
    return {**empty, **found}


def reasoning_of(message):
    return getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None) or ""


def chat_stream(client, asked):
    got, arguments = answer(), ""
    stream = client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    for chunk in stream:
        if chunk.usage:
            got["usage"] = openai_usage(chunk.usage)
        for choice in chunk.choices:
            calls = choice.delta.tool_calls or []
            for call in calls:
                got["tool"] += call.function.name or ""
                arguments += call.function.arguments or ""
            got["text"] += choice.delta.content or ""
            got["reasoning"] += reasoning_of(choice.delta)
            got["finish"] = choice.finish_reason or got["finish"]
            got["outputs"] += bool(calls or choice.delta.content or reasoning_of(choice.delta))
    got["arguments"] = json.loads(arguments) if arguments else None
    return got


def chat_whole(client, asked):
    reply = client.chat.completions.create(**asked)
    message, finish = reply.choices[0].message, reply.choices[0].finish_reason
    got = answer(text=message.content or "", reasoning=reasoning_of(message), finish=finish,
                 usage=openai_usage(reply.usage))
    for call in message.tool_calls or []:
        got["tool"], got["arguments"] = call.function.name, json.loads(call.function.arguments)
    return got


def completions_stream(client, asked):
    got = answer()
    for chunk in client.completions.create(**asked, stream=True, stream_options={"include_usage": True}):
        if chunk.usage:
            got["usage"] = openai_usage(chunk.usage)
        for choice in chunk.choices:
            got["text"] += choice.text
            got["finish"] = choice.finish_reason or got["finish"]
            got["outputs"] += bool(choice.text)
    return got


def completions_whole(client, asked):
    reply = client.completions.create(**asked)
    return answer(text=reply.choices[0].text, finish=reply.choices[0].finish_reason, usage=openai_usage(reply.usage))


def anthropic_message(message):
    got = answer(finish=message.stop_reason, usage=anthropic_usage(message.usage))
    for block in message.content:
        if block.type == "text":
            got["text"] += block.text
        elif block.type == "thinking":
            got["reasoning"] += block.thinking
        elif block.type == "tool_use":
            got["tool"], got["arguments"] = block.name, block.input
    return got


def anthropic_stream(client, asked):
    outputs = 0
    with client.messages.stream(**asked) as stream:
        for event in stream:
            # A tool's name comes with the start of its block.
            named = event.type == "content_block_start" and event.content_block.type == "tool_use"
            delta = event.type == "content_block_delta" and event.delta.type != "signature_delta"
            outputs += delta or named
        got = anthropic_message(stream.get_final_message())
    got["outputs"] = outputs
    return got


def anthropic_whole(client, asked):
    return anthropic_message(client.messages.create(**asked))


def responses_usage(usage):
    return {
        "prompt_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "cached_tokens": usage.input_tokens_details.cached_tokens,
        "reasoning_tokens": usage.output_tokens_details.reasoning_tokens,
    }


def response_answer(reply):
    got = answer(text=reply.output_text, usage=responses_usage(reply.usage))
    got["finish"] = reply.incomplete_details.reason if reply.incomplete_details else reply.status
    for item in reply.output:
        if item.type == "reasoning":
            got["reasoning"] += "".join(part.text for part in item.content or [])
        elif item.type == "function_call":
            got["tool"], got["arguments"] = item.name, json.loads(item.arguments)
    return got


def responses_stream(client, asked):
    """Checks the deltas against the whole that the SDK is given at the end."""
    outputs, deltas, got = 0, "", None
    for event in client.responses.create(**asked, stream=True):
        named = event.type == "response.output_item.added" and event.item.type == "function_call"
        outputs += named or event.type.endswith(".delta")
        if event.type == "response.output_text.delta":
            deltas += event.delta
        if event.type in ("response.completed", "response.incomplete"):
            got = response_answer(event.response)
    assert deltas == got["text"], (deltas, got)
    got["outputs"] = outputs
    return got


def ollama_usage(reply):
    return {"prompt_tokens": reply.prompt_eval_count, "output_tokens": reply.eval_count}


def ollama_calls(got, message):
    for call in message.tool_calls or []:
        got["tool"], got["arguments"] = call.function.name, dict(call.function.arguments)


def ollama_chat_stream(client, asked):
    got = answer()
    for part in client.chat(**asked, stream=True):
        got["text"] += part.message.content or ""
        got["reasoning"] += part.message.thinking or ""
        ollama_calls(got, part.message)
        got["outputs"] += bool(part.message.content or part.message.thinking or part.message.tool_calls)
        if part.done:
            got["finish"], got["usage"] = part.done_reason, ollama_usage(part)
    return got


def ollama_chat_whole(client, asked):
    reply = client.chat(**asked)
    got = answer(text=reply.message.content, reasoning=reply.message.thinking or "", finish=reply.done_reason,
                 usage=ollama_usage(reply))
    ollama_calls(got, reply.message)
    return got


def ollama_generate_stream(client, asked):
    got = answer()
    for part in client.generate(**asked, stream=True):
        got["text"] += part.response or ""
        got["reasoning"] += part.thinking or ""
        got["outputs"] += bool(part.response or part.thinking)
        if part.done:
            got["finish"], got["usage"] = part.done_reason, ollama_usage(part)
    return got


def ollama_generate_whole(client, asked):
    reply = client.generate(**asked)
    return answer(text=reply.response, reasoning=reply.thinking or "", finish=reply.done_reason, usage=ollama_usage(reply))


def tgi_stream(base, asked):
    got = answer()
    client = huggingface_hub.InferenceClient(base + "/generate_stream")
    for part in client.text_generation(**asked, stream=True, details=True):
        if not part.token.special:
            got["text"] += part.token.text
            got["outputs"] += 1
        if part.details:
            got["finish"] = part.details.finish_reason
            got["usage"] = {"prompt_tokens": part.details.input_length, "output_tokens": part.details.generated_tokens}
    return got


def tgi_whole(base, asked):
    client = huggingface_hub.InferenceClient(base + "/generate")
    reply = client.text_generation(**asked, details=True, decoder_input_details=True)
    return answer(text=reply.generated_text, finish=reply.details.finish_reason,
                  usage={"prompt_tokens": len(reply.details.prefill), "output_tokens": reply.details.generated_tokens})


def vectors(client, asked):
    """What the SDK asks for unless told otherwise is base64."""
    packed = client.embeddings.create(**asked)
    plain = client.embeddings.create(**asked, encoding_format="float", dimensions=8)
    same = all(abs(a - b) < 1e-6 for a, b in zip(
        client.embeddings.create(**asked, dimensions=8).data[0].embedding, plain.data[0].embedding))
    return {"vectors": len(packed.data), "length": len(packed.data[0].embedding), "short": len(plain.data[0].embedding),
            "same": same, "prompt_tokens": packed.usage.prompt_tokens}


def png(side):
    """A gray square."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress((b"\0" + b"\x80" * side) * side)) + chunk(b"IEND", b"")


def images(o, a, l, model, prompt, side):
    """How many tokens two images add to a prompt that each SDK sends."""
    raw = png(side)
    data = base64.b64encode(raw).decode()
    url = "data:image/png;base64," + data

    def chat(parts):
        content = [{"type": "text", "text": prompt}] + parts
        return o.chat.completions.create(model=model, max_tokens=2, messages=[{"role": "user", "content": content}]).usage.prompt_tokens

    def response(parts):
        content = [{"type": "input_text", "text": prompt}] + parts
        return o.responses.create(model=model, max_output_tokens=2, input=[{"role": "user", "content": content}]).usage.input_tokens

    def message(parts):
        content = [{"type": "text", "text": prompt}] + parts
        usage = a.messages.create(model=model, max_tokens=2, messages=[{"role": "user", "content": content}]).usage
        return anthropic_usage(usage)["prompt_tokens"]

    def told(parts):
        return l.chat(model=model, messages=[{"role": "user", "content": prompt, "images": parts}], options={"num_predict": 2}).prompt_eval_count

    def shown(parts):
        return l.generate(model=model, prompt=prompt, images=parts, options={"num_predict": 2}).prompt_eval_count

    part = {"openai-chat": (chat, {"type": "image_url", "image_url": {"url": url}}),
            "openai-responses": (response, {"type": "input_image", "image_url": url, "detail": "auto"}),
            "anthropic-messages": (message, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}),
            "ollama-chat": (told, raw), "ollama-generate": (shown, raw)}
    return {api: ask([one, one]) - ask([]) for api, (ask, one) in part.items()}


def calls(o, a, l, model, prompt):
    """The tool that a reply calls where each SDK offers one and demands a call."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"]}
    function = {"name": "forecast", "description": "the weather", "parameters": schema}
    messages = [{"role": "user", "content": prompt}]
    tool = {"type": "function", "function": function}
    chat = o.chat.completions.create(model=model, messages=messages, tools=[tool], tool_choice="required", max_tokens=200)
    response = o.responses.create(model=model, input=messages, tools=[{"type": "function", "strict": False, **function}], tool_choice="required", max_output_tokens=200)
    message = a.messages.create(model=model, messages=messages, max_tokens=200, tool_choice={"type": "any"},
                                tools=[{"name": "forecast", "description": "the weather", "input_schema": schema}])
    told = l.chat(model=model, messages=messages, tools=[tool], options={"num_predict": 200})
    found = {
        "ollama-chat": [(c.function.name, dict(c.function.arguments)) for c in told.message.tool_calls or []],
        "openai-chat": [(c.function.name, json.loads(c.function.arguments)) for c in chat.choices[0].message.tool_calls or []],
        "openai-responses": [(i.name, json.loads(i.arguments)) for i in response.output if i.type == "function_call"],
        "anthropic-messages": [(b.name, b.input) for b in message.content if b.type == "tool_use"],
    }
    return {api: " ".join(f"{name} {sorted((k, type(v).__name__) for k, v in arguments.items())}" for name, arguments in made) for api, made in found.items()}


def refusal(ask):
    try:
        ask()
    except ollama.ResponseError as error:
        return f"{type(error).__name__} {error.status_code}"
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        return f"{type(error).__name__} {error.status_code}"
    return "none"


def judge(base, model, prompt, limit):
    o = openai.OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
    a = anthropic.Anthropic(base_url=base, api_key="none", max_retries=0)
    messages = [{"role": "user", "content": prompt}]
    chat = {"model": model, "messages": messages, "max_tokens": limit}
    completion = {"model": model, "prompt": prompt, "max_tokens": limit}
    unknown = {**chat, "model": "no-such-model"}
    l = ollama.Client(host=base)
    options = {"num_predict": limit}
    told = {"model": model, "messages": messages, "options": options}
    shown = {"model": model, "prompt": prompt, "options": options}
    response = {"model": model, "input": messages, "max_output_tokens": limit}
    generation = {"prompt": prompt, "max_new_tokens": limit}
    return {
        "models": [m.id for m in o.models.list()],
        "answers": {
            "openai-chat streamed": chat_stream(o, chat),
            "openai-chat whole": chat_whole(o, chat),
            "openai-completions streamed": completions_stream(o, completion),
            "openai-completions whole": completions_whole(o, completion),
            "anthropic-messages streamed": anthropic_stream(a, chat),
            "anthropic-messages whole": anthropic_whole(a, chat),
            "openai-responses streamed": responses_stream(o, response),
            "openai-responses whole": response_answer(o.responses.create(**response)),
            "tgi-generate streamed": tgi_stream(base, generation),
            "tgi-generate whole": tgi_whole(base, generation),
            "ollama-chat streamed": ollama_chat_stream(l, told),
            "ollama-chat whole": ollama_chat_whole(l, told),
            "ollama-generate streamed": ollama_generate_stream(l, shown),
            "ollama-generate whole": ollama_generate_whole(l, shown),
        },
        "images": images(o, a, l, model, prompt, 84),
        "calls": calls(o, a, l, model, prompt),
        "embeddings": vectors(o, {"model": model, "input": [prompt, prompt]}),
        "refusals": {
            "openai-chat": refusal(lambda: o.chat.completions.create(**unknown)),
            "anthropic-messages": refusal(lambda: a.messages.create(**unknown)),
            "ollama-chat": refusal(lambda: l.chat(**{**told, "model": "no-such-model"})),
        },
    }


model, prompt, limit = sys.argv[1:4]
for base in sys.argv[4:]:
    print(json.dumps(judge(base, model, prompt, int(limit))))
