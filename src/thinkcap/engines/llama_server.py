"""llama.cpp's server, by token ids: ours inside this process or anyone's at an address.

What its `/completion` does, measured: `n_predict` counts the end-of-turn token, `tokens` hold it, and
`stop_type` is `eos` also when it is exactly the last token allowed.

    engine = LlamaServer(client, card, speech)
    output = await engine.generate(await engine.prompt(request), 64, GREEDY)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from thinkcap.core.engine import Emit, EngineCard, Output, Prompt
from thinkcap.core.errors import EngineGarbled
from thinkcap.core.recent import Recent
from thinkcap.core.scores import TOP, Scores, Unsure
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Ids, Message, Request, Sampling
from thinkcap.engines.answers import ChatAnswer, ChatReply, read_answer, read_event
from thinkcap.engines.background import run_in_background
from thinkcap.engines.binding import bound, constraints, fitting, grammar
from thinkcap.engines.calling import (
    begun,
    called,
    calls,
    choice_of,
    forced_schema,
    forcibly_called,
    held_to,
    rendering,
    told_as_chat,
    without_choice,
)
from thinkcap.engines.canary import ServedName
from thinkcap.engines.client import Client
from thinkcap.engines.gguf import Vocabulary
from thinkcap.engines.speech import Speech
from thinkcap.engines.splice import Splicer

HOLDS = "reasoning_budget_tokens"
_OPTIONS = {
    "stop": "stop",
    "grammar": "grammar",
    "logit_bias": "logit_bias",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "repetition_penalty": "repeat_penalty",
    "top_k": "top_k",
    "min_p": "min_p",
    "logprobs": "n_probs",
    "top_logprobs": "top_logprobs",
}
_PENALTIES = {"presence_penalty", "frequency_penalty", "repeat_penalty"}
_CHAT = "/v1/chat/completions"
_ALIKE = 48
_KEPT_TOKENS = 4_000_000
"""Of texts that were asked for."""
_FIELDS = ["content", "tokens", "stop_type", "stopping_word", "tokens_predicted", "truncated", "model"]
_FIELDS += ["completion_probabilities"]


class LlamaServer:
    """An engine over one server, or several of the same model. `close` is called at the end, for their owner."""

    def __init__(
        self,
        client: Client,
        card: EngineCard,
        speech: Speech,
        *,
        more: Sequence[Client] = (),
        vocabulary: Vocabulary | None = None,
        end_id: int | None = None,
        cache: bool = True,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.card = card
        self._client = client
        self._clients = (client, *more)
        self._busy = [0] * len(self._clients)
        self._vocabulary = vocabulary
        self._ends = set(vocabulary.ends) if vocabulary else set() if end_id is None else {end_id}
        self._cache = cache
        self._close = close
        self._slots = asyncio.Semaphore(card.concurrency)
        self._speech = speech
        self._splicer = Splicer(speech, self.render, self.tokenize)
        self._read: Recent[Ids, str] = Recent(_KEPT_TOKENS)
        self._served = ServedName(card.model)

    async def prompt(self, request: Request) -> Prompt:
        if calls(request):
            return await self._calling(request)
        body = self._wishes(request)
        wanted = grammar(request)
        if wanted is not None:
            body["grammar"] = wanted
        if request.held is not None:
            marks = self.card.at(request.effort).marks
            body |= {HOLDS: request.held, "reasoning_budget_message": ""}
            body |= {"reasoning_budget_start_tag": marks.open_tag, "reasoning_budget_end_tag": marks.close_tag}
        return await bound(self._splicer, request, body, wanted)

    def _wishes(self, request: Request) -> dict[str, Any]:
        body = constraints(request, _OPTIONS, self.card.model)
        if body.pop("n_probs", False):
            # None are given for 0; the surplus one is taken out of the answer.
            body["n_probs"] = max(1, body.setdefault("top_logprobs", 0))
        return body

    async def _calling(self, request: Request) -> Prompt:
        """A pass that may call tools is written over chat, where the server parses calls; ids count its prompt.

        A forced call is written by ids: over chat the server lets any text come before it, up to the cap.
        """
        if schema := forced_schema(request):
            body = {
                **self._wishes(without_choice(request)),
                **await run_in_background(held_to, schema, "json_schema"),
            }
            return await self._splicer.prompt(request, {**body, "forced": choice_of(request)["tool_choice"]})
        body = told_as_chat(request, self._speech)
        for name, value in without_choice(request).question.options.items():
            body[name if "logprobs" in name else _OPTIONS.get(name, name)] = value
        body["begun"] = begun(request, self._speech)
        return await self._splicer.prompt(request, body)

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        ids = fitting(prompt, limit, self.card)
        if "messages" in prompt.body:
            async with self._slots:
                return await self._called(prompt, ids, limit, sampling, emit)
        forced = prompt.body.get("forced")
        if forced is not None:
            # A forced call is JSON of its own, no words for a reader.
            emit = None
        body = {
            "prompt": list(ids),
            "n_predict": limit,
            "return_tokens": True,
            "cache_prompt": self._cache,
            "preserved_tokens": list(self.card.tokens),
            "response_fields": _FIELDS,
            **prompt.body,
            # After the caller's wishes: greedy stays greedy whatever top_k was sent.
            **_sampling(sampling, prompt.body),
        }
        body.pop("forced", None)
        # The server throws away the probabilities of a stop word's tokens; who wants them looks for the word here.
        watched = prompt.stop_at if prompt.scored else ()
        if prompt.stop_at and not watched:
            body["stop"] = [*body.get("stop", ()), *prompt.stop_at]
        if prompt.scored:
            body["n_probs"] = max(TOP, body.get("n_probs", 0))
        async with self._slots:
            which = self._choose(ids)
            self._busy[which] += 1
            try:
                client = self._clients[which]
                # Who may become unsure is looked at while it writes.
                streamed = emit or prompt.unsure or watched
                answer = await (
                    self._streamed(client, body, emit, prompt.unsure, watched)
                    if streamed
                    else client.post("/completion", body, _checked)
                )
            finally:
                self._busy[which] -= 1
        output = await self._output(answer, len(ids), prompt.body.get("top_logprobs"))
        if answer.get("stopping_word") in prompt.stop_at:
            output = replace(output, ended=False, finish="stopped")
        if prompt.scored:
            output = replace(output, scores=_scores(answer))
        if forced is not None:
            return forcibly_called(output, forced)
        return output

    async def _called(self, prompt: Prompt, ids: Ids, limit: int, sampling: Sampling, emit: Emit | None) -> Output:
        body = {
            **prompt.body,
            **_sampling(sampling, prompt.body),
            "max_tokens": limit,
            "cache_prompt": self._cache,
        }
        so_far = body.pop("begun")
        client = self._clients[self._choose(ids)]
        if emit is None:
            whole = await client.send(_CHAT, msgspec.json.encode(body), read_answer)
            return called(ChatReply.whole(whole), so_far, limit, len(ids))
        reply = ChatReply()

        def take(event: ChatAnswer) -> bool:
            for delta in reply.add(event):
                # The thought so far comes first, again.
                if delta.channel != "thought":
                    emit(Delta(delta.text, "answer"))
            return reply.finish is not None

        streaming = {**body, "stream": True, "stream_options": {"include_usage": True}}
        await client.stream(_CHAT, streaming, take, lambda raw: read_event(raw)[0])
        return called(reply, so_far, limit, len(ids))

    async def read(self, ids: Sequence[int]) -> str:
        if self._vocabulary:
            return self._vocabulary.decode(ids)
        kept = tuple(i for i in ids if i not in self._ends)
        if not kept:
            return ""
        return await self._read.made(
            kept,
            lambda: self._client.post("/detokenize", {"tokens": kept}, lambda j: str(j["content"])),
            len(kept),
        )

    async def aclose(self) -> None:
        for client in self._clients:
            await client.aclose()
        if self._close:
            await self._close()

    async def render(self, messages: Sequence[Message], switches: Mapping[str, Any]) -> str:
        body = {"messages": list(map(dict, messages)), **rendering(switches)}
        return await self._client.post("/apply-template", body, lambda j: str(j["prompt"]))

    async def tokenize(self, text: str, first: bool) -> Ids:
        if not text:
            return ()
        body = {"content": text, "add_special": first, "parse_special": True}
        return await self._client.post("/tokenize", body, lambda j: tuple(map(int, j["tokens"])))

    def _choose(self, ids: Ids) -> int:
        """Prompts that begin alike go to one server, which remembers the beginning; a full one is passed over."""
        share = -(-self.card.concurrency // len(self._clients))
        liked = hash(ids[:_ALIKE]) % len(self._clients)
        if self._busy[liked] < share:
            return liked
        return min(range(len(self._clients)), key=self._busy.__getitem__)

    async def _streamed(
        self, client: Client, body: dict[str, Any], emit: Emit | None, unsure: Unsure | None, words: Sequence[str]
    ) -> dict[str, Any]:
        tokens: list[int] = []
        content: list[str] = []
        odds: list[Any] = []
        peaks: list[float] = []
        last: dict[str, Any] = {}
        decoder = self._vocabulary.stream() if self._vocabulary and "stop" not in body else None

        def take(event: Any) -> bool:
            new = [int(t) for t in event["tokens"]]
            text = event["content"]
            if decoder and self._vocabulary:
                text = decoder.decode(b"".join(map(self._vocabulary.piece, new)), final=bool(event["stop"]))
            tokens.extend(new)
            odds.extend(event.get("completion_probabilities") or ())
            peaks.extend(_scores(event).mean if unsure else ())
            content.append(text)
            if new and emit:
                emit(Delta(text, tokens=len(new)))
            if event["stop"]:
                last.update(event)
            elif (unsure and unsure.first(peaks[-unsure.window :])) or (
                words and any(word in "".join(content) for word in words)
            ):
                # Whoever stops listening stops the server too.
                last.update(stop_type="limit", tokens_predicted=len(tokens), model=event.get("model"))
                return True
            return bool(event["stop"])

        # The named fields would be all that the last event has, and it must say `stop`.
        await client.stream("/completion", {**body, "stream": True, "response_fields": []}, take)
        whole = {"tokens": tokens, "content": "".join(content), "completion_probabilities": odds}
        return _checked({**last, **whole})

    async def _output(self, answer: Mapping[str, Any], prompt_tokens: int, alternatives: int | None) -> Output:
        self._served.check(answer.get("model"))
        ids = tuple(answer["tokens"])
        stop = answer["stop_type"]
        if stop == "eos":
            self._ends.add(ids[-1])
        # After a stop word the server's text lacks it while the ids hold it; else ids and text are one.
        text = answer["content"] if stop == "word" else await self.read(ids)
        ended = stop in ("eos", "word")
        extras: dict[str, Any] = {"stop_word": answer.get("stopping_word")} if stop == "word" else {}
        if alternatives is not None:
            extras["logprobs"] = _logprobs(answer, alternatives)
        return Output(
            text,
            ended,
            len(ids),
            ids=ids,
            generated=len(ids),
            prompt_tokens=prompt_tokens,
            finish="stop" if ended else "length",
            extras=extras,
        )


def _sampling(sampling: Sampling, options: Mapping[str, Any]) -> dict[str, Any]:
    """Only the samplers that were asked for: the server's own defaults would add four more."""
    penalties = ["penalties"] if options.keys() & _PENALTIES else []
    kept = [name for name in ("top_k", "min_p") if name in options]
    if sampling.greedy:
        return {"temperature": 0.0, "top_k": 1, "samplers": [*penalties, "top_k"], "seed": 0}
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "samplers": [*penalties, *kept, "temperature", "top_p"],
        "seed": sampling.seed % 2**32,
    }


