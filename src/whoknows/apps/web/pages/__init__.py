"""The pages, one file each: functions of a summary and a few facts; `routes` reads these from the store."""

from fastapi import APIRouter

from whoknows.apps.web.pages import actions, assets, data_routes, label_routes, people_routes, routes

router = APIRouter()
for part in (assets, routes, actions, data_routes, label_routes, people_routes):
    router.include_router(part.router)

__all__ = ["router"]
