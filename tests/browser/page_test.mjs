// Opens the page from disk in a real browser: it answers as the program does, to the last digit and to
// the last word of what it refuses, and pointer, keyboard, links and search do what they promise.
// Arguments: the program, the folder of node_modules, a folder for screenshots, the browser, and the
// page. Where no page was built, the test is skipped (status 77).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";

const [program, modules, folder, executablePath, file] = process.argv.slice(2);
if (!existsSync(file)) {
  console.log(`skipped: there is no ${file}; \`sh cmake/setup.sh web\` builds it`);
  process.exit(77);
}
const { chromium } = createRequire(modules + "/")("playwright-core");
mkdirSync(folder, { recursive: true });

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

const kJob = "#job=bloom-176b-jean-zay";

async function open(fragment = kJob, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.problems = [];
  page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || page.problems.push("asked the network for " + request.url()));
  await page.goto(`file://${file}${fragment}`, { timeout: 120000 });
  await page.locator("html[data-ready]").waitFor({ timeout: 60000 });
  return page;
}
const command = (page) => page.locator("#command").textContent();
const problems = (page) => page.locator("#problems .problem").allTextContents();

/// The program's answer: its document, or its message about a question that it refuses. Causes that
/// could explain the gap to a measured time are left out, as only the program tells them.
function native(args) {
  const words = Object.entries(args).filter(([name]) => name !== "job")
    .map(([name, value]) => value === true ? `--${name.replaceAll("_", "-")}` : `--${name.replaceAll("_", "-")}=${value}`);
  const { status, stdout, stderr } = spawnSync(program, ["predict", ...(args.job ? [args.job] : []), ...words, "--json", "--quiet"],
    { encoding: "utf8", maxBuffer: 1 << 26 });
  return status < 2 ? { document: stdout.replace(/^ {2}"causes": \[\n[^]*?^ {2}\],?\n/m, "") } : { problems: stderr.trim().split("\n").map((line) => line.replace(/^prequel: /, "")) };
}
const asked = (page, args) => page.evaluate((args) => window.prequel.call("predict", args).then(({ answer }) => answer), args);

/// Plans of every cluster, with its own stack, and models and layouts in turn; those that are refused
/// are among them.
function* questions() {
  const names = (kind) => JSON.parse(spawnSync(program, ["show", kind, "--json"], { encoding: "utf8" }).stdout)[kind];
  const models = names("models"), clusters = names("clusters");
  let seed = 1;
  const one = (list) => list[(seed = (seed * 48271) % 2147483647) % list.length];
  for (let i = 0; i < 400; ++i) {
    const cluster = clusters[i % clusters.length];
    yield { model: one(models), cluster, nodes: one([1, 1, 2, 4, 16]), tp: one([1, 2, 4, 8]), pp: one([1, 1, 2, 4]), mbs: one([1, 2]),
      gbs: one([128, 256, 512]), ...one([{}, { recompute: "full" }, { zero: 1 }, { zero: 3 }, { vpp: 2 }, { jitter: 0.03 }, { contention: true }]) };
  }
}

const fits = async (page) => {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `content ${content} is no wider than the window ${window}`);
};