def _logprobs(answer: Mapping[str, Any], alternatives: int) -> dict[str, Any]:
    """As OpenAI writes them; the server's own are the same but for the ids."""
    found = answer.get("completion_probabilities") or []

    def said(one: Mapping[str, Any]) -> dict[str, Any]:
        return {name: one[name] for name in ("token", "logprob", "bytes")}

    return {
        "content": [{**said(o), "top_logprobs": [*map(said, o["top_logprobs"][:alternatives])]} for o in found]
    }


def _scores(answer: Mapping[str, Any]) -> Scores:
    found = answer.get("completion_probabilities") or []
    return Scores.of([(float(o["logprob"]), [float(t["logprob"]) for t in o["top_logprobs"]]) for o in found])


def _checked(answer: Any) -> dict[str, Any]:
    tokens, stop = answer["tokens"], answer["stop_type"]
    if len(tokens) != answer["tokens_predicted"] or not tokens:
        raise EngineGarbled(
            f"the server counted {answer['tokens_predicted']} tokens and sent {len(tokens)} ids; "
            f"it is too old for ids (wanted return_tokens), or its answer was damaged"
        )
    if stop not in ("eos", "limit", "word") or answer.get("truncated"):
        raise EngineGarbled(f"the server stopped for '{stop}', wanted eos, limit or word; its context may be full")
    return dict(answer)
