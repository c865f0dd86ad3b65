"""The API, /api/v1: one file per resource."""

from fastapi import APIRouter

from whoknows.apps.web.api import accounts, annotations, exports, fits, imports, items, labelling, projects, results
from whoknows.apps.web.api.common import ANSWERS

router = APIRouter(prefix="/api/v1", responses=ANSWERS)
for _resource in (projects, items, annotations, labelling, fits, results, imports, exports, accounts):
    router.include_router(_resource.router)

__all__ = ["router"]
