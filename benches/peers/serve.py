#!/usr/bin/env python3
"""The service of `examples/serve.rs` in FastAPI, uvicorn and PyTorch: the same paths, batches and model.

Needs a Python with torch, transformers, fastapi and uvicorn[standard]. Usage: python benches/peers/serve.py [--compare SECONDS]

Without arguments it serves target/minilm on 127.0.0.1:8081. With --compare it starts both services and tests them in turn
with `examples/load_test.rs` (`cargo build --release -p module-serve --examples` first).
"""

import asyncio
import pathlib
import subprocess
import sys
import time
import urllib.request
from contextlib import asynccontextmanager

ROOT = pathlib.Path(__file__).resolve().parents[2]
MINILM = ROOT / "target/minilm"
PROGRAMS = ROOT / "target/release/examples"
MAX_BATCH, MAX_WAIT, MAX_QUEUE, MAX_TEXTS, MAX_TOKENS = 32, 0.002, 512, 32, 256


def build():
    import torch
    from fastapi import FastAPI
    from fastapi.responses import JSONResponse, PlainTextResponse
    from pydantic import BaseModel
    from tokenizers import Tokenizer
    from torch.nn import functional as F
    from transformers import BertModel

    tokenizer = Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    model = BertModel.from_pretrained(MINILM, add_pooling_layer=False).eval()
    queue, waiting = asyncio.Queue(), 0

    @torch.inference_mode()
    def embed(texts):
        longest = max(map(len, texts))
        ids = torch.tensor([text + [0] * (longest - len(text)) for text in texts])
        mask = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in texts])
        hidden = model(ids, attention_mask=mask).last_hidden_state
        mask = mask.unsqueeze(-1)
        return F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1).tolist()

    async def work():
        nonlocal waiting
        loop, job = asyncio.get_running_loop(), None
        while True:
            batch = [job or await queue.get()]
            job, count, end = None, len(batch[0][0]), loop.time() + MAX_WAIT
            while count < MAX_BATCH:
                try:
                    # Requests that are already waiting are taken, however late it is.
                    job = queue.get_nowait() if queue.qsize() else await asyncio.wait_for(queue.get(), end - loop.time())
                except TimeoutError:
                    break
                if count + len(job[0]) > MAX_BATCH:
                    break
                batch.append(job)
                count, job = count + len(job[0]), None
            waiting -= count
            # In a thread, so that requests can be read in the meantime.
            rows = iter(await loop.run_in_executor(None, embed, [text for texts, _ in batch for text in texts]))
            for texts, answer in batch:
                own = [next(rows) for _ in texts]
                if not answer.done():
                    answer.set_result(own)

    class Request(BaseModel):
        texts: list[str]

    @asynccontextmanager
    async def life(_):
        worker = asyncio.create_task(work())
        yield
        worker.cancel()

    app = FastAPI(lifespan=life)

    @app.post("/embed")
    async def answer(request: Request):
        nonlocal waiting
        texts = [text.ids for text in tokenizer.encode_batch(request.texts)]
        if not 0 < len(texts) <= MAX_TEXTS or max(map(len, texts)) > MAX_TOKENS:
            return JSONResponse({"error": "too many texts, or too long"}, 422)
        if waiting + len(texts) > MAX_QUEUE:
            return JSONResponse({"error": "full"}, 503, {"Retry-After": "1"})
        waiting += len(texts)
        future = asyncio.get_running_loop().create_future()
        queue.put_nowait((texts, future))
        # Returned as it is: a response model would only validate it again.
        return JSONResponse({"embeddings": await asyncio.wait_for(future, 10), "version": 1})

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.get("/metrics")
    async def metrics():
        status = pathlib.Path("/proc/self/status").read_text()
        kibibytes = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
        return PlainTextResponse(f"process_resident_memory_bytes {kibibytes * 1024}\n")

    return app


def serve():
    import uvicorn

    uvicorn.run(build(), host="127.0.0.1", port=8081, log_level="warning")


def compare(seconds):
    servers = {
        "ours": ([PROGRAMS / "serve", "--listen", "127.0.0.1:8080", "--model", MINILM], 8080),
        "FastAPI": ([sys.executable, __file__], 8081),
    }
    running = {name: subprocess.Popen(command) for name, (command, _) in servers.items()}
    try:
        for _, port in servers.values():
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health")
                    break
                except OSError:
                    time.sleep(0.1)
        # The first turn is a warmup.
        for turn, (connections, length) in enumerate([(8, 2), *[(1, seconds), (8, seconds), (32, seconds)] * 2]):
            for name, (_, port) in servers.items():
                print(f"\n{name}{'' if turn else ', warming up'}", flush=True)
                arguments = {"--address": f"127.0.0.1:{port}", "--connections": connections, "--seconds": length}
                words = [str(word) for pair in arguments.items() for word in pair]
                subprocess.run([PROGRAMS / "load_test", *words], check=True)
    finally:
        for process in running.values():
            process.terminate()
            process.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compare"]:
        compare(int(sys.argv[2]))
    else:
        serve()
