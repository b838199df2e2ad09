"""A metronome that shares no code with redline: an OpenAI chat server that
sends a token at exact intervals and writes down when it did.

    python3 metronome.py PORT PACE_SECONDS TRUTH_FILE
"""
import asyncio, json, os, signal, sys, time

PORT, PACE, TRUTH = int(sys.argv[1]), float(sys.argv[2]), open(sys.argv[3], "w")


async def read_request(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    lines = head.split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return lines[0].split()[1], headers, body


def chunk(event):
    data = b"data: " + event + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


async def generate(writer, headers, tokens):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    due, before, after = time.monotonic(), [], []
    for i in range(tokens):
        due += PACE
        await asyncio.sleep(max(0, due - time.monotonic()))
        event = chunk(json.dumps({"choices": [{"index": 0, "delta": {"content": " tick"}}]}).encode())
        before.append(time.time_ns())
        writer.write(event)  # an idle socket is written to at once
        after.append(time.time_ns())
    usage = json.dumps({"choices": [], "usage": {"prompt_tokens": 64, "completion_tokens": tokens}})
    writer.write(chunk(usage.encode()) + chunk(b"[DONE]") + b"0\r\n\r\n")
    line = {"id": headers.get("x-request-id", ""), "conn": "", "before_ns": before, "after_ns": after}
    TRUTH.write(json.dumps(line) + "\n")
    TRUTH.flush()


async def serve(reader, writer):
    try:
        while True:
            path, headers, body = await read_request(reader)
            if path == "/v1/models":
                reply = b'{"data":[{"id":"metronome","owned_by":"test"}]}'
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(reply), reply))
            elif path == "/v1/chat/completions":
                await generate(writer, headers, json.loads(body)["max_tokens"])
            else:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", PORT) as server:
        await server.serve_forever()


signal.signal(signal.SIGINT, lambda *_: os._exit(0))  # the truth is flushed line by line
asyncio.run(main())
