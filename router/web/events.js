// A turn as the server tells of it while it happens: server-sent events in the answer to a POST.

// Each event of an answer's body, as [name, data].
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    let text = "";
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (text + value).split("\n\n");
      text = blocks.pop();
      yield* blocks.map(parsed);
    }
  } finally {
    await reader.cancel();
  }
}

function parsed(block) {
  const fields = block.split("\n").map((line) => line.split(/: (.*)/s, 2));
  const { event, data } = Object.fromEntries(fields);
  return [event, JSON.parse(data)];
}

// The text that its deltas make up; one of another attempt begins it anew.
export function writing() {
  let text = "";
  let attempt = null;
  return (delta) => {
    text = (delta.attempt === attempt ? text : "") + delta.text;
    attempt = delta.attempt;
    return text;
  };
}
