"""Any OpenAI-compatible endpoint: `http://host/v1#model-name`, by token ids where the server offers them.

What the server is and can do is found out at the start with a few cheap questions: its models, two addresses
only vLLM or llama.cpp have, and a dozen generated tokens. Keys come from the environment alone.

    engine = await open_engine("http://localhost:8000/v1#Qwen/Qwen3-8B", concurrency=64)
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from thinkcap.core.engine import Engine, EngineCard, SwitchWay, Transport
from thinkcap.core.errors import ConfigError, EngineGarbled, EngineRefused, Unsupported
from thinkcap.core.names import nearest
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import GREEDY, Mode, Question, Request
from thinkcap.dialects import COMMON, Dialect, chosen, default_template, of_model, of_show, recognised
from thinkcap.engines.calling import llama_server_calls, vllm_calls
from thinkcap.engines.canary import Watched
from thinkcap.engines.chat import WIRES, ChatEngine, SwitchField, probe_turn_rules
from thinkcap.engines.client import Client
from thinkcap.engines.fleet import Fleet
from thinkcap.engines.llama_server import HOLDS as LLAMA_HOLDS
from thinkcap.engines.llama_server import LlamaServer
from thinkcap.engines.retry import RetryPolicy, key_for
from thinkcap.engines.speech import NothinkBy, Speech, check_nothink_by, found_dialect
from thinkcap.engines.vllm import DERENDER, VllmServer
from thinkcap.engines.vllm import HOLDS as VLLM_HOLDS

ServerKind = Literal["llama-server", "vllm", "other"]
_PROBE_TOKENS = 16
_HOLDS = {"llama-server": LLAMA_HOLDS, "vllm": VLLM_HOLDS}


async def open_engine(
    model: str,
    *,
    transport: Transport | Literal["auto"] = "auto",
    concurrency: int = 0,
    context: int = 0,
    nothink_by: NothinkBy = "auto",
    prompts: Prompts = PROMPTS,
    dialect: str = "",
    prefills: bool = False,
    opens_thought: bool = False,
    timeout_s: float | None = None,
    retry: RetryPolicy | None = None,
    cuts_overrun: bool = False,
    canary_every: int = 500,
    canary_s: float = 600.0,
    fleet: Fleet | None = None,
) -> Engine:
    """`prefills` and `opens_thought` tell of a chat server what cannot be asked: that a last assistant message is
    continued, and that its answers begin inside the thought. With `cuts_overrun` an answer beyond its limit is cut
    to what fits, and says so; without, it is an error. `fleet` has all servers of the model."""
    check_nothink_by(nothink_by)
    chosen(dialect)
    if transport not in ("auto", "ids", "chat"):
        raise ConfigError(f"unknown transport '{transport}'{nearest(transport, ['auto', 'ids', 'chat'])}")
    base, name = _address(model)
    retry = retry or (RetryPolicy.within(timeout_s) if timeout_s else RetryPolicy())
    connections = max(64, concurrency + 8)
    client = Client(base.removesuffix("/v1"), key_for(base), retry, connections=connections, fleet=fleet)
    try:
        facts = await _facts(client, base, name)
        if transport == "ids" and facts.kind == "other":
            raise Unsupported(
                f"{base} is neither vLLM nor llama-server and offers no token ids; use transport chat"
            )
        facts = replace(facts, concurrency=concurrency or facts.concurrency, context=context or facts.context)
        engine: LlamaServer | VllmServer | ChatEngine
        if transport == "chat" or facts.kind == "other":
            engine = await _chat(
                client, facts, nothink_by, prompts, dialect, prefills, opens_thought, cuts_overrun
            )
        else:
            engine = await _by_ids(client, facts, nothink_by, prompts, dialect)
        return await Watched.begin(engine, canary_every, canary_s)
    except BaseException:
        await client.aclose()
        raise


@dataclass(frozen=True)
class _Facts:
    """What a few GET requests tell."""

    kind: ServerKind
    name: str
    path: str
    """Of the chat endpoint, from the server's root."""
    context: int
    concurrency: int
    version: str = ""
    template: str = ""
    end: str = ""
    root: str = ""
    """What the server calls the place its weights came from."""
    shown: Dialect | None = None
    """What Ollama shows of the model's thinking."""


def _address(model: str) -> tuple[str, str]:
    base, _, name = model.partition("#")
    parts = urlsplit(base)
    try:
        host, _port = parts.hostname, parts.port
    except ValueError as err:
        raise ConfigError(f"'{base}' is not an address ({err}); wanted http://host:port/v1#model-name") from err
    if not host:
        raise ConfigError(f"'{base}' names no host; wanted http://host:port/v1#model-name")
    if parts.username or parts.password:
        raise ConfigError(
            "the address holds a password; keys are taken from THINKCAP_API_KEY or OPENAI_API_KEY only"
        )
    if parts.query:
        raise ConfigError(f"'{base}' has a query part; wanted http://host:port/v1#model-name")
    return base.rstrip("/"), name


