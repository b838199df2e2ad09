"""Reads a server's answers with the official OpenAI and Anthropic SDKs.

usage: sdk_judge.py MODEL PROMPT MAX_TOKENS BASE_URL...

Prints one JSON object per server: for each API and way of asking, in this
order, what the SDK made of the answer.
"""

import json
import sys

import anthropic
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


def refusal(ask):
    try:
        ask()
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
    return {
        "models": [m.id for m in o.models.list()],
        "answers": {
            "openai-chat streamed": chat_stream(o, chat),
            "openai-chat whole": chat_whole(o, chat),
            "openai-completions streamed": completions_stream(o, completion),
            "openai-completions whole": completions_whole(o, completion),
            "anthropic-messages streamed": anthropic_stream(a, chat),
            "anthropic-messages whole": anthropic_whole(a, chat),
        },
        "refusals": {
            "openai-chat": refusal(lambda: o.chat.completions.create(**unknown)),
            "anthropic-messages": refusal(lambda: a.messages.create(**unknown)),
        },
    }


model, prompt, limit = sys.argv[1:4]
for base in sys.argv[4:]:
    print(json.dumps(judge(base, model, prompt, int(limit))))
