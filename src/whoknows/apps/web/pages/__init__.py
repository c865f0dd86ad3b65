"""The pages, one file each: a function per page that gets the request and the store."""

from whoknows.apps.web.pages.routes import router

__all__ = ["router"]
