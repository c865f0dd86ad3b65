"""A server in a process of its own, and a client that keeps its connection."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """`whoknows serve FOLDER`, which can be killed and started again."""

    def __init__(self, folder, database=None):
        self.port = free_port()
        options = [] if database is None else ["--database", database]
        self._command = [sys.executable, "-m", "whoknows", "serve", str(folder), "--port", str(self.port), *options]
        self._log = open(os.path.join(folder, "server.log"), "ab")  # noqa: SIM115, closed in `kill`
        self.start()

    def start(self, seconds=60):
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(self._command, stdout=self._log, stderr=self._log)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with suppress(OSError, http.client.HTTPException), closing(Client(self.port)) as client:
                if client.call("GET", "/healthz")[0] == 200:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"the server does not answer; see {self._log.name}")

    def kill(self):
        """End it at once, as a power cut would."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def events(self):
        """Return what it has logged."""
        with open(self._log.name, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.startswith("{")]

    def stop(self):
        self._process.terminate()
        self._process.wait()
        self._log.close()


class Client:
    """One connection; a new one after an error."""

    def __init__(self, port, timeout=30):
        self._address = ("127.0.0.1", port, timeout)
        self._connection = None

    def call(self, method, path, body=None):
        """Return the status and the body of the answer."""
        if self._connection is None:
            host, port, timeout = self._address
            self._connection = http.client.HTTPConnection(host, port, timeout=timeout)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None
