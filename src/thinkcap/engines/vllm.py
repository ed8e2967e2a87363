"""vLLM by token ids: `/tokenize` renders and tokenizes, `/v1/completions` takes ids and returns them.

engine = VllmServer(client, card, speech)
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from thinkcap.core.engine import Emit, EngineCard, Output, Prompt
from thinkcap.core.errors import EngineGarbled
from thinkcap.core.scores import TOP, Scores, Unsure
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Ids, Message, Request, Sampling
from thinkcap.engines.answers import CUT, ChatAnswer
from thinkcap.engines.background import run_in_background
from thinkcap.engines.binding import bound, constraints, fitting, grammar
from thinkcap.engines.calling import (
    calls,
    choice_of,
    extras_of,
    forced_schema,
    forcibly_called,
    held_to,
    rendering,
    without_choice,
)
from thinkcap.engines.canary import ServedName
from thinkcap.engines.client import Client
from thinkcap.engines.pieces import Pieces
from thinkcap.engines.speech import Speech
from thinkcap.engines.splice import Splicer

_STEP = 32
"""More tokens than any server drafts at a time."""
DERENDER = "/v1/chat/completions/derender"
"""Where vLLM's own parsers read ids."""
HOLDS = "thinking_token_budget"
_ARGUMENTS = "parameters"
"""Its own word for the arguments of a forced call."""
_OPTIONS = {
    "stop": "stop",
    "logit_bias": "logit_bias",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "repetition_penalty": "repetition_penalty",
    "top_k": "top_k",
    "min_p": "min_p",
}


