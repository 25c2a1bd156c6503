// An agent's client, npm's @modelcontextprotocol/sdk, against `prequel mcp`:
// node client.mjs PROGRAM
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "prequel-test", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command: process.argv[2], args: ["mcp"], env: process.env }));
assert.equal(client.getServerVersion().name, "prequel");

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name), ["predict", "search", "compare", "explain", "validate", "calibrate_runs", "import", "show"]);

const answer = await client.callTool({ name: "predict", arguments: { job: "bloom-176b-jean-zay", mbs: 2 } });
assert.equal(answer.isError, false);
assert.ok(answer.structuredContent.sec_per_iter > 0);
// The text for people stands beside the document for programs.
assert.match(answer.content[0].text, /^[0-9.]+ s per iteration, .* GiB: fits/);

// The client checks what it is told against the tools' output schemas.
const questions = {
  search: { model: "gpt-18b", cluster: "selene", nodes: 8, gbs: 512 },
  compare: { a: "bloom-176b-jean-zay", b: { mbs: 1 } },
  explain: { job: "bloom-176b-jean-zay", explain: ["mlp-in"] },
  validate: { runs: [`${process.argv[3]}/runs/deepspeed-zero-a100-40gb.csv`] },
  calibrate_runs: { files: [`${process.argv[3]}/runs/deepspeed-zero-a100-40gb.csv`], fit: "host", folds: 1 },
  show: { kind: "clusters" },
};
for (const [name, question] of Object.entries(questions)) {
  const told = await client.callTool({ name, arguments: question });
  assert.equal(told.isError, false, `${name}: ${told.content[0].text}`);
}

const refused = await client.callTool({ name: "predict", arguments: { job: "bloom-176b-jean-zai" } });
assert.equal(refused.isError, true);
assert.match(refused.content[0].text, /did you mean/);

const mistyped = await client.callTool({ name: "predict", arguments: { tpp: 8 } });
assert.equal(mistyped.isError, true);
assert.match(mistyped.content[0].text, /did you mean "tp"/);
const pretended = await client.callTool({ name: "pretend", arguments: {} });
assert.equal(pretended.isError, true);
assert.match(pretended.content[0].text, /unknown tool/);
await client.close();
