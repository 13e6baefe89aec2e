"""The peer's tasks: a document's text by pdfminer, and pages without text by pdftoppm and a warm Tesseract."""
import io
import os
import subprocess

import redis
from celery import Celery
from celery.signals import worker_process_init
from pdfminer.high_level import extract_pages
from pdfminer.layout import LTTextContainer
from PIL import Image

DATA = os.environ["PEER_DATA"]
REDIS = os.environ["PEER_REDIS"]

app = Celery("tasks", broker=REDIS)
app.conf.update(worker_prefetch_multiplier=4, task_acks_late=True, task_ignore_result=True)
store = redis.from_url(REDIS, decode_responses=True)
tesseract = None


@worker_process_init.connect
def load_model(**_):
    """Each worker keeps a Tesseract of its own, because to load the model for every page costs 0.1 s."""
    global tesseract
    import tesserocr

    tesseract = tesserocr.PyTessBaseAPI(lang="eng")


def keep(job, page, text):
    with open(os.path.join(DATA, job, f"page-{page}.txt"), "w", encoding="utf-8") as f:
        f.write(text)


def count(job, pages):
    done = store.hincrby("job:" + job, "pagesDone", pages)
    if done == int(store.hget("job:" + job, "pageCount")):
        store.hset("job:" + job, "state", "SUCCEEDED")


@app.task
def split(job):
    texts = []
    for layout in extract_pages(os.path.join(DATA, job, "source.pdf")):
        texts.append("".join(e.get_text() for e in layout if isinstance(e, LTTextContainer)))
    store.hset("job:" + job, mapping={"state": "RUNNING", "pageCount": len(texts)})
    native = 0
    for page, text in enumerate(texts, 1):
        if text.strip():
            keep(job, page, text)
            native += 1
        else:
            recognise.delay(job, page)
    if native:
        count(job, native)


@app.task
def recognise(job, page):
    source = os.path.join(DATA, job, "source.pdf")
    raster = subprocess.run(
        ["pdftoppm", "-r", "300", "-gray", "-f", str(page), "-l", str(page), source], stdout=subprocess.PIPE, check=True
    ).stdout
    tesseract.SetImage(Image.open(io.BytesIO(raster)))
    keep(job, page, tesseract.GetUTF8Text())
    count(job, 1)