class VllmServer:
    """`served` is the model's name on the server; every call must say it."""

    def __init__(self, client: Client, card: EngineCard, speech: Speech, served: str) -> None:
        self.card = card
        self._client = client
        self._model = served
        self._speech = speech
        self._splicer = Splicer(speech, self.render, self.tokenize, self._template)
        self._ends: set[int] = set()
        self._pieces = Pieces(self._detokenize, card.close_id, card.close_tag)
        self._slots = asyncio.Semaphore(card.concurrency)
        self._served = ServedName(card.model)

    async def prompt(self, request: Request) -> Prompt:
        if calls(request):
            return await self._calling(request)
        body = constraints(request, _OPTIONS, self.card.model)
        wanted = grammar(request)
        if wanted is not None:
            body["structured_outputs"] = {"grammar": wanted}
        if request.held is not None:
            body[HOLDS] = request.held
        return await bound(self._splicer, request, body, wanted)

    async def _calling(self, request: Request) -> Prompt:
        """Written by ids as every pass; what was written in this turn is parsed once it is whole."""
        body = constraints(without_choice(request), _OPTIONS, self.card.model)
        if schema := forced_schema(request, _ARGUMENTS):
            body["structured_outputs"] = await run_in_background(held_to, schema, "json")
        head, _ = await self._splicer.ids(replace(request, prefill=()))
        chat = {"model": self._model, "messages": list(map(dict, self._speech.turn_rules.merge(request.messages)))}
        arguments = {**self._speech.switches(request.mode, request.effort), "tools": request.question.tools}
        body["parsed"] = (len(head), {**chat, **rendering(arguments), **choice_of(request)})
        return await self._splicer.prompt(request, body)

    async def _called(self, output: Output, turn: Ids, chat: Mapping[str, Any]) -> Output:
        """The whole turn goes to vLLM's own parsers: which tools it calls, and what it says beside that."""
        choice = {"index": 0, "token_ids": list(turn), "finish_reason": output.finish}
        body = {
            "model": self._model,
            "chat_request": chat,
            "generate_response": {"request_id": "thinkcap", "choices": [choice]},
        }
        found = await self._client.post(DERENDER, body, lambda j: msgspec.convert(j, ChatAnswer).choices[0].text)
        text = (found.content or "").lstrip("\n")
        if not found.tool_calls:
            # vLLM's parsers read what a model writes by itself; a call that was forced comes back as its JSON.
            return forcibly_called(replace(output, text=text), chat.get("tool_choice"), _ARGUMENTS)
        return replace(output, text=text, answer=text, extras=extras_of(found.tool_calls), ids=None)

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        ids = fitting(prompt, limit, self.card)
        parsed = prompt.body.get("parsed")
        if parsed and "structured_outputs" in prompt.body:
            # A forced call is JSON of its own, no words for a reader.
            emit = None
        body: dict[str, Any] = {
            "model": self._model,
            "prompt": list(ids),
            "max_tokens": limit,
            "temperature": sampling.temperature,
            "top_p": 1.0 if sampling.greedy else sampling.top_p,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "return_token_ids": True,
            "skip_special_tokens": False,
            "add_special_tokens": False,
            **{name: value for name, value in prompt.body.items() if name != "parsed"},
        }
        if not sampling.greedy:
            body["seed"] = sampling.seed
        if prompt.stop_at:
            body["stop"] = [*body.get("stop", ()), *prompt.stop_at]
        if prompt.scored:
            body |= {"logprobs": TOP, "return_tokens_as_token_ids": True}
        async with self._slots:
            # Who may become unsure is looked at while it writes.
            answer = await (
                self._streamed(body, emit, prompt.unsure)
                if emit or prompt.unsure
                else self._client.post("/v1/completions", body, _whole)
            )
        output = await self._output(answer, len(ids), limit, streamed=emit is not None)
        if answer.get("stop_reason") in prompt.stop_at:
            output = replace(output, ended=False, finish="stopped")
        if prompt.scored:
            output = replace(output, scores=_scores(answer["logprobs"]))
        if parsed:
            head, chat = parsed
            return await self._called(output, (*ids[head:], *(output.ids or ())), chat)
        return output

    async def score(self, prompt: Prompt, ids: Sequence[int]) -> Scores:
        """One pass over prompt and text; the server must write a token, which nobody reads."""
        body = {
            "model": self._model,
            "prompt": [*(prompt.ids or ()), *ids],
            "max_tokens": 1,
            "temperature": 0.0,
            "prompt_logprobs": TOP,
            "return_token_ids": True,
            "add_special_tokens": False,
        }
        async with self._slots:
            places = await self._client.post(
                "/v1/completions", body, lambda j: list(j["choices"][0]["prompt_logprobs"])[-len(ids) :]
            )
        odds = [{int(i): float(o["logprob"]) for i, o in place.items()} for place in places]
        return Scores.of([(place[i], [*place.values()]) for i, place in zip(ids, odds, strict=True)])

    async def read(self, ids: Sequence[int]) -> str:
        return await self._pieces.text(self._said(ids))

    async def aclose(self) -> None:
        await self._client.aclose()

    async def render(self, messages: Sequence[Message], switches: Mapping[str, Any]) -> str:
        """Through ids and back: vLLM shows no rendered text, and special tokens survive the way."""
        return await self._detokenize(await self._template(messages, switches))

    async def tokenize(self, text: str, first: bool) -> Ids:
        """The template has written its BOS itself, so none is ever added here."""
        if not text:
            return ()
        body = {"model": self._model, "prompt": text, "add_special_tokens": False}
        return await self._client.post("/tokenize", body, lambda j: tuple(map(int, j["tokens"])))

    async def _template(self, messages: Sequence[Message], switches: Mapping[str, Any]) -> Ids:
        body = {
            "model": self._model,
            "messages": list(map(dict, messages)),
            "add_generation_prompt": True,
            **rendering(switches),
        }
        return await self._client.post("/tokenize", body, lambda j: tuple(map(int, j["tokens"])))

    async def _detokenize(self, ids: Ids) -> str:
        return await self._client.post(
            "/detokenize", {"model": self._model, "tokens": ids}, lambda j: str(j["prompt"])
        )

    def _said(self, ids: Sequence[int]) -> Ids:
        return tuple(i for i in ids if i not in self._ends)

    async def _streamed(
        self, body: Mapping[str, Any], emit: Emit | None, unsure: Unsure | None = None
    ) -> dict[str, Any]:
        odds: dict[str, list[Any]] = {"token_logprobs": [], "top_logprobs": []}
        whole: dict[str, Any] = {"token_ids": [], "text": "", "finish_reason": None, "logprobs": odds}
        peaks: list[float] = []

        def take(event: Any) -> bool:
            whole["model"] = event.get("model")
            for choice in event["choices"]:
                whole["token_ids"] += choice["token_ids"] or []
                whole["text"] += choice["text"]
                whole["finish_reason"] = choice.get("finish_reason") or whole["finish_reason"]
                whole["stop_reason"] = choice.get("stop_reason")
                if new := choice.get("logprobs"):
                    for name, kept in odds.items():
                        kept += new[name]
                    peaks.extend(_scores(new).mean if unsure else ())
                if emit:
                    emit(Delta(choice["text"], tokens=len(choice["token_ids"] or ())))
            if unsure and unsure.first(peaks[-unsure.window :]):
                # Whoever stops listening stops the server too.
                whole["finish_reason"] = whole["finish_reason"] or "length"
            return whole["finish_reason"] is not None

        await self._client.stream("/v1/completions", {**body, "stream": True}, take)
        return whole

    async def _output(self, answer: Mapping[str, Any], prompt_tokens: int, limit: int, streamed: bool) -> Output:
        self._served.check(answer.get("model"))
        ids = tuple(map(int, answer["token_ids"]))
        finish = answer["finish_reason"]
        if not ids or len(ids) > limit + _STEP or finish not in ("stop", *CUT):
            raise EngineGarbled(
                f"the server sent {len(ids)} token ids for a limit of {limit} and stopped for '{finish}'; "
                f"wanted 1 to {limit} and stop, length or repetition"
            )
        if len(ids) > limit:
            # Several tokens a step, as in speculative decoding, may pass a limit: what is beyond it is not used.
            cut = ids[:limit]
            text = await self.read(cut)
            over = {"over_limit": len(ids) - limit}
            return Output(
                text, False, limit, ids=cut, generated=len(ids), prompt_tokens=prompt_tokens, extras=over
            )
        word = isinstance(answer.get("stop_reason"), str)
        if finish == "stop" and not word:
            self._ends.add(ids[-1])
        text = answer["text"]
        if not (word or streamed):
            text = await self._pieces.compared(self._said(ids), text)
        return Output(
            text,
            finish == "stop",
            len(ids),
            ids=ids,
            generated=len(ids),
            prompt_tokens=prompt_tokens,
            finish=finish,
            extras={"stop_word": answer["stop_reason"]} if word else {},
        )


def _scores(odds: Mapping[str, Any]) -> Scores:
    pairs = zip(odds["token_logprobs"], odds["top_logprobs"], strict=True)
    return Scores.of([(float(chosen), [*map(float, top.values())]) for chosen, top in pairs])


def _whole(answer: Any) -> dict[str, Any]:
    choice = answer["choices"][0]
    # Older servers leave the ids out without a word; then this is no ids transport.
    if not isinstance(choice["token_ids"], list):
        raise TypeError("token_ids")
    return {**choice, "model": answer.get("model")}
