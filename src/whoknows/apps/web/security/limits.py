"""How large a request may be."""

from __future__ import annotations

import re
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

UPLOAD = re.compile(r"/api/v1/projects/[^/]+/imports|/projects/[^/]+/data")


class LimitedBodies:
    """Middleware: refuses bodies that are too large, by their announced length or when too much has come."""

    def __init__(self, app: Any, max_body: int, max_upload: int) -> None:
        self.app, self.max_body, self.max_upload = app, max_body, max_upload

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        limit = self.max_upload if UPLOAD.fullmatch(scope["path"]) else self.max_body
        too_large = f"Expected at most {limit >> 10} kB."
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > limit:
            return await JSONResponse({"detail": too_large}, 413, {"Connection": "close"})(scope, receive, send)
        seen = 0

        async def counted() -> Any:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise HTTPException(413, too_large, {"Connection": "close"})
            return message

        return await self.app(scope, counted, send)
