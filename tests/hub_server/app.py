"""The Hub's protocol for dataset repositories, as far as ``huggingface_hub`` and ``datasets`` speak it."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

import yaml
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from tests.hub_server.faults import Conduct, FaultMiddleware
from tests.hub_server.store import Commit, Entry, PullRequest, RefusedError, Repo, Store

LARGE = (".parquet", ".bin", ".zip")
"""Ends of the names of files that are stored as large files."""
DATE = "2026-01-02T03:04:05.000Z"


class HubApp:
    """The routes over one store.

    Args:
        store: Where everything is kept.
        conduct: What goes wrong.
        tokens: By token: the user that it belongs to, followed by the organisations in which it may write.
    """

    def __init__(self, store: Store, conduct: Conduct, tokens: Mapping[str, tuple[str, ...]]) -> None:
        self.store, self.tokens = store, tokens
        self.asgi = Starlette(
            routes=[
                self._route("GET", "/api/whoami-v2", self.whoami),
                self._route("POST", "/api/repos/create", self.create),
                self._route("POST", "/api/validate-yaml", self.validate_yaml),
                self._route("GET", "/api/datasets/{owner}/{name}", self.info),
                self._route("GET", "/api/datasets/{owner}/{name}/revision/{revision:path}", self.info),
                self._route("GET", "/api/datasets/{owner}/{name}/refs", self.refs),
                self._route("GET", "/api/datasets/{owner}/{name}/tree/{rest:path}", self.tree),
                self._route("POST", "/api/datasets/{owner}/{name}/paths-info/{revision:path}", self.paths_info),
                self._route("POST", "/api/datasets/{owner}/{name}/preupload/{revision:path}", self.preupload),
                self._route("POST", "/api/datasets/{owner}/{name}/commit/{revision:path}", self.commit),
                self._route("POST", "/api/datasets/{owner}/{name}/tag/{revision:path}", self.tag),
                self._route("GET", "/api/datasets/{owner}/{name}/discussions", self.discussions),
                self._route("POST", "/datasets/{owner}/{name}.git/info/lfs/objects/batch", self.batch),
                self._route("PUT", "/lfs/{oid}", self.upload),
                self._route("POST", "/lfs/{oid}/verify", self.verify),
                self._route("GET", "/datasets/{owner}/{name}/resolve/{rest:path}", self.resolve),
            ],
            middleware=[Middleware(FaultMiddleware, conduct=conduct)],
            exception_handlers={RefusedError: _refuse},
        )

    def _route(self, method: str, path: str, handle: Callable[[Request], Awaitable[Response]]) -> Route:
        return Route(path, handle, methods=[method])

    # Who asks, and for what.

    def _user(self, request: Request) -> tuple[str, ...]:
        """The user and organisations of a request; empty without a token."""
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token and token not in self.tokens:
            raise RefusedError(401, "Invalid credentials in Authorization header")
        return self.tokens.get(token, ())

    def _repo(self, request: Request, *, write: bool = False) -> Repo:
        user = self._user(request)
        repo = self.store.repo(f"{request.path_params['owner']}/{request.path_params['name']}")
        mine = request.path_params["owner"] in user
        if repo.private and not mine:
            raise RefusedError(404 if user else 401, "Repository not found", "RepoNotFound")
        if write and not mine:
            raise RefusedError(403 if user else 401, f"you have no write access to {repo.name}")
        return repo

    async def whoami(self, request: Request) -> Response:
        user = self._user(request)
        if not user:
            raise RefusedError(401, "Invalid username or password.")
        return JSONResponse({"type": "user", "name": user[0], "orgs": [{"name": name} for name in user[1:]]})

    # Repositories.

    async def create(self, request: Request) -> Response:
        wanted, user = await request.json(), self._user(request)
        if not user:
            raise RefusedError(401, "Invalid username or password.")
        owner = wanted.get("organization") or user[0]
        if owner not in user:
            raise RefusedError(403, f"You don't have the rights to create a dataset under the namespace {owner!r}")
        name = f"{owner}/{wanted['name']}"
        answer = {"url": f"{_base(request)}/datasets/{name}", "name": name, "id": name}
        if name in self.store.repos:
            return JSONResponse(answer | {"error": "You already created this dataset repo"}, 409)
        self.store.create(name, private=wanted.get("visibility") == "private")
        return JSONResponse(answer)

    async def info(self, request: Request) -> Response:
        repo = self._repo(request)
        oid = repo.find(request.path_params.get("revision", "main"))
        return JSONResponse(
            {
                "id": repo.name,
                "sha": oid,
                "author": repo.name.partition("/")[0],
                "private": repo.private,
                "gated": False,
                "disabled": False,
                "lastModified": DATE,
                "createdAt": DATE,
                "downloads": 0,
                "likes": 0,
                "tags": [],
                "siblings": [{"rfilename": path} for path in sorted(repo.commits[oid].tree)],
            }
        )

    async def refs(self, request: Request) -> Response:
        repo = self._repo(request)
        facts: dict[str, Any] = {
            "branches": [{"name": "main", "ref": "refs/heads/main", "targetCommit": repo.head}],
            "tags": [{"name": name, "ref": f"refs/tags/{name}", "targetCommit": oid} for name, oid in repo.tags.items()],
            "converts": [],
        }
        if request.query_params.get("include_prs"):
            pulls = {name: oid for name, oid in repo.refs.items() if name.startswith("refs/pr/")}
            facts["pullRequests"] = [{"name": name[5:], "ref": name, "targetCommit": oid} for name, oid in pulls.items()]
        return JSONResponse(facts)

    async def tag(self, request: Request) -> Response:
        repo, name = self._repo(request, write=True), (await request.json())["tag"]
        oid = repo.find(request.path_params["revision"])
        if name in repo.refs:
            raise RefusedError(409, f"Tag reference {name} already exists")
        repo.refs[name] = oid
        return JSONResponse({})

    async def discussions(self, request: Request) -> Response:
        repo, asked = self._repo(request), request.query_params.get("status", "open")
        found = [
            {
                "num": pull.number,
                "title": pull.title,
                "author": {"name": pull.author},
                "status": pull.status,
                "createdAt": DATE,
                "isPullRequest": True,
                "repo": {"name": repo.name, "type": "dataset"},
            }
            for pull in repo.pulls
            if asked in (pull.status, "all")
        ]
        start = 50 * int(request.query_params.get("p", 0))
        return JSONResponse({"discussions": found[start : start + 50], "count": len(found), "start": start})

    # Writing.

    async def validate_yaml(self, request: Request) -> Response:
        text = (await request.json())["content"]
        try:
            facts = yaml.safe_load(text.split("---\n")[1]) if text.startswith("---\n") else {}
            error = "" if isinstance(facts, dict) else "expected a mapping"
        except yaml.YAMLError as fault:
            error = str(fault)
        return JSONResponse({"errors": [{"message": error}] if error else [], "warnings": []}, 400 if error else 200)

    async def preupload(self, request: Request) -> Response:
        repo = self._repo(request, write="create_pr" not in request.query_params)
        tree = repo.commits[repo.find(request.path_params["revision"])].tree
        files = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(LARGE) else "regular",
                "shouldIgnore": False,
                "oid": tree[file["path"]].oid if file["path"] in tree else None,
            }
            for file in (await request.json())["files"]
        ]
        return JSONResponse({"files": files})

    async def batch(self, request: Request) -> Response:
        self._repo(request)
        objects = []
        for wanted in (await request.json())["objects"]:
            facts: dict[str, Any] = {"oid": wanted["oid"], "size": wanted["size"]}
            if not self.store.blob(wanted["oid"]).is_file():
                href = f"{_base(request)}/lfs/{wanted['oid']}"
                facts["actions"] = {"upload": {"href": href, "header": {}}, "verify": {"href": f"{href}/verify", "header": {}}}
            objects.append(facts)
        return JSONResponse({"transfer": "basic", "objects": objects}, media_type="application/vnd.git-lfs+json")

    async def upload(self, request: Request) -> Response:
        if self.store.put(await request.body(), large=True).blob != request.path_params["oid"]:
            raise RefusedError(400, "the content has another SHA-256")
        return Response()

    async def verify(self, request: Request) -> Response:
        if self.store.entry(request.path_params["oid"], large=True).size != (await request.json())["size"]:
            raise RefusedError(400, "the content has another size")
        return JSONResponse({})

    async def commit(self, request: Request) -> Response:
        proposed = "create_pr" in request.query_params
        repo, user = self._repo(request, write=not proposed), self._user(request)
        if not user:
            raise RefusedError(401, "Invalid username or password.")
        revision = request.path_params["revision"]
        parent, tree, title = repo.find(revision), {}, ""
        tree.update(repo.commits[parent].tree)
        for line in (await request.body()).splitlines():
            item = json.loads(line)
            key, value = item["key"], item["value"]
            if key == "header":
                title = value["summary"]
                if value.get("parentCommit", parent) != parent:
                    raise RefusedError(412, "A commit has happened since. Please refresh and try again.")
            elif key == "file":
                tree[value["path"]] = self.store.put(base64.b64decode(value["content"]), large=False)
            elif key == "lfsFile":
                tree[value["path"]] = self.store.entry(value["oid"], large=True)
            elif key == "deletedFile":
                del tree[value["path"]]
            else:
                raise RefusedError(400, f"unknown operation {key!r}")
        pull = PullRequest(len(repo.pulls) + 1, title, user[0])
        oid = repo.add(Commit(tree, title, parent), f"refs/pr/{pull.number}" if proposed else revision)
        url = f"{_base(request)}/datasets/{repo.name}"
        answer = {"success": True, "commitOid": oid, "commitUrl": f"{url}/commit/{oid}", "hookOutput": ""}
        if proposed:
            repo.pulls.append(pull)
            answer["pullRequestUrl"] = f"{url}/discussions/{pull.number}"
        return JSONResponse(answer)

    # Reading.

    async def tree(self, request: Request) -> Response:
        repo = self._repo(request)
        oid, folder = repo.split(request.path_params["rest"])
        below = {path: entry for path, entry in repo.commits[oid].tree.items() if not folder or path.startswith(f"{folder}/")}
        if folder and not below:
            raise RefusedError(404, f"{folder} does not exist on {oid}", "EntryNotFound")
        deep = request.query_params.get("recursive", "").lower() in ("1", "true")
        return JSONResponse(_listing(below, folder, deep, repo.commits[oid].title, oid))

    async def paths_info(self, request: Request) -> Response:
        repo = self._repo(request)
        oid = repo.find(request.path_params["revision"])
        kind = request.headers.get("content-type", "")
        if kind.startswith("application/json"):
            wanted = (await request.json())["paths"]
        else:
            wanted = (await request.form()).getlist("paths")
        listing = _listing(repo.commits[oid].tree, "", True, repo.commits[oid].title, oid)
        return JSONResponse([item for item in listing if item["path"] in wanted])

    async def resolve(self, request: Request) -> Response:
        repo = self._repo(request)
        oid, path = repo.split(request.path_params["rest"])
        entry = repo.commits[oid].tree.get(path)
        if entry is None:
            raise RefusedError(404, "Entry not found", "EntryNotFound")
        headers = {"X-Repo-Commit": oid, "ETag": f'"{entry.oid}"'}
        if entry.large:
            headers |= {"X-Linked-Size": str(entry.size), "X-Linked-ETag": f'"{entry.blob}"'}
        return FileResponse(self.store.blob(entry.blob), headers=headers)  # Also answers HEAD, and ranges.


def _base(request: Request) -> str:
    return str(request.base_url).rstrip("/")


def _listing(tree: Mapping[str, Entry], folder: str, deep: bool, title: str, oid: str) -> list[dict[str, Any]]:
    """Files and folders below a folder, or right in it."""
    last = {"lastCommit": {"id": oid, "title": title, "date": DATE}}
    found: dict[str, dict[str, Any]] = {}
    for path, entry in sorted(tree.items()):
        for parent in reversed(PurePosixPath(path).parents[:-1]):
            found.setdefault(str(parent), {"type": "directory", "oid": "0" * 40, "size": 0, "path": str(parent), **last})
        found[path] = {"type": "file", "oid": entry.oid, "size": entry.size, "path": path, **last}
        if entry.large:
            found[path]["lfs"] = {"oid": entry.blob, "size": entry.size, "pointerSize": 130}
    depth = folder.count("/") + 2 if folder else 1
    return [
        item
        for path, item in found.items()
        if path != folder and (not folder or path.startswith(f"{folder}/")) and (deep or path.count("/") + 1 == depth)
    ]


async def _refuse(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    headers = {"X-Error-Message": error.message} | ({"X-Error-Code": error.code} if error.code else {})
    return JSONResponse({"error": error.message}, error.status, headers)
