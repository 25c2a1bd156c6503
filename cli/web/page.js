"use strict";
// Asks the engine what the form says, and draws the answer while one drags. All words of the form are
// those of the command line: what is asked is a list of [argument, text], which the address of the
// page holds after its #.
(() => {
  const { element, resize, seconds } = drawing;
  const byId = (id) => document.getElementById(id);
  const kSlices = 12000;     // tasks of a timeline that are drawn
  const kPoints = 60000;     // plans of a search that are drawn
  const kPatience = 60000;   // ms until a prediction is given up
  const kMostPlans = 10;     // that a search lists
  const kKinds = { job: "jobs", model: "models", cluster: "clusters", device: "devices", software: "software" };
  const kHints = { job: "none", model: "as the job has it", cluster: "as the job has it", device: "as the cluster has it",
    software: "as the cluster has it" };
  // The whole training, which is asked for first.
  const kCore = [{ name: "gpus", label: "GPUs", hint: "128" }, { name: "tokens", label: "Tokens to train on", hint: "15T" },
    { name: "price", label: "Price of a GPU-hour", hint: "2.50" }];
  // Fields of a reservation: no axes of the plan.
  const kRunFields = [["reservation", "text", "for which nodes are reserved, such as 30d"],
    ["spares", "text", "nodes beside those of the plan"], ["pue", "text", "power of the building over its machines'"],
    ["saving", "word", "how checkpoints are written", ["sync", "async"]], ["maturity", "word", "class of the site", ["mature", "new"]]]
    .map(([name, kind, help, words]) => ({ name, kind, help, words }));
  const kTuning = ["tuning", "lora_rank", "lora_targets", "lora_dropout", "adapter_precision", "base_precision", "train_embeddings",
    "learning_layers", "objective", "lengths", "packing", "balance"];
  // Where the page chooses the plan, it looks at these alone, which takes a fraction of a second.
  const kQuick = { vpp: "1", mbs: "1,2", recompute: "none,full", layout: "", top: "1", try: "0" };
  const kOwn = "…";  // the choice of a file of one's own

  // ---- the engine --------------------------------------------------------------------------------
  const script = URL.createObjectURL(new Blob([byId("engine").textContent, "\n", byId("worker").textContent],
    { type: "text/javascript" }));

  // A worker that answers one question after the other. Where it fails, or is stopped, the question is
  // answered by a problem, and the next one starts another worker.
  function connect() {
    let worker = null, last = 0;
    const asked = new Map();
    function end(problem) {
      worker?.terminate();
      worker = null;
      for (const { done } of asked.values()) done({ answer: { problems: [problem] }, ms: 0 });
      asked.clear();
    }
    function start() {
      worker = new Worker(script);
      worker.onerror = (event) => {
        event.preventDefault();
        end(`the engine gave up on this (${String(event.message).slice(0, 200)}); another plan would do`);
      };
      worker.onmessage = ({ data }) => {
        const question = asked.get(data.id);
        if (!question) return;
        if (data.answer === undefined) return question.progress?.(data.done, data.of);
        asked.delete(data.id);
        question.done(data);
      };
    }
    return {
      end,
      ask: (message, progress) => new Promise((resolve) => {
        if (!worker) start();
        const id = ++last;
        asked.set(id, { done: resolve, progress });
        worker.postMessage({ id, ...message });
      }),
    };
  }
  const engine = connect(), searcher = connect();
  const raw = (command, text, documents = {}, slices = 0) => engine.ask(
    { command, arguments: text, documents: JSON.stringify(documents), slices });
  const call = (command, args, documents, slices) => raw(command, JSON.stringify(args), documents, slices);

  // ---- what is asked -----------------------------------------------------------------------------
  const values = new Map();     // argument → text; of `set` one setting a line
  const documents = new Map();  // name of a file → its text
  const fields = new Map();     // argument → its control
  let axes = [], shown = null, touched = "";
  let chosen = new Map();       // axis → value, of the plan that the page chose
  let pinned = null;            // what is asked of the plan to compare with

  function argumentsOf(of = values) {
    const args = {};
    for (const [name, text] of of) {
      const kind = axes.find((axis) => axis.name === name)?.kind;
      args[name] = name === "set" ? text.split("\n").map((line) => line.trim()).filter(Boolean)
        : kind === "boolean" && (text === "true" || text === "false") ? text === "true" : text;
    }
    return args;
  }
  const documentsInUse = () => Object.fromEntries([...documents].filter(([name]) =>
    [...values.values(), ...(pinned?.values() ?? [])].includes(name)));
  const isVaried = (name) => ["searched", "offered"].includes(axes.find((axis) => axis.name === name)?.use);

  const kDefault = "model=llama-3-70b&cluster=dgx-h100&gpus=128&gbs=512&seq_len=8192&tokens=15T&price=2.50";
  function readLink() {
    values.clear();
    documents.clear();
    pinned = null;
    for (const [key, text] of new URLSearchParams(location.hash.slice(1) || kDefault)) {
      if (key.startsWith("file:")) documents.set(key.slice(5), text);
      else if (key === "versus") pinned = new Map(new URLSearchParams(text));
      else values.set(key, key === "set" && values.has(key) ? values.get(key) + "\n" + text : text);
    }
  }
  function link() {
    const params = new URLSearchParams();
    for (const [key, text] of values) params.append(key, text);
    if (pinned) params.append("versus", new URLSearchParams([...pinned]).toString());
    for (const [name, text] of Object.entries(documentsInUse())) params.append("file:" + name, text);
    return "#" + params.toString();
  }
  let linking = 0;
  function keepLink() {  // browsers allow only so many changes of the address in a second
    clearTimeout(linking);
    linking = setTimeout(() => history.replaceState(null, "", link()), 250);
  }

  // A plan that the page chose becomes the user's own, once one changes an axis of it.
  function set(name, text) {
    touched = name;
    if (isVaried(name)) for (const [axis, value] of chosen) values.has(axis) || values.set(axis, value);
    if (text === "") values.delete(name);
    else values.set(name, text);
    ask();
  }

  // ---- controls ----------------------------------------------------------------------------------
  const problemsAt = (name) => element("ul", { class: "problems", id: "problems-" + name });
  const open = (name, label) => {
    const button = element("button", { type: "button", class: "open", title: `Leave ${label} open`, "aria-label": `Leave ${label} open` }, "×");
    button.addEventListener("click", () => { set(name, ""); fields.get(name).show(); });
    return button;
  };

  // One of prequel's files by name, or a text of one's own.
  function inputField(name, names) {
    const label = name[0].toUpperCase() + name.slice(1);
    const first = element("option", { value: "" }, kHints[name]);
    const select = element("select", { id: name }, first, element("option", { value: kOwn }, "a file of my own …"),
      ...names.map((each) => element("option", { value: each }, each)));
    const text = element("textarea", { id: name + "-text", rows: "6", spellcheck: "false", "aria-label": `${label}, as JSON`,
      placeholder: name === "model" ? "config.json of Hugging Face, or a model of prequel" : `a ${name} of prequel, JSON` });
    const file = element("input", { type: "file", accept: ".json,application/json", "aria-label": `Open a file for the ${name}` });
    const own = element("div", { class: "own" }, text, file);
    let document = `my-${name}.json`, choosing = false;
    const take = (content) => {
      documents.set(document, content);
      set(name, document);
    };
    select.addEventListener("change", () => {
      choosing = select.value === kOwn;
      own.hidden = !choosing;
      if (!choosing) return set(name, select.value);
      if (text.value) take(text.value);
      text.focus();
    });
    text.addEventListener("input", () => take(text.value));
    file.addEventListener("change", async () => {
      const chosen = file.files[0];
      if (!chosen) return;
      document = chosen.name.replace(/[^A-Za-z0-9._-]/g, "-").replace(/^[.-]+/, "").replace(/(\.json)?$/i, ".json");
      text.value = await chosen.text();
      take(text.value);
    });
    const show = () => {
      const value = values.get(name) ?? "";
      if (documents.has(value)) {
        document = value;
        if (text.value !== documents.get(value)) text.value = documents.get(value);
      }
      own.hidden = !choosing && !documents.has(value);
      if (value !== "" && own.hidden && !names.includes(value)) select.append(element("option", { value }, value));
      select.value = own.hidden ? value : kOwn;
      const told = shown?.[name];
      first.textContent = told && name !== "job" && value === "" ? `${told}, ${kHints[name]}` : kHints[name];
    };
    return { node: element("div", { class: "field input" }, element("label", { for: name }, label), select, own, problemsAt(name)), show };
  }

  // 1, 2, 3, 4, 6, 8, 12, … between the ends, or all whole numbers where they are few.
  function steps({ least, most }) {
    if (most - least <= 16) return Array.from({ length: most - least + 1 }, (_, i) => least + i);
    const all = [];
    for (let power = 1; power <= most; power *= 2) {
      all.push(power);
      if (power > 1 && 1.5 * power <= most) all.push(1.5 * power);
    }
    return all.filter((value) => value >= least);
  }

  function numberControl(axis) {
    const scale = axis.kind === "integer" ? steps(axis) : Array.from({ length: 21 }, (_, i) => axis.least + (i * (axis.most - axis.least)) / 20);
    const slider = element("input", { type: "range", min: "0", max: String(scale.length - 1), step: "1", "aria-label": `${axis.name}, ${axis.help}` });
    const box = element("input", { type: "text", inputmode: axis.kind === "integer" ? "numeric" : "decimal", id: axis.name });
    const nearest = (value) => scale.reduce((best, each, i) =>
      Math.abs(Math.log1p(each) - Math.log1p(value)) < Math.abs(Math.log1p(scale[best]) - Math.log1p(value)) ? i : best, 0);
    slider.addEventListener("input", () => {
      box.value = String(+scale[slider.value].toFixed(6));
      slider.setAttribute("aria-valuetext", box.value);
      set(axis.name, box.value);
    });
    box.addEventListener("input", () => set(axis.name, box.value.trim()));
    return { nodes: [slider, box], show: (value, resolved) => {
      if (document.activeElement !== box) box.value = value ?? "";
      box.placeholder = resolved === undefined ? "" : String(resolved);
      const now = Number(value ?? resolved);
      if (document.activeElement !== slider || value === undefined) slider.value = String(nearest(Number.isFinite(now) ? now : axis.least));
      slider.setAttribute("aria-valuetext", value ?? String(resolved ?? "open"));
    } };
  }

  function choiceControl(axis, choices) {
    const first = element("option", { value: "" }, "open");
    const select = element("select", { id: axis.name }, first, ...choices.map(([value, label]) => element("option", { value }, label)));
    select.addEventListener("change", () => set(axis.name, select.value));
    return { nodes: [select], show: (value, resolved) => {
      if (value !== undefined && !choices.some(([each]) => each === value)) select.append(element("option", { value }, value));
      select.value = value ?? "";
      const label = choices.find(([each]) => each === String(resolved))?.[1] ?? resolved;
      first.textContent = label === undefined ? "open" : `${label} (open)`;
    } };
  }

  function wordsControl(axis) {
    const boxes = axis.words.map((word) => element("input", { type: "checkbox", id: `${axis.name}-${word}`, value: word }));
    const take = () => set(axis.name, boxes.filter((box) => box.checked).map((box) => box.value).join(",") || "none");
    boxes.forEach((box) => box.addEventListener("change", take));
    return { nodes: [element("div", { class: "words", role: "group", "aria-label": axis.help, id: axis.name },
      ...boxes.map((box) => element("label", {}, box, " " + box.value)))], show: (value, resolved) => {
      const words = value === undefined ? resolved ?? [] : value.split(/[, +]/);
      for (const box of boxes) box.checked = words.includes(box.value);
    } };
  }

  function textControl(axis) {
    const box = element("input", { type: "text", id: axis.name, class: "wide", spellcheck: "false" });
    box.addEventListener("input", () => set(axis.name, box.value.trim()));
    return { nodes: [box], show: (value, resolved) => {
      if (document.activeElement !== box) box.value = value ?? "";
      box.placeholder = resolved ?? "";
    } };
  }

  function axisField(axis) {
    const control = axis.kind === "integer" || axis.kind === "number" ? numberControl(axis)
      : axis.kind === "boolean" ? choiceControl(axis, [["true", "on"], ["false", "off"]])
        : axis.kind === "word" ? choiceControl(axis, axis.words.map((word) => [word, word]))
          : axis.kind === "words" ? wordsControl(axis) : textControl(axis);
    const name = axis.kind === "words" ? element("span", { class: "name" }, axis.name) : element("label", { class: "name", for: axis.name }, axis.name);
    const node = element("div", { class: `field axis ${axis.kind}` }, name, element("div", { class: "control" }, ...control.nodes),
      open(axis.name, axis.name), element("small", {}, axis.help), problemsAt(axis.name));
    return { node, show: () => {
      node.classList.toggle("set", values.has(axis.name));
      control.show(values.get(axis.name), shown?.plan[axis.name]);
    } };
  }

  // A text of the question at the top.
  function coreField({ name, label, hint }) {
    const box = element("input", { type: "text", id: name, inputmode: name === "gpus" ? "numeric" : "text", placeholder: hint, spellcheck: "false" });
    box.addEventListener("input", () => set(name, box.value.trim()));
    return { node: element("div", { class: "field top" }, element("label", { for: name }, label), box, problemsAt(name)),
      show: () => {
        if (document.activeElement !== box) box.value = values.get(name) ?? "";
        box.placeholder = name === "gpus" && shown ? String(shown.plan.gpus) : hint;
      } };
  }

  // The usual machine with each card; another cluster is chosen below.
  function cardField(cards) {
    const first = element("option", { value: "" }), select = element("select", { id: "card" }, first, ...cards.map(({ card, checked }, i) =>
      element("option", { value: String(i) }, card.toUpperCase() + (checked.length ? ", checked" : ""))));
    select.addEventListener("change", () => {
      const card = cards[select.value];
      if (!card) return;
      touched = "cluster";
      values.set("cluster", card.cluster);
      if (card.device) values.set("device", card.device);
      else values.delete("device");
      ask();
    });
    const note = element("small", { class: "soft" });
    return { node: element("div", { class: "field top" }, element("label", { for: "card" }, "Card"), select, note), show: () => {
      const device = values.get("device") ?? "", at = cards.findIndex((card) => card.cluster === values.get("cluster") && card.device === device);
      first.textContent = shown ? shown.device : "choose";
      first.hidden = at >= 0;
      select.value = at >= 0 ? String(at) : "";
      note.textContent = at >= 0 ? `${cards[at].cluster}, ${cards[at].devices} a node` : shown?.cluster ?? "";
      select.title = at >= 0 && cards[at].checked.length ? `Checked by measured runs of ${cards[at].checked.join(", ")}` : "";
    } };
  }

  function showFields() {
    for (const field of fields.values()) field.show();
    if (document.activeElement !== byId("set")) byId("set").value = values.get("set") ?? "";
  }

  // ---- problems ----------------------------------------------------------------------------------
  const isField = (name) => fields.has(name) || name === "set";
  // The field that a message names first: an axis, a flag, or a file of one's own.
  function subject(problem) {
    const [, named = ""] = problem.match(/^(?:plan: |--|[^:]*: \/plan\/)([a-z][a-z0-9_-]*)/) ?? [];
    const name = named.replaceAll("-", "_");
    const file = [...fields.keys()].find((each) => documents.has(values.get(each)) && problem.startsWith(values.get(each) + ":"));
    return isField(name) ? name : file ?? (problem.includes("(from --set)") ? "set" : "");
  }
  // Where it is shown: at what was changed last, if that is among what the message names.
  const place = (problem) =>
    (new RegExp(`\\b${touched}\\b`).test(problem) && axes.some((axis) => axis.name === touched) ? touched : subject(problem));
  // "dp 4 would do", "…; 2040 or 2064 would do" of the subject, "…; 56 nodes would do".
  function remedies(problem) {
    const wanted = problem.match(/[;,] ([^;]*) would do$/)?.[1].split(" or ") ?? [];
    const unit = wanted.at(-1)?.match(/^\d+ (.+)$/)?.[1];
    let last;  // "seq_len 8190 or 8193": the second is of the same axis
    return wanted.flatMap((each) => {
      const [, axis, value] = each.trim().match(/^(?:([a-z_]+) )?(\d+)(?: .+)?$/) ?? [];
      last = axis ?? last;
      const name = last ?? unit ?? subject(problem);
      return value && axes.some((one) => one.name === name) ? [[name, value]] : [];
    });
  }
  function problemNodes(problem) {
    return [problem, ...remedies(problem).map(([name, value]) => {
      const button = element("button", { type: "button" }, `Use ${name} ${value}`);
      button.addEventListener("click", () => {
        if (name === "nodes") values.delete("gpus");  // which would say how many nodes there are
        set(name, value);
        showFields();
      });
      return button;
    })];
  }
  function showProblems(problems) {
    for (const list of document.querySelectorAll("ul.problems")) list.replaceChildren();
    for (const problem of problems) {
      const name = place(problem);
      if (name) byId("problems-" + name)?.append(element("li", {}, problem));
    }
    byId("problems").replaceChildren(...problems.map((problem) => element("p", { class: "problem" }, ...problemNodes(problem))));
    byId("answer").classList.toggle("stale", problems.length > 0);
  }

  // ---- answers -----------------------------------------------------------------------------------
  // The page chooses the plan while no job and no axis that a search varies is said.
  const isChoosing = () => !values.has("job") && ![...values.keys()].some(isVaried);
  const valueOf = (value) => (Array.isArray(value) ? value.join(",") || "none" : String(value));
  const ofPlan = (plan) => new Map(axes.filter(({ name }) => isVaried(name) && (plan[name] ?? "") !== "").map(({ name }) => [name, valueOf(plan[name])]));
  let chosenFor = "", nothingFits = "";
  // The best plan of some simple ones; asked for again where what is asked has changed, but not for tokens or prices.
  async function choose() {
    if (!isChoosing()) {
      nothingFits = chosenFor = "";
      return chosen.clear();
    }
    const args = argumentsOf([...values].filter(([name]) => !["tokens", "price", "versus"].includes(name) && !kRunFields.some((field) => field.name === name)));
    const question = JSON.stringify([args, documentsInUse()]);
    if (question === chosenFor) return;
    const { answer } = await call("search", { ...args, ...kQuick }, documentsInUse());
    chosen.clear();
    chosenFor = answer.problems ? "" : question;
    nothingFits = answer.problems ? `The page could not choose a plan: ${answer.problems[0]}` : "";
    if (answer.problems) return;
    const found = JSON.parse(answer.document), miss = found.nearest_misses[0];
    if (found.plans.length > 0) chosen = ofPlan(found.plans[0].plan);
    else if (miss) {
      chosen = ofPlan(miss.plan);
      nothingFits = `Nothing fits: of ${found.legal} plans the smallest needs ${miss.needs_gib.toFixed(0)} GiB of a GPU. ` +
        found.relaxations.slice(0, 2).map((one) => `With ${one.limit} ${one.fitting} would.`).join(" ");
    }
  }

  let busy = false, again = false, text = "", since = 0;
  async function ask() {
    keepLink();
    since ||= performance.now();
    again = busy;
    if (busy) return;
    busy = true;
    const begun = since, patience = setTimeout(() => engine.end("no answer within " + kPatience / 1000 +
      " s; fewer micro batches, by a larger mbs or a smaller gbs, would do, and the program waits longer"), kPatience);
    since = 0;
    await choose();
    const { answer, ms } = await call("predict", argumentsOf([...values, ...chosen]), documentsInUse(), kSlices);
    clearTimeout(patience);
    if (answer.problems) showProblems(answer.problems);
    else show(answer);
    showFields();
    byId("about").dataset.ms = (performance.now() - begun).toFixed(1);
    byId("about").dataset.engineMs = ms.toFixed(1);
    busy = false;
    if (again) ask();
    else {
      compareWithPinned();
      findNearest();
    }
  }

  function show(answer) {
    showProblems([]);
    text = answer.document;
    shown = JSON.parse(text);
    document.title = `${shown.model} on ${shown.plan.gpus} GPUs - prequel`;
    const pictures = byId("pictures"), isOpen = [...pictures.querySelectorAll("details"), ...byId("headline").querySelectorAll("details")].map((one) => one.open);
    byId("headline").replaceChildren(...(nothingFits && isChoosing() ? [element("p", { class: "problem" }, nothingFits)] : []),
      ...predictionDrawing.title(shown, answer.drawing), ...predictionDrawing.headline(shown),
      ...answer.remarks.split("\n").filter(Boolean).map((remark) => element("p", { class: "soft remark" }, remark)));
    pictures.replaceChildren(...predictionDrawing.reservation(shown), predictionDrawing.breakdown(shown, answer.drawing), predictionDrawing.memory(shown),
      predictionDrawing.timeline(shown, answer.drawing), predictionDrawing.sensitivity(shown, answer.drawing.sensitivity));
    [...pictures.querySelectorAll("details"), ...byId("headline").querySelectorAll("details")].forEach((one, i) => { one.open = isOpen[i] ?? false; });
    const lead = predictionDrawing.lead(shown), memory = shown.memory;
    byId("strip").replaceChildren(element("b", {}, lead[0][1]), ` ${lead[0][0].toLowerCase()}`,
      element("span", { class: memory.verdict }, ` ${lead[1][1]}`), ...(lead[2] ? [element("span", {}, ` ${lead[2][1]} ${lead[2][0].toLowerCase()}`)] : []));
    byId("whose").textContent = isChoosing() && chosen.size > 0 && !nothingFits ? "The page chose this plan: the best of some simple ones that fit. Change any of it, or search all plans above."
      : "What you leave open is derived, or is as the job or the stack has it.";
    byId("command").textContent = shown.context.command;
    byId("files").replaceChildren(...Object.entries(documentsInUse()).map(([name, content]) => element("p", { class: "soft" },
      "It reads ", element("a", { download: name, href: URL.createObjectURL(new Blob([content], { type: "application/json" })) }, name),
      ", the file given above.")));
    resize();
  }

  // Where the plan is not sure to fit: what to change, which takes a search and so waits for a pause.
  const kPause = 400;  // ms
  let neared = "";
  async function findNearest() {
    const question = shown && shown.memory.verdict !== "fits" ? JSON.stringify([[...values], [...chosen]]) : "";
    if (question === neared) return;
    neared = question;
    byId("nearest").replaceChildren();
    if (!question) return;
    await new Promise((resolve) => setTimeout(resolve, kPause));
    if (question !== neared) return;
    const { answer } = await searcher.ask({ command: "predict", arguments: JSON.stringify(argumentsOf([...values, ...chosen])), documents: JSON.stringify(documentsInUse()) });
    if (question !== neared || answer.problems) return;
    byId("nearest").replaceChildren(...predictionDrawing.nearestPlan(JSON.parse(answer.document), (flags) => {
      for (const [, flag, value] of flags.matchAll(/--([a-z-]+) (\S+)/g)) values.set(flag.replaceAll("-", "_"), value);
      showFields();
      ask();
    }));
  }

  // ---- two side by side --------------------------------------------------------------------------
  let compared = "";
  async function compareWithPinned() {
    byId("pin").textContent = pinned ? "Compare with this instead" : "Compare with another";
    const question = pinned && shown ? JSON.stringify([[...pinned], [...values], shown.sec_per_iter]) : "";
    if (question === compared) return;
    compared = question;
    if (!question) return byId("versus").replaceChildren();
    const side = (of) => Object.fromEntries(of.filter(([name]) => name !== "set" && !kRunFields.some((field) => field.name === name)));
    const { answer } = await searcher.ask({ command: "predict", arguments: JSON.stringify(argumentsOf(pinned)), documents: JSON.stringify(documentsInUse()) });
    if (question !== compared) return;
    if (answer.problems) return byId("versus").replaceChildren(element("p", { class: "problem" }, answer.problems[0]));
    const first = JSON.parse(answer.document);
    delete first.memory.nearest;  // which the first answer leaves for later
    if (JSON.stringify(first) === JSON.stringify(shown)) {
      return byId("versus").replaceChildren(element("p", { class: "soft" }, "This is the first plan. Change anything, or take a plan of a search, and both stand here side by side."));
    }
    const fields = (one) => ({ model: side(one === first ? [...pinned] : [...values]).model ?? one.model, cluster: one.cluster,
      software: one.software, ...Object.fromEntries(axes.filter(({ name }) => String(first.plan[name]) !== String(shown.plan[name]) || ["nodes", "gbs", "seq_len"].includes(name))
        .map(({ name }) => [name, one.plan[name]]).filter(([, value]) => (value ?? "") !== "").map(([name, value]) => [name, valueOf(value)])) });
    const { answer: odds } = await searcher.ask({ command: "compare", arguments: JSON.stringify({ a: fields(first), b: fields(shown) }), documents: JSON.stringify(documentsInUse()) });
    if (question !== compared) return;
    const button = (label, act) => {
      const node = element("button", { type: "button" }, label);
      node.addEventListener("click", act);
      return node;
    };
    byId("versus").replaceChildren(predictionDrawing.versus(first, shown, odds.problems ? null : JSON.parse(odds.document)),
      element("div", { class: "controls" }, button("Swap", () => {
        const old = new Map([...values, ...chosen]);
        values.clear();
        for (const [name, value] of pinned) values.set(name, value);
        pinned = old;
        ask();
      }), button("Close", () => { pinned = null; ask(); })));
  }

  // ---- search ------------------------------------------------------------------------------------
  async function search() {
    const [start, stop, progress, told] = ["start-search", "stop-search", "progress", "searched"].map(byId);
    start.disabled = true;
    stop.hidden = progress.hidden = false;
    progress.removeAttribute("value");
    told.textContent = "Combining plans …";
    const args = argumentsOf([...values].filter(([name]) => !kRunFields.some((field) => field.name === name) && (byId("keep").checked || !isVaried(name))));
    if (!args.gpus) args.nodes ??= shown && String(shown.plan.nodes);
    if (shown) args.gbs ??= String(shown.plan.gbs);
    args.top = String(kMostPlans);
    const begun = performance.now();
    const { answer } = await searcher.ask({ command: "search", arguments: JSON.stringify(args), documents: JSON.stringify(documentsInUse()), slices: kPoints },
      (done, of) => {
        const left = (performance.now() - begun) / 1000 * (of / done - 1);
        progress.max = of;
        progress.value = done;
        told.textContent = `${done} of ${of} plans, ${left.toFixed(0)} s left`;
      });
    start.disabled = false;
    stop.hidden = progress.hidden = true;
    if (answer.problems) {
      told.textContent = "";
      byId("found").replaceChildren(...answer.problems.map((problem) => element("p", { class: "problem", role: "alert" }, problem)));
      return;
    }
    const found = JSON.parse(answer.document);
    told.textContent = `${searchDrawing.summary(found)} ${((performance.now() - begun) / 1000).toFixed(1)} s.`;
    byId("found").replaceChildren(...searchDrawing.recommendation(found, look), ...searchDrawing.plans(found, look, answer.drawing),
      element("pre", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Command line of the search" },
        element("code", {}, found.context.command)));
    resize();
  }
  // Puts a plan that was found into the form.
  function look({ plan }) {
    for (const { name } of axes) if (isVaried(name)) values.delete(name);
    for (const [name, value] of ofPlan(plan)) values.set(name, value);
    if (!values.has("gpus")) values.set("nodes", String(plan.nodes));
    ask();
    byId("headline").scrollIntoView({ block: "nearest" });
  }

  // ---- the rest of the page ----------------------------------------------------------------------
  async function copy(content, what) {
    let copied = true;
    try {
      await navigator.clipboard.writeText(content);
    } catch {
      copied = false;
    }
    byId("done").textContent = copied ? `${what} copied.` : "This browser does not let the page copy; the text can be marked.";
  }
  function listen() {
    for (const form of ["core", "question"]) byId(form).addEventListener("submit", (event) => event.preventDefault());
    byId("set").addEventListener("input", () => set("set", byId("set").value));
    byId("reset").addEventListener("click", () => {
      for (const { name } of axes) if (!["gbs", "seq_len", "nodes"].includes(name)) values.delete(name);
      values.delete("set");
      ask();
    });
    byId("pin").addEventListener("click", () => { pinned = new Map([...values, ...chosen]); ask(); });
    byId("copy-command").addEventListener("click", () => copy(byId("command").textContent, "Command"));
    byId("copy-link").addEventListener("click", () => copy(location.href.split("#")[0] + link(), "Link"));
    byId("save-json").addEventListener("click", () => element("a", { download: "prediction.json",
      href: URL.createObjectURL(new Blob([text], { type: "application/json" })) }).click());
    byId("start-search").addEventListener("click", search);
    byId("stop-search").addEventListener("click", () => searcher.end("the search was stopped"));
    addEventListener("hashchange", () => { readLink(); shown = null; showFields(); ask(); });
    new ResizeObserver(resize).observe(byId("answer"));
  }

  async function begin() {
    const [{ answer: about }, { answer: names }] = await Promise.all([engine.ask({ about: true }), call("show", {})]);
    if (about.problems) return showProblems(about.problems);
    axes = about.axes;
    const known = JSON.parse(names.document);
    const add = (place, name, field) => {
      fields.set(name, field);
      byId(place).append(field.node);
    };
    const [gpus, ...others] = kCore;
    add("core", gpus.name, coreField(gpus));
    add("core", "card", cardField(about.cards));
    for (const [name, kind] of Object.entries(kKinds)) add(name === "model" ? "core" : "inputs", name, inputField(name, known[kind]));
    for (const one of others) add("core", one.name, coreField(one));
    // Axes that a search varies come first.
    for (const axis of axes) {
      const place = kTuning.includes(axis.name) ? "tuning-axes" : axis.use === "shared" || axis.use === "usual" ? "more-axes" : "axes";
      add(place, axis.name, axisField(axis));
    }
    for (const field of kRunFields) add("reservation-fields", field.name, axisField(field));
    byId("about").textContent = `${about.version}, compiled to WebAssembly; it answers as the program does, to the last digit.`;
    byId("plan").open = matchMedia("(min-width: 62rem)").matches;
    listen();
    readLink();
    showFields();
    await ask();
    document.documentElement.dataset.ready = "true";
  }

  window.prequel = { call, raw, shown: () => shown };  // for consoles, and for tests
  begin();
})();
