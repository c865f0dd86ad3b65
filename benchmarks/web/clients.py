"""Clients: writers that label at a rate, readers that look at pages, and one that keeps a fit running."""

import http.client
import random
import secrets
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field

from benchmarks.web.project import API, CLASSES
from benchmarks.web.server import Client

PAGES = ("/projects/load/", f"{API}", f"{API}/history?limit=50", "/projects/load/items", f"{API}/fits")


@dataclass
class Seen:
    """What the clients saw: ids of acknowledged labels, seconds since each was due, and errors."""

    acknowledged: list = field(default_factory=list)
    seconds: list = field(default_factory=list)
    errors: list = field(default_factory=list)
    pages: list = field(default_factory=list)


def write(client, seen, ended, rate, n_items, place):
    """Label at a rate; a label that is late counts from when it was due."""
    chance = random.Random(place)
    due = time.monotonic() + chance.random() / rate
    while not ended.is_set():
        time.sleep(max(due - time.monotonic(), 0))
        id = f"{place}-{secrets.token_hex(8)}"
        body = {"item": f"i{chance.randrange(n_items)}", "annotator": f"w{place}", "label": chance.choice(CLASSES)}
        try:
            status, answer = client.call("POST", f"{API}/annotations", body | {"request_id": id})
        except (OSError, http.client.HTTPException) as error:
            seen.errors.append(repr(error))
            time.sleep(0.02)
        else:
            if status == 200:
                seen.acknowledged.append(id)
                seen.seconds.append(time.monotonic() - due)
            else:
                seen.errors.append(f"{status} {answer[:200]!r}")
        due += 1 / rate


def read(client, seen, ended, place):
    """Look at one page after the other, one a second."""
    number = place
    while not ended.is_set():
        number, started = number + 1, time.monotonic()
        with suppress(OSError, http.client.HTTPException):
            status, _ = client.call("GET", PAGES[number % len(PAGES)])
            seen.pages.append((status, time.monotonic() - started))
        ended.wait(1)


def keep_fitting(client, ended):
    """Queue a fit again and again."""
    while not ended.is_set():
        with suppress(OSError, http.client.HTTPException):
            client.call("POST", f"{API}/fits", {})
        ended.wait(1)


def _run(port, job, arguments):
    with closing(Client(port)) as client:
        job(client, *arguments)


def start(port, rate, writers=20, readers=10, n_items=2000):
    """Start all clients; return what they see, and a function that ends them."""
    seen, ended = Seen(), threading.Event()
    jobs = [(write, (seen, ended, rate / writers, n_items, place)) for place in range(writers)]
    jobs += [(read, (seen, ended, place)) for place in range(readers)] + [(keep_fitting, (ended,))]
    threads = [threading.Thread(target=_run, args=(port, *each), daemon=True) for each in jobs]
    for thread in threads:
        thread.start()

    def end():
        ended.set()
        for thread in threads:
            thread.join()

    return seen, end
