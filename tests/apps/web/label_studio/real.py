"""The real Label Studio: started from a virtual environment, on a free port, with its data in a folder."""

import os
import socket
import subprocess
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.apps.web.label_studio.stand_in import LEGACY

PATIENCE = 600  # seconds for the first start, which makes the database
QUIET = {"COLLECT_ANALYTICS": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "", "LATEST_VERSION_CHECK": "false"}
LOCAL_BACKENDS = {"ML_BLOCK_LOCAL_IP": "false", "SSRF_PROTECTION_ENABLED": "false"}


class RealLabelStudio:
    """A server with one user and a legacy token."""

    def __init__(self, environment, folder, reaches_local_backends=False):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ["--no-browser", "--internal-host", "127.0.0.1", "--port", port, "--data-dir", folder]
        options += ["--username", "lead@example.org", "--password", "secret-pass-1", "--user-token", LEGACY]
        command = [Path(environment, "bin", "label-studio"), "start", *options, "--enable-legacy-api-token"]
        settings = QUIET | {"NO_PROXY": "127.0.0.1"} | (LOCAL_BACKENDS if reaches_local_backends else {})
        self.url = f"http://127.0.0.1:{port}"
        with open(Path(folder, "log"), "w") as log:
            how = {"env": os.environ | settings, "stdout": log, "stderr": subprocess.STDOUT}
            self.process = subprocess.Popen(list(map(str, command)), **how)
        self.wait()

    def wait(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            try:
                return urlopen(f"{self.url}/health", timeout=5).close()
            except (URLError, OSError):
                time.sleep(1)
        raise RuntimeError("Label Studio does not start; its log is in its folder.")

    def close(self):
        self.process.terminate()
        self.process.wait(30)
