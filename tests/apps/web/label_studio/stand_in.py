"""A stand-in for Label Studio 1.23.2 that answers as the real server was seen to answer, in memory.

`real.py` starts the real one; the tests of the sync run on both.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

LEGACY = "0123456789abcdef0123456789abcdef01234567"
PERSONAL = "eyJhbGciOiJIUzI1NiJ9.eyJ0b2tlbl90eXBlIjoicmVmcmVzaCJ9.c2lnbmF0dXJl"
LOCAL = {"detail": "URL resolves to a reserved network address (block: 127.0.0.0/8)"}


class StandIn:
    """A server on a free port of this machine.

    Parameters
    ----------
    allows_legacy : bool
        As with --enable-legacy-api-token.
    calls_local_backends, calls_local_webhooks : bool
        As with the first and the second of the two settings that a backend on this machine needs.
    access_lasts : int
        Requests that a short-lived token is good for.
    """

    def __init__(self, allows_legacy=True, calls_local_backends=False, calls_local_webhooks=False, access_lasts=1000):
        self.allows_legacy = allows_legacy
        self.calls_local_backends, self.calls_local_webhooks = calls_local_backends, calls_local_webhooks
        self.access_lasts = access_lasts
        self.users = [{"id": 1, "email": "lead@example.org"}]
        self.projects, self.tasks, self.views, self.backends, self.webhooks = {}, {}, [], [], []
        self.numbers, self.uses, self.renewals, self.requests = iter(range(1, 10**9)), 0, 0, []
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                given = json.loads(body) if body else None
                stand_in.requests.append(f"{self.command} {parts.path}")
                token = self.headers.get("Authorization", "")
                status, answer = stand_in.answer(self.command, parts.path.rstrip("/"), query, given, token)
                data = json.dumps(answer).encode() if not isinstance(answer, bytes) else answer
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", "http://elsewhere.example.org/")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = do_DELETE = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    # --- answers -----------------------------------------------------------------------------------------------

    def answer(self, method, path, query, body, token):
        if path == "/api/token/refresh":
            return self.renew(body["refresh"])
        if not self.takes(token):
            return 401, {"detail": "Invalid token."}
        match [method, *path.split("/")[2:]]:
            case ["GET", "users"]:
                return 200, self.users
            case ["POST", "users"]:
                return 201, self.add(self.users, {"id": len(self.users) + 1, "email": body["email"]})
            case ["POST", "projects"]:
                defaults = {"sampling": "Sequential sampling", "model_version": "", "show_collab_predictions": True}
                project = {"id": next(self.numbers), **defaults, **body}
                self.projects[project["id"]] = project
                return 201, project
            case ["GET", "projects"]:
                return 200, {"results": list(self.projects.values())}
            case ["GET", "tasks"]:
                return self.page(int(query["project"]), int(query["page"]), int(query["page_size"]))
            case ["GET", "dm", "views"]:
                return 200, [view for view in self.views if view["project"] == int(query["project"])]
            case ["POST", "dm", "views"]:
                return 201, self.add(self.views, {"id": len(self.views) + 1, **body})
            case ["POST", "dm", "actions"]:
                return self.first(int(query["project"]))
            case ["GET", "ml"]:
                return 200, [each for each in self.backends if each["project"] == int(query["project"])]
            case ["POST", "ml"] if self.calls_local_backends:  # which it adds, even if it refuses the webhook
                self.backends.append(body)
                return self.add_webhook({"project": body["project"], "url": f"{body['url']}/webhook"})
            case ["POST", "ml"]:
                return 403, LOCAL
            case ["GET", "webhooks"]:
                return 200, [each for each in self.webhooks if each["project"] == int(query["project"])]
            case ["POST", "webhooks"]:
                return self.add_webhook(body)
            case [_, "projects", id, *rest] if int(id) in self.projects:
                return self.answer_of_project(method, self.projects[int(id)], rest, body)
            case ["POST", "tasks", id, "annotations"]:
                annotation = {"id": next(self.numbers), "was_cancelled": False, "completed_by": 1, **body}
                return 201, self.add(self.tasks[int(id)]["annotations"], annotation)
        return 404, {"detail": "No Project matches the given query."}

    def answer_of_project(self, method, project, rest, body):
        tasks = [task for task in self.tasks.values() if task["project"] == project["id"]]
        match [method, *rest]:
            case ["GET"]:
                return 200, project
            case ["PATCH"]:
                return self.change(project, tasks, body)
            case ["GET", "next"]:
                return self.first(project["id"])
            case ["POST", "import"]:
                return 201, {"task_count": len([self.import_task(project, each) for each in body])}
            case ["POST", "import", "predictions"]:
                return 201, {"created": sum(self.predict(project, each) for each in body)}
            case ["DELETE", "model-versions"]:
                n = sum(len(task["predictions"]) for task in tasks)
                for task in tasks:
                    task["predictions"] = [
                        p for p in task["predictions"] if p["model_version"] != body["model_version"]
                    ]
                if project["model_version"] == body["model_version"]:
                    project["model_version"] = None
                return 200, {"deleted_predictions": n - sum(len(task["predictions"]) for task in tasks)}

    def add_webhook(self, webhook):
        return (201, self.add(self.webhooks, webhook)) if self.calls_local_webhooks else (403, LOCAL)

    @staticmethod
    def add(list_, entry):
        list_.append(entry)
        return entry

    def renew(self, token):
        if token != PERSONAL:
            return 401, {"detail": "Token is invalid"}
        self.uses, self.renewals = 0, self.renewals + 1
        return 200, {"access": f"access-{self.renewals}"}

    def takes(self, token):
        self.uses += 1
        if token.startswith("Token"):
            return self.allows_legacy and token == f"Token {LEGACY}"
        return token == f"Bearer access-{self.renewals}" and self.uses <= self.access_lasts

    def page(self, project, page, size):
        tasks = sorted(
            (task for task in self.tasks.values() if task["project"] == project), key=lambda task: task["id"]
        )
        return 200, {"total": len(tasks), "tasks": tasks[(page - 1) * size : page * size]}

    def change(self, project, tasks, body):
        versions = {p["model_version"] for task in tasks for p in task["predictions"]}
        if body.get("model_version", "") not in versions | {""}:
            return 400, {"detail": "Validation error", "validation_errors": {"model_version": ["doesn't exist"]}}
        if body.get("show_collab_predictions") is False:  # as the real one does
            project["model_version"] = ""
        project.update(body)
        return 200, project

    def import_task(self, project, given):
        task = {"id": next(self.numbers), "project": project["id"], "data": given["data"], "predictions": []}
        ids = {user["email"]: user["id"] for user in self.users}
        task["annotations"] = [
            {
                "id": next(self.numbers),
                "was_cancelled": False,
                "ground_truth": True,
                "updated_at": f"2026-{i:02d}",
                **each,
            }
            | {"completed_by": ids[each["completed_by"]["email"]]}
            for i, each in enumerate(given.get("annotations", ()))
        ]
        self.tasks[task["id"]] = task
        return task

    def predict(self, project, prediction):
        """Add a prediction; False, without an error, if its label is not in the configuration."""
        config = ElementTree.fromstring(project["label_config"])
        known = {choice.get("value") for choice in config.iter("Choice")}
        value = prediction["result"][0]["value"]
        if not set(value.get("choices", ())) <= known:
            return False
        self.tasks[prediction["task"]]["predictions"].append({"id": next(self.numbers), **prediction})
        return True

    def first(self, project):
        """Return the task with the lowest score that user 1 has not labelled."""
        version, found = self.projects[project]["model_version"], []
        for task in self.tasks.values():
            scores = [p["score"] for p in task["predictions"] if p["model_version"] == version]
            if task["project"] == project and scores and all(a["completed_by"] != 1 for a in task["annotations"]):
                found.append((min(scores), task["id"]))
        shown = self.projects[project]["show_collab_predictions"]
        task = self.tasks[min(found)[1]]
        return 200, {"id": task["id"], "predictions": task["predictions"] if shown else []}