async def _facts(client: Client, base: str, name: str) -> _Facts:
    prefix = base.removeprefix(client.base)
    path = f"{prefix}/chat/completions"
    listed = await _models(client, prefix, bool(name))
    if not name:
        if len(listed) != 1:
            raise ConfigError(
                f"{base} serves {len(listed)} models ({', '.join(list(listed)[:5])}); name one: {base}#model-name"
            )
        (name,) = listed
    elif listed and name not in listed and not (name[0] == "/" and all(other[0] != "/" for other in listed)):
        # A folder's path is no name of a list: `transformers serve` lists its cache and loads any folder.
        raise ConfigError(f"{base} does not serve '{name}'{nearest(name, listed)}")
    entry = listed.get(name, {})
    props = await _maybe(client, "/props")
    if "default_generation_settings" in props:
        settings = props["default_generation_settings"]
        return _Facts(
            "llama-server",
            name,
            path,
            context=int(settings.get("n_ctx") or 0),
            concurrency=int(props.get("total_slots") or 1),
            version=f"llama-server {props.get('build_info', '')}".strip(),
            template=default_template(props.get("chat_template")),
            end=str(props.get("eos_token", "")),
        )
    context = int(entry.get("max_model_len") or 0)
    if entry.get("owned_by") == "vllm" or context:
        version = await _maybe(client, "/version")
        if "version" in version and await _returns_ids(client, name):
            root = str(entry.get("root") or "")
            told = await _maybe(client, "/tokenizer_info")
            template = default_template(told.get("chat_template")) or await asyncio.to_thread(_template_file, root)
            version_name = f"vllm {version['version']}"
            return _Facts("vllm", name, path, context, 64, version_name, template=template, root=root)
    shown = await _shown(client, name) if entry.get("owned_by") in ("library", "ollama") else None
    # `transformers serve` calls a model by its folder.
    template = await asyncio.to_thread(_template_file, name) if name.startswith("/") else ""
    return _Facts("other", name, path, context, concurrency=8, template=template, shown=shown)


def _template_file(root: str) -> str:
    """The chat template in a model's folder, where that folder is on this machine."""
    folder = Path(root)
    try:
        if (folder / "chat_template.jinja").is_file():
            return default_template((folder / "chat_template.jinja").read_bytes())
        found = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8")).get("chat_template")
    except (OSError, ValueError, AttributeError):
        return ""
    return default_template(found)


async def _models(client: Client, prefix: str, named: bool) -> dict[str, Mapping[str, Any]]:
    try:
        return await client.get(f"{prefix}/models", lambda j: {str(m["id"]): m for m in j["data"]})
    except EngineRefused as err:
        # A server without the list, or with a broken one, is fine as long as somebody named the model:
        # `transformers serve` answers 500 on a machine without a hub cache.
        if named and (err.status in (404, 405) or err.status >= 500):
            return {}
        raise


async def _maybe(client: Client, path: str) -> Mapping[str, Any]:
    """An address only some servers have: whatever else it says counts as no."""
    try:
        found: Any = await client.get(path)
    except (EngineRefused, EngineGarbled):
        return {}
    return found if isinstance(found, dict) else {}


async def _shown(client: Client, name: str) -> Dialect | None:
    """Ollama's own account of a model; its template is in Go's syntax, so only some of it can be read."""
    try:
        told: Any = await client.post("/api/show", {"model": name}, lambda j: j)
    except (EngineRefused, EngineGarbled):
        return None
    return of_show(told) if isinstance(told, dict) else None


async def _returns_ids(client: Client, name: str) -> bool:
    body = {"model": name, "messages": [{"role": "user", "content": "Hi"}]}
    try:
        ids = await client.post("/tokenize", body, lambda j: list(map(int, j["tokens"])))
        ask = {"model": name, "prompt": ids, "max_tokens": 1, "temperature": 0, "return_token_ids": True}
        return await client.post("/v1/completions", ask, lambda j: isinstance(j["choices"][0]["token_ids"], list))
    except (EngineRefused, EngineGarbled):
        return False


def _card(facts: _Facts, speech: Speech, transport: Transport, **more: Any) -> EngineCard:
    return EngineCard(
        engine="openai",
        model=facts.name,
        fingerprint=facts.name,
        transport=transport,
        context=facts.context,
        concurrency=facts.concurrency,
        version=facts.version,
        holds=_HOLDS.get(facts.kind, ""),
        **speech.card(),
        **more,
    )


async def _by_ids(
    client: Client, facts: _Facts, nothink_by: NothinkBy, prompts: Prompts, dialect: str
) -> LlamaServer | VllmServer:
    probe = _probe(client, facts, prompts)
    speech = await _speech(probe, facts, nothink_by, prompts, dialect)
    close = await probe.tokenize(speech.dialect.marks.close_tag, False)
    marks = speech.dialect.marks
    able = vllm_calls(client, facts.name, DERENDER) if facts.kind == "vllm" else llama_server_calls(client, marks)
    close_id = close[0] if len(close) == 1 else None
    can = {"formats": True, "stops": True, "scores": "any" if facts.kind == "vllm" else "written"}
    card = _card(facts, speech, "ids", close_id=close_id, tools=await able, **can)
    if facts.kind == "vllm":
        return VllmServer(client, card, speech, facts.name)
    end = await probe.tokenize(facts.end, False)
    return LlamaServer(client, card, speech, end_id=end[0] if len(end) == 1 else None)


