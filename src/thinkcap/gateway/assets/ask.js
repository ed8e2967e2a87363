// One question to the gateway, as any client would ask it, and its stream piece by piece.
let key = ""; // In memory only: no storage, no cookie, no address.

const withKey = (headers = {}) => (key ? { ...headers, authorization: `Bearer ${key}` } : headers);

class Refused extends Error {
  constructor(status, error) {
    super((error && error.message) || `the gateway answered with status ${status}`);
    this.status = status;
    this.code = (error && error.code) || "";
  }
}

async function bodyOf(reply) {
  try {
    return await reply.json();
  } catch {
    return {};
  }
}

async function overview() {
  const reply = await fetch("page.json", { headers: withKey(), cache: "no-store" });
  const body = await bodyOf(reply);
  if (!reply.ok) throw new Refused(reply.status, body.error);
  return body;
}

// Calls on.thought, on.answer and on.about as pieces come; throws Refused where the gateway refuses.
async function ask(request, signal, on) {
  const reply = await fetch("v1/chat/completions", {
    method: "POST",
    headers: withKey({ "content-type": "application/json" }),
    body: JSON.stringify({ ...request, stream: true }),
    signal,
  });
  if (!reply.ok) throw new Refused(reply.status, (await bodyOf(reply)).error);
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) if (event.startsWith("data: {")) take(JSON.parse(event.slice(6)), on);
  }
}

function take(chunk, on) {
  if (chunk.error) throw new Refused(200, chunk.error);
  for (const choice of chunk.choices || []) {
    const delta = choice.delta || {};
    const thought = delta.reasoning_content || delta.reasoning;
    if (thought) on.thought(thought);
    if (delta.content) on.answer(delta.content);
  }
  if (chunk.thinkcap) on.about(chunk.thinkcap);
}