const checks = {
  async "it is one file of at most 3 MB compressed"() {
    const bytes = readFileSync(file), compressed = gzipSync(bytes).length;
    console.log(`  ${bytes.length} bytes, ${compressed} compressed`);
    assert.ok(compressed <= 3e6);
  },
  async "it opens from disk with an answer, and asks nobody"() {
    const page = await open();
    const at = await page.evaluate(() => performance.now());
    console.log(`  answered ${at.toFixed(0)} ms after it was opened`);
    assert.match(await page.locator("#headline h1").textContent(), /^bigscience-181b on 48 nodes/);
    assert.match(await page.locator("#headline").textContent(), /80.% interval/);
    assert.equal(await page.locator("#pictures section").count(), 4);
    assert.equal(await command(page), "prequel predict bloom-176b-jean-zay");
    assert.deepEqual(page.problems, []);
    await fits(page);
    await page.screenshot({ path: `${folder}/page-light.png`, fullPage: true });
  },
  async "50 plans are answered as the program answers, and others are refused in its words"() {
    const page = await open();
    let answered = 0, refused = 0;
    for (const args of [{ job: "bloom-176b-jean-zay" }, { job: "bloom-176b-jean-zay", mbs: 2, schedule: "gpipe" }, ...questions()]) {
      if (answered >= 50 && refused >= 20) break;
      const expected = native(args);
      if (expected.document ? answered >= 50 : refused >= 20) continue;
      const answer = await asked(page, args);
      if (expected.document) {
        answered += 1;
        assert.equal(answer.document, expected.document, JSON.stringify(args));
      } else {
        refused += 1;
        // The program calls a flag what the page, as all callers, calls by the field's name.
        const names = expected.problems.map((problem) => problem.replace(/^--[a-z-]+/, (flag) => flag.slice(2).replaceAll("-", "_")));
        assert.deepEqual(answer.problems, names, JSON.stringify(args));
      }
    }
    console.log(`  ${answered} answers and ${refused} refusals are the same`);
    assert.equal(answered, 50);
    assert.deepEqual(page.problems, []);
  },
  async "while a slider is dragged, numbers, pictures, command and link follow"() {
    const page = await open();
    const slider = page.getByRole("slider", { name: /^gbs,/ });
    await slider.focus();
    const times = [];
    let last = await command(page);
    for (let i = 0; i < 30; ++i) {
      await page.keyboard.press(i % 20 < 10 ? "ArrowLeft" : "ArrowRight");
      await page.waitForFunction((before) => document.getElementById("command").textContent !== before ||
        document.querySelector("#answer.stale"), last);
      last = await command(page);
      times.push(Number(await page.locator("#about").getAttribute("data-ms")));
    }
    times.sort((a, b) => a - b);
    console.log(`  a change: median ${times[times.length >> 1]} ms, largest ${times.at(-1)} ms`);
    const gbs = await page.locator("#gbs").inputValue();
    assert.equal(await command(page), `prequel predict bloom-176b-jean-zay --gbs ${gbs}`);
    await page.waitForFunction((wanted) => location.hash.includes(wanted), `gbs=${gbs}`);
    assert.match(await page.locator(".chart").first().getAttribute("aria-label"), /6 pipeline stages/);
    assert.deepEqual(page.problems, []);
  },
  async "a link brings the same question back, pasted files included"() {
    const page = await open("#model=gpt3-175b&cluster=dgx-a100&nodes=16&tp=8&pp=8&gbs=256");
    assert.equal(await command(page), "prequel predict --model gpt3-175b --cluster dgx-a100 --nodes 16 --tp 8 --pp 8 --gbs 256");
    const config = readFileSync("tests/cli/fixtures/llama-3-70b-config.json", "utf8");
    await page.locator("#model").selectOption({ label: "a file of my own …" });
    await page.locator("#model-text").fill(config);
    await page.waitForFunction(() => /llama/i.test(document.querySelector("#headline h1").textContent));
    await page.waitForFunction(() => location.hash.includes("file%3A"));
    const expected = native({ model: "tests/cli/fixtures/llama-3-70b-config.json", cluster: "dgx-a100", nodes: 16, tp: 8, pp: 8, gbs: 256 });
    const again = await open(new URL(page.url()).hash);
    assert.equal(await again.locator("#model-text").inputValue(), config);
    const seconds = JSON.parse(expected.document).sec_per_iter;
    assert.equal(await again.evaluate(() => window.prequel.shown().sec_per_iter), seconds);
    assert.equal(await command(again), "prequel predict --model my-model.json --cluster dgx-a100 --nodes 16 --tp 8 --pp 8 --gbs 256");
    assert.deepEqual([...page.problems, ...again.problems], []);
  },
  async "what cannot be is said where it was asked, with what would do"() {
    const page = await open();
    await page.locator("#mbs").fill("3");
    await page.locator("#problems .problem").first().waitFor();
    assert.deepEqual(await page.locator("#problems-mbs li, #problems-gbs li").allTextContents(), native({ job: "bloom-176b-jean-zay", mbs: 3 }).problems);
    await page.screenshot({ path: `${folder}/page-refused.png` });
    await page.getByRole("button", { name: "Use gbs 2040" }).click();
    await page.waitForFunction(() => document.getElementById("command").textContent.endsWith("--gbs 2040"));
    assert.deepEqual(await problems(page), []);
    await page.locator("#mbs").fill("three");
    await page.locator("#problems-mbs li").first().waitFor();
    assert.match((await problems(page))[0], /expected a whole number from 1 to 1048576, got "three"/);
    await page.getByRole("button", { name: "Leave mbs open" }).click();
    await page.getByRole("button", { name: "Leave gbs open" }).click();
    await page.waitForFunction(() => !document.querySelector("#answer.stale"));
    assert.deepEqual(page.problems, []);
  },
  async "every remedy that is offered ends what it is offered for"() {
    const asked = "#model=llama-3-70b&cluster=dgx-h100&gpus=128&gbs=512&seq_len=8192&tp=3";
    const names = await (async () => {
      const page = await open(asked);
      await page.locator("#problems .problem").first().waitFor();
      const texts = await page.locator("#problems button").allTextContents();
      await page.close();
      return [...new Set(texts)];
    })();
    assert.ok(names.includes("Use nodes 15") && names.includes("Use seq_len 8190"), String(names));
    for (const name of names) {
      const page = await open(asked);
      const button = page.getByRole("button", { name, exact: true });
      const before = await button.first().locator("xpath=..").evaluate((problem) => problem.firstChild.textContent);
      await button.first().click();
      await page.waitForFunction((text) => ![...document.querySelectorAll("#problems .problem")].some((one) => one.firstChild.textContent === text), before);
      assert.ok((await problems(page)).every((problem) => !problem.includes("expected")), name);
      assert.deepEqual(page.problems, []);
      await page.close();
    }
  },
  async "whatever is pasted, a message comes, and the next question is answered"() {
    const page = await open();
    const nested = "[".repeat(100000);
    for (const text of ["", "{", "null", "NaN", "{\"layers\": NaN}", "{\"layers\": 1e999}", "\u0000\ud800", nested, "{\"a\":".repeat(5000),
      JSON.stringify({ model_type: "llama", hidden_size: -1, num_hidden_layers: 1e30, num_attention_heads: null }),
      JSON.stringify({ schema: "prequel/model/1", layers: {}, hidden: [] }), "<xml/>", "a: [b", "x".repeat(3 << 20)]) {
      for (const kind of ["job", "model", "device", "cluster", "software"]) {
        const { answer } = await page.evaluate(([kind, text]) => window.prequel.call("predict",
          { ...(kind === "job" ? {} : { job: "bloom-176b-jean-zay" }), [kind]: "own.json" }, { "own.json": text }, 1000), [kind, text]);
        assert.ok(answer.problems?.length > 0, `${kind} ${text.slice(0, 40)}: ${answer.document?.slice(0, 200)}`);
      }
    }
    for (const args of ["NaN", "[1", "{\"tp\": NaN}", "{\"tp\": 1e400}", "{\"tp\": {}}", "{\"output\": \"x\"}", "{\"set\": [[]]}", "7"]) {
      const { answer } = await page.evaluate((args) => window.prequel.raw("predict", args), args);
      assert.ok(answer.problems?.length > 0, args);
    }
    assert.deepEqual(page.problems, []);
    assert.equal((await asked(page, { job: "bloom-176b-jean-zay" })).document, native({ job: "bloom-176b-jean-zay" }).document);
    const odd = await open("#model=%00&tp=NaN&nonsense=1&file:x=%7B");
    assert.ok((await problems(odd)).length > 0);
    assert.deepEqual(odd.problems, []);
  },
  async "a search tells how far it is, can be stopped, and its plans can be looked at"() {
    const page = await open("#job=bloom-176b-jean-zay&tp=8&mbs=2");
    await page.locator("#keep").check();
    await page.locator("#start-search").click();
    await page.locator("#found table").waitFor({ timeout: 60000 });
    assert.match(await page.locator("#searched").textContent(), /plans considered, .* fit/);
    const best = spawnSync(program, ["search", "bloom-176b-jean-zay", "--tp=8", "--mbs=2", "--nodes=48", "--gbs=2048", "--top=10", "--json"],
      { encoding: "utf8" });
    const plans = JSON.parse(best.stdout).plans;
    assert.deepEqual((await page.locator("#found tbody td:nth-child(3)").allTextContents()), plans.map((plan) => plan.sec_per_iter.toFixed(3)));
    await page.screenshot({ path: `${folder}/page-search.png`, fullPage: true });
    assert.match(await page.locator(".recommendation").textContent(), /^Take rank 1, /);
    assert.match(await page.locator("#found .chart").getAttribute("aria-label"), /^\d+ plans as a cloud/);
    await page.getByRole("button", { name: "look at plan 1", exact: true }).click();
    await page.waitForFunction((wanted) => window.prequel.shown().sec_per_iter === wanted, plans[0].sec_per_iter);
    await page.locator("#keep").uncheck();
    await page.evaluate(() => { for (const id of ["start-search", "stop-search"]) document.getElementById(id).click(); });
    await page.locator("#found .problem").waitFor();
    assert.deepEqual(page.problems, []);
  },
  async "the first question is how long and how much: the page chooses a plan that fits"() {
    const page = await open("");
    assert.deepEqual(await page.locator("#core label").allTextContents(), ["GPUs", "Card", "Model", "Tokens to train on", "Price of a GPU-hour"]);
    assert.deepEqual(await page.locator(".lead dt").allTextContents(), ["Time to train", "Memory", "Cost"]);
    assert.match(await page.locator(".lead dd").nth(1).textContent(), /^fits/);
    await page.locator("#card").selectOption({ label: await page.locator("#card option", { hasText: /^H200/ }).first().textContent() });
    await page.waitForFunction(() => window.prequel.shown().device === "h200-sxm");
    await page.locator("#gpus").fill("64");
    await page.waitForFunction(() => window.prequel.shown().plan.gpus === 64);
    assert.match(await page.locator(".lead dd").nth(1).textContent(), /^fits/);
    assert.deepEqual(await problems(page), []);
    // The plan becomes one's own with the first axis that is changed: the others stay.
    const before = await page.evaluate(() => window.prequel.shown().plan);
    await page.locator("#mbs").fill("2");
    await page.waitForFunction(() => window.prequel.shown().plan.mbs === 2);
    const after = await page.evaluate(() => window.prequel.shown().plan);
    assert.deepEqual([after.tp, after.pp, after.zero], [before.tp, before.pp, before.zero]);
    assert.deepEqual(page.problems, []);
  },
  async "two plans stand side by side, and a link keeps both"() {
    const page = await open("#model=llama-3-8b&cluster=dgx-h100&gpus=16&gbs=128&seq_len=8192&tp=2&tokens=1T");
    await page.locator("#pin").click();
    await page.locator("#tp").fill("4");
    await page.locator("#versus table").waitFor({ timeout: 60000 });
    const rows = (of) => of.locator("#versus tbody tr td:first-child").allTextContents();
    assert.ok((await rows(page)).includes("tp"));
    assert.match(await page.locator("#versus").textContent(), /with a probability of \d+/);
    await page.waitForFunction(() => location.hash.includes("versus"));
    const again = await open(new URL(page.url()).hash);
    await again.locator("#versus table").waitFor({ timeout: 60000 });
    assert.deepEqual(await rows(again), await rows(page));
    assert.deepEqual([...page.problems, ...again.problems], []);
  },
  async "axe finds nothing serious, in light, dark and narrow windows, with all of it unfolded"() {
    const axe = readFileSync(modules + "/axe-core/axe.min.js", "utf8");
    for (const options of [{ viewport: { width: 1400, height: 900 } }, { colorScheme: "dark" }, { viewport: { width: 390, height: 844 } }]) {
      const page = await open("", options);
      await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run());
      const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)}`), []);
    }
  },
  async "dark and narrow windows show all of it"() {
    const dark = await open(undefined, { colorScheme: "dark" });
    assert.notEqual(await dark.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    await dark.screenshot({ path: `${folder}/page-dark.png`, fullPage: true });
    for (const width of [320, 390, 800]) {
      const narrow = await open(undefined, { viewport: { width, height: 800 } });
      await fits(narrow);
      assert.ok(await narrow.locator("#strip").isVisible());
      await narrow.screenshot({ path: `${folder}/page-${width}.png`, fullPage: true });
    }
  },
  async "everything can be reached and named by keyboard"() {
    const page = await open();
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
    const nameless = await page.evaluate(() => [...document.querySelectorAll("input, select, textarea, button, .chart, .track, .scroll")]
      .filter((node) => !node.getAttribute("aria-label") && !(node.labels?.length > 0) && !(node.tagName === "BUTTON" && node.textContent.trim()))
      .map((node) => node.outerHTML.slice(0, 120)));
    assert.deepEqual(nameless, []);
    const reached = new Set();
    for (let i = 0; i < 320; ++i) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent.slice(0, 40)));
    }
    for (const target of ["gpus", "card", "model", "tokens", "price", "start-search", "pin", "tp", "pp", "mbs", "schedule", "precision", "tuning",
      "reservation", "job", "cluster", "software", "set", "copy-command", "copy-link"]) {
      assert.ok(reached.has(target), target);
    }
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error.stack}`);
  }
}
await browser.close();
process.exit(failed > 0 ? 1 : 0);