async def _speech(
    probe: LlamaServer | VllmServer, facts: _Facts, nothink_by: NothinkBy, prompts: Prompts, dialect: str
) -> Speech:
    names = f"{facts.root.rstrip('/').rpartition('/')[2]} {facts.name.rpartition('/')[2]}"
    found = await found_dialect(facts.template, dialect, model=names, render=probe.render)
    return await Speech.found(probe.render, found, nothink_by, prompts)


def _probe(client: Client, facts: _Facts, prompts: Prompts) -> LlamaServer | VllmServer:
    """Good for rendering and tokenizing, before it is known how the modes are made."""
    blank = Speech(COMMON, "none", prompts)
    if facts.kind == "vllm":
        return VllmServer(client, _card(facts, blank, "ids"), blank, facts.name)
    return LlamaServer(client, _card(facts, blank, "ids"), blank)


async def _chat(
    client: Client,
    facts: _Facts,
    nothink_by: NothinkBy,
    prompts: Prompts,
    dialect: str,
    prefills: bool,
    opens: bool,
    cuts_overrun: bool,
) -> ChatEngine:
    if facts.kind == "other":
        speech, wire = await _by_behaviour(client, facts, nothink_by, prompts, dialect, opens)
        speech = replace(speech, turn_rules=await probe_turn_rules(client, facts.path, facts.name))
        count = None
    else:
        probe = _probe(client, facts, prompts)
        speech, wire = await _speech(probe, facts, nothink_by, prompts, dialect), "template"
        count = _counter(client, facts.name)
    card = _card(facts, speech, "chat", formats=True, tools=True, prefills=prefills)
    return ChatEngine(client, card, speech, facts.name, wire, facts.path, count, cuts_overrun)


async def _by_behaviour(
    client: Client, facts: _Facts, nothink_by: NothinkBy, prompts: Prompts, dialect: str, opens: bool
) -> tuple[Speech, SwitchField]:
    """A server that shows no template: the known switches are tried on a short question."""
    told = chosen(dialect)
    if told is None and facts.template:
        told = await found_dialect(facts.template)
    spoken = told or facts.shown or of_model(facts.name) or COMMON
    opens = opens or (told is not None and spoken.prompt_opens_when_on)
    texts: list[str] = []
    question = Question("probe", ({"role": "user", "content": "What is 17 + 25?"},))

    async def thinks(wire: SwitchField, mode: Mode) -> bool | None:
        """Whether a few tokens hold a thought; None where the server refuses the switch."""
        blank = Speech(spoken, "native", prompts, opens=opens)
        engine = ChatEngine(client, _card(facts, blank, "chat"), blank, facts.name, wire, facts.path)
        request = Request(question, mode, _PROBE_TOKENS, stage="probe")
        try:
            output = await engine.generate(await engine.prompt(request), _PROBE_TOKENS, GREEDY)
        except EngineRefused as err:
            if err.status in (400, 422):
                return None
            raise
        texts.append(output.text)
        marks = spoken.marks
        inside = opens and mode == "think" and marks.close_tag not in output.text
        return bool(output.thought) or output.text.lstrip().startswith(marks.open_tag or "\0") or inside

    native = await _wire(thinks) if nothink_by in ("auto", "native") else None
    if native is None and spoken is COMMON and (shown := recognised(texts)) and shown.marks != COMMON.marks:
        # Nobody says how it marks a thought, but its own words do.
        named = ("open_tag", "close_tag", "open", "close", "answer_open", "answer_close", "answer_open_alone")
        spoken = replace(COMMON, found_by="behaviour", **{name: getattr(shown, name) for name in named})
        native = await _wire(thinks) if nothink_by in ("auto", "native") else None
    if nothink_by == "native" and not native:
        raise Unsupported(
            f"no known switch turns thinking off at '{facts.name}'; use --nothink-by block or --nothink-by prompt"
        )
    switch: SwitchWay
    if native:
        switch = "native"
    elif nothink_by != "auto":
        switch = nothink_by
    else:
        switch = "none" if await thinks("", "think") else "prompt"
    return Speech(spoken, switch, prompts, opens=opens), native or ""


async def _wire(thinks: Callable[[SwitchField, Mode], Awaitable[bool | None]]) -> SwitchField | None:
    """The first switch that is taken, thinks when on and does not when off."""
    for wire in WIRES:
        off, on = await asyncio.gather(thinks(wire, "nothink"), thinks(wire, "think"))
        if on and off is False:
            return wire
        if on is False and off is False:
            return None
    return None


def _counter(client: Client, name: str) -> Callable[[str], Awaitable[int]]:
    async def count(text: str) -> int:
        # Each of the two servers reads its own field and ignores the other.
        body = {"model": name, "content": text, "prompt": text, "parse_special": True, "add_special_tokens": False}
        return await client.post("/tokenize", body, lambda j: len(j["tokens"]))

    return count
