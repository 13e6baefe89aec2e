"""The peer's API: it stores an upload and queues a Celery task, as a Python team would do it.

It takes and answers as much of Inkstream's API as the benchmark uses: POST /v1/jobs and GET /v1/jobs/{id}?wait=.
"""
import asyncio
import os
import uuid

import redis.asyncio as redis
from fastapi import FastAPI, HTTPException, Request

from tasks import DATA, REDIS, split

app = FastAPI()
store = redis.from_url(REDIS, decode_responses=True)


def view(job, record):
    return {"id": job, "state": record["state"], "pageCount": int(record["pageCount"]), "pagesDone": int(record["pagesDone"])}


@app.post("/v1/jobs", status_code=202)
async def upload(request: Request):
    job = uuid.uuid4().hex
    folder = os.path.join(DATA, job)
    os.makedirs(folder)
    with open(os.path.join(folder, "source.pdf"), "wb") as f:
        async for piece in request.stream():
            f.write(piece)
    record = {"state": "PENDING", "pageCount": 0, "pagesDone": 0}
    await store.hset("job:" + job, mapping=record)
    split.delay(job)
    return view(job, record)


@app.get("/v1/jobs/{job}")
async def status(job: str, wait: str = "0s"):
    left = float(wait.rstrip("s"))
    while True:
        record = await store.hgetall("job:" + job)
        if not record:
            raise HTTPException(404)
        if record["state"] == "SUCCEEDED" or left <= 0:
            return view(job, record)
        await asyncio.sleep(0.05)
        left -= 0.05
