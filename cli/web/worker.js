"use strict";
// The engine in a worker of the page. A message {id, command, arguments, documents, slices} is
// answered by {id, answer, ms}; a search tells {id, done, of} meanwhile. {id, about: true} asks what
// the engine is.
(() => {
  let asked = 0, told = 0;
  const loading = prequelEngine({
    onProgress: (done, of) => {
      const now = performance.now();
      if (now - told < 60 && done < of) return;
      told = now;
      postMessage({ id: asked, done, of });
    },
  });
  onmessage = async ({ data }) => {
    const engine = await loading;
    asked = data.id;
    const start = performance.now();
    const texts = [data.command, data.arguments, data.documents].map((text) => engine.allocateUTF8(text ?? ""));
    const answer = JSON.parse(engine.UTF8ToString(data.about ? engine._prequel_about()
      : engine._prequel_call(...texts, data.slices ?? 0)));
    texts.forEach((text) => engine._free(text));
    if (answer.drawing) answer.drawing = JSON.parse(answer.drawing);
    postMessage({ id: data.id, answer, ms: performance.now() - start });
  };
})();
