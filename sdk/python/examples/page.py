"""A page with a server of its own: `uvicorn page:app`. It needs no daemon; what `emit` is told appears in every window that is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, StreamingResponse

from turnloom import SessionEventEmitter

emitter = SessionEventEmitter()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    yield
    emitter.close()


app = FastAPI(lifespan=lifespan)


@app.get("/events")
async def events(after: int = 0) -> StreamingResponse:
    headers = {"cache-control": "no-store"}
    return StreamingResponse(emitter.stream(after), media_type="text/event-stream", headers=headers)


@app.post("/build")
async def build(steps: int = 5) -> dict[str, int]:
    await emitter.emit_component("build", "progress", "chat", {"value": 0, "max": steps, "label": "Building"})
    for step in range(1, steps + 1):
        await asyncio.sleep(0.05)
        await emitter.emit_component("build", "progress", "chat", {"value": step}, merge=True)
    return {"steps": steps}


@app.get("/", response_class=HTMLResponse)
async def page() -> str:
    return """<!doctype html><title>Build</title><button>Build</button><progress></progress><script>
      const bar = document.querySelector('progress')
      new EventSource('/events').onmessage = ({ data }) => Object.assign(bar, JSON.parse(data).data.props)
      document.querySelector('button').onclick = () => fetch('/build', { method: 'POST' })
    </script>"""
