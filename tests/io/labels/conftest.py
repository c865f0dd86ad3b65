import json

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a file: bytes and text as they are, a list of records as JSON."""

    def write_file(name, content):
        path = tmp_path / name
        if isinstance(content, (list, dict)):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file
