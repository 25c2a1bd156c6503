"use strict";
// Draws the report from the JSON document in #data: a prediction, a validation or a search. Numbers
// stand in tables and plain bars; uPlot draws what one wants to zoom into. Every chart can be used
// by keyboard and has its numbers in a table below it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const report = document.getElementById("report");
  const tooltip = document.getElementById("tooltip");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const percent = (share, digits = 1) => (100 * share).toFixed(digits) + " %";
  const signed = (share) => (share >= 0 ? "+" : "") + percent(share);
  const seconds = (s) => (s >= 100 ? s.toFixed(1) + " s" : s >= 1 ? s.toFixed(2) + " s"
    : s >= 1e-3 ? (1e3 * s).toFixed(1) + " ms" : (1e6 * s).toFixed(1) + " µs").replace(" ", "\u00a0");

  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  const section = (title, ...children) =>
    report.append(element("section", {}, element("h2", {}, title), ...children));

  function legend(entries) {
    return element("ul", { class: "legend" }, ...entries.map(([colour, label]) =>
      element("li", {}, element("i", { style: `background: var(--${colour})` }), label)));
  }

  // A table whose columns sort by a click on their heading; `rows` of cells {text, key}.
  function table(caption, headings, rows) {
    const body = element("tbody");
    const fill = (order) => body.replaceChildren(...order.map((row) =>
      element("tr", {}, ...row.map((cell) => element("td", typeof cell.key === "string" ? { class: "text" } : {}, cell.text)))));
    const heads = headings.map((heading, column) => {
      const head = element("th", { scope: "col", "aria-sort": "none" });
      const button = element("button", { type: "button" }, heading);
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const sign = descending ? -1 : 1;
        const compare = (a, b) => a === b ? 0 : a === null ? 1 : b === null ? -1 : sign * (a < b ? -1 : 1);
        fill([...rows].sort((a, b) => compare(a[column].key, b[column].key)));
      });
      head.append(button);
      return head;
    });
    fill(rows);
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body));
  }
  const cell = (value, show = String) =>
    ({ text: value === null || value === undefined ? "" : show(value), key: value ?? null });
  const details = (summary, content) => element("details", {}, element("summary", {}, summary), content);

  function showTooltip(text, x, y) {
    tooltip.hidden = !text;
    if (!text) return;
    tooltip.textContent = text;
    const box = tooltip.getBoundingClientRect();
    tooltip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
    tooltip.style.top = (y + box.height + 20 < innerHeight ? y + 14 : y - box.height - 10) + "px";
  }

  // A chart of `items`, each with its place x, y (in the chart's units) and a text, that `draw`
  // paints. Drag or the buttons zoom, arrows go from item to item, Escape shows everything again.
  const charts = [];
  function chart({ label, height, x, y, items, draw, find, splits, xLabel, yLabel, yText, log }) {
    const frame = element("div", { class: "chart", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-label": label +
      " Arrow keys go through its items, plus and minus zoom, Escape shows everything." });
    const axis = (text) => ({ label: text, labelSize: 22, font: "12px sans-serif", labelFont: "12px sans-serif",
      stroke: () => css("ink"), grid: { stroke: () => css("line"), width: 1 }, ticks: { stroke: () => css("line") } });
    const width = () => Math.max(240, frame.clientWidth);
    let chosen = -1;
    const plot = new uPlot({
      width: 640, height, legend: { show: false }, padding: [10, 14, 0, 0],
      cursor: { drag: { x: true, y: false }, points: { show: false } },
      scales: { x: { time: false, range: (u, low, high) => u.zoomed ?? x, distr: log ? 3 : 1 },
        y: { range: () => y, distr: log ? 3 : 1 } },
      axes: [axis(xLabel), { ...axis(yLabel), size: 56, ...(splits ? { splits: () => splits, grid: { show: false },
        ticks: { show: false } } : {}), ...(yText ? { values: (u, ticks) => ticks.map(yText) } : {}) }],
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      hooks: {
        draw: [(u) => {
          const ctx = u.ctx;
          ctx.save();
          ctx.beginPath();
          ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
          ctx.clip();
          draw(u, ctx, chosen);
          ctx.restore();
        }],
        setSelect: [(u) => {
          if (u.select.width < 3) return;
          zoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
      },
    }, [[x[0], x[1]], [y[0], y[1]]], frame);
    function zoom(low, high) {
      low = Math.max(low, x[0]);
      high = Math.min(high, x[1]);
      plot.zoomed = low <= x[0] && high >= x[1] ? undefined : [low, high];
      frame.dataset.zoom = plot.zoomed ? plot.zoomed.join(" ") : "";
      plot.setData(plot.data);
    }
    function scaleBy(factor) {
      const [low, high] = plot.zoomed ?? x;
      const middle = chosen >= 0 ? items[chosen].x : (low + high) / 2, half = (high - low) * factor / 2;
      zoom(middle - half, middle + half);
    }
    function choose(index) {
      chosen = Math.max(0, Math.min(items.length - 1, index));
      const item = items[chosen], [low, high] = plot.zoomed ?? x;
      if (item.x < low || item.x > high) zoom(item.x - (high - low) / 2, item.x + (high - low) / 2);
      plot.redraw(false);
      const box = plot.over.getBoundingClientRect();
      showTooltip(item.text, box.left + plot.valToPos(item.x, "x"), box.top + plot.valToPos(item.y, "y"));
    }
    plot.over.addEventListener("mousemove", (event) => {
      const box = plot.over.getBoundingClientRect();
      const index = find(plot, event.clientX - box.left, event.clientY - box.top);
      showTooltip(index >= 0 ? items[index].text : "", event.clientX, event.clientY);
    });
    plot.over.addEventListener("mouseleave", () => showTooltip(""));
    frame.addEventListener("blur", () => { chosen = -1; showTooltip(""); plot.redraw(false); });
    frame.addEventListener("keydown", (event) => {
      const keys = { ArrowRight: () => choose(chosen + 1), ArrowLeft: () => choose(chosen - 1),
        Home: () => choose(0), End: () => choose(items.length - 1), "+": () => scaleBy(0.5), "=": () => scaleBy(0.5),
        "-": () => scaleBy(2), Escape: () => { chosen = -1; showTooltip(""); zoom(...x); } };
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    const button = (name, action) => {
      const node = element("button", { type: "button" }, name);
      node.addEventListener("click", action);
      return node;
    };
    const controls = element("div", { class: "controls" }, button("Zoom in", () => scaleBy(0.5)),
      button("Zoom out", () => scaleBy(2)), button("Show all", () => zoom(...x)));
    charts.push({ plot, resize: () => plot.setSize({ width: width(), height }) });
    return element("div", {}, controls, frame);
  }

  const nearest = (items) => (u, left, top) => {
    let best = -1, distance = 14;
    items.forEach((item, index) => {
      const d = Math.hypot(u.valToPos(item.x, "x") - left, u.valToPos(item.y, "y") - top);
      if (d < distance) [best, distance] = [index, d];
    });
    return best;
  };
  function dots(u, ctx, items, chosen) {
    items.forEach((item, index) => {
      ctx.beginPath();
      ctx.fillStyle = css(item.colour ?? "compute");
      ctx.arc(u.valToPos(item.x, "x", true), u.valToPos(item.y, "y", true),
        (index === chosen ? 7 : 4) * devicePixelRatio, 0, 2 * Math.PI);
      ctx.fill();
      if (index !== chosen) return;
      ctx.strokeStyle = css("ink");
      ctx.lineWidth = 2 * devicePixelRatio;
      ctx.stroke();
    });
  }

  // ---- prediction -------------------------------------------------------------------------------
  const kParts = [["compute", "compute"], ["recompute", "recompute"], ["tp_comm", "communication"],
    ["pp_comm", "communication"], ["dp_comm", "communication"], ["bubble", "bubble"],
    ["optimizer", "optimizer"], ["host", "host"], ["other", "other"]];
  const kMemory = [["weights", "weights"], ["gradients", "gradients"], ["optimizer", "states"],
    ["activations", "activations"], ["buffers", "buffers"], ["framework", "framework"]];

  function numbers(entries) {
    return element("dl", { class: "numbers" }, ...entries.map(([label, value, note, kind]) =>
      element("div", {}, element("dt", {}, label), element("dd", kind ? { class: kind } : {}, value,
        ...(note ? [element("small", {}, note)] : [])))));
  }

  function bars(rows) {
    return element("div", { class: "bars" }, ...rows.flatMap(({ label, parts, value, mark }) => [
      element("span", {}, label),
      element("div", { class: "track", role: "img", "aria-label": `${label}: ${parts.map((part) => part[2]).join(", ")}` },
        ...parts.map(([share, colour, title]) => element("span", { title,
          style: `width: ${Math.max(0, 100 * share).toFixed(3)}%; background: var(--${colour})` })),
        ...(mark ? [element("b", { style: `left: ${(100 * mark).toFixed(3)}%`, title: "capacity" })] : [])),
      element("span", { class: "value" }, value)]));
  }

  function timeline(p, slices, stages, note) {
    // kind, stage, chunk, micro batch, start and duration in s; backward begins with what is recomputed.
    const names = ["forward", "backward", "input gradient", "weight gradient", "send forward", "send backward",
      "gradient reduction", "tied embedding reduction", "optimizer", "parameter gather", "forward, layers of a bucket",
      "backward, layers of a bucket", "weight gradient, layers of a bucket"];
    const colours = ["compute", "backward", "backward", "backward", "communication", "communication",
      "communication", "communication", "optimizer", "communication", "compute", "backward", "backward"];
    // Communication is painted first: what passes over layers do not cover of it is exposed.
    const layers = slices.map(([kind]) => colours[kind] === "communication" ? 0 : 1);
    const end = p.sec_per_iter, played = end - p.breakdown_s.other, count = stages.length;
    const rowOf = (stage) => count - 1 - stage;
    const items = slices.map(([kind, stage, chunk, batch, start, duration]) => ({
      x: start + duration / 2, y: rowOf(stage) + 0.5, kind, stage, start, duration,
      text: `${names[kind]}${kind < 6 ? ", micro batch " + batch : ""}, stage ${stage}` +
        `${p.plan.vpp > 1 && kind < 6 ? ", chunk " + chunk : ""}\n${seconds(start)} to ${seconds(start + duration)}` +
        ` (${seconds(duration)})` + ((kind === 1 || kind === 11) && stages[stage].recompute > 0
          ? `\nof it ${percent(stages[stage].recompute)} recomputes` : "") }));
    section("Timeline of the iteration",
      element("p", { class: "soft" }, "One row a pipeline stage; drag to zoom. What is empty is bubble. " + note),
      legend([["compute", "forward"], ["backward", "backward"], ["recompute", "recompute"],
        ["communication", "exposed communication"], ["optimizer", "optimizer"], ["bubble", "bubble"], ["other", "fixed time per iteration"]]),
      chart({
        label: `Timeline: ${count} pipeline stages over ${seconds(end)}, ${percent(p.breakdown_s.bubble / end)} bubble.`,
        height: Math.min(620, 90 + 34 * count), x: [0, end], y: [0, count], items,
        splits: stages.map((_, i) => i + 0.5), yText: (v) => String(count - 0.5 - v), xLabel: "seconds", yLabel: "stage",
        find: (u, left, top) => {
          const time = u.posToVal(left, "x"), stage = count - 1 - Math.floor(u.posToVal(top, "y"));
          const under = (layer) => items.findIndex((i, index) => layers[index] === layer && i.stage === stage &&
            time >= i.start && time <= i.start + i.duration);
          return under(1) >= 0 ? under(1) : under(0);
        },
        draw: (u, ctx, chosen) => {
          const ink = Object.fromEntries(["compute", "backward", "recompute", "communication", "optimizer", "bubble",
            "other", "ink", "paper"].map((name) => [name, css(name)]));
          const at = (value) => u.valToPos(value, "x", true);
          const [low, high] = [u.scales.x.min, u.scales.x.max];
          for (let stage = 0; stage < count; ++stage) {
            const top = u.valToPos(rowOf(stage) + 0.92, "y", true), bottom = u.valToPos(rowOf(stage) + 0.08, "y", true);
            ctx.fillStyle = ink.bubble;
            ctx.fillRect(at(0), top, at(played) - at(0), bottom - top);
            ctx.fillStyle = ink.other;
            ctx.fillRect(at(played), top, at(end) - at(played), bottom - top);
          }
          for (const layer of [0, 1]) items.forEach((item, index) => {
            if (layers[index] !== layer || item.start > high || item.start + item.duration < low) return;
            const top = u.valToPos(rowOf(item.stage) + 0.92, "y", true);
            const bottom = u.valToPos(rowOf(item.stage) + 0.08, "y", true);
            const left = at(item.start), width = Math.max(0.5, at(item.start + item.duration) - left);
            ctx.fillStyle = ink[colours[item.kind]];
            ctx.fillRect(left, top, width, bottom - top);
            if (item.kind === 1 || item.kind === 11) {
              ctx.fillStyle = ink.recompute;
              ctx.fillRect(left, top, width * stages[item.stage].recompute, bottom - top);
            }
            if (width > 5) {
              ctx.fillStyle = ink.paper;
              ctx.fillRect(left + width - 1, top, 1, bottom - top);
            }
            if (index === chosen) {
              ctx.strokeStyle = ink.ink;
              ctx.lineWidth = 3;
              ctx.strokeRect(left, top, width, bottom - top);
            }
          });
        },
      }));
  }

  function prediction() {
    const p = data.prediction, plan = p.plan, memory = p.memory, measured = p.measured ?? {};
    const against = (predicted, was, unit) =>
      was === undefined ? "" : `measured ${was.toFixed(2)} ${unit}, ${signed(predicted / was - 1)}`;
    report.append(element("h1", {}, `${p.model} on ${plan.nodes} node${plan.nodes === 1 ? "" : "s"}`),
      element("p", {}, `${plan.gpus} x ${p.device}, cluster ${p.cluster}, software ${p.software}`),
      element("p", { class: "soft" }, `dp ${plan.dp}, tp ${plan.tp}, pp ${plan.pp}${plan.vpp > 1 ? ", vpp " + plan.vpp : ""}, ` +
        `mbs ${plan.mbs}, gbs ${plan.gbs}, seq ${plan.seq_len}, ${plan.precision}, ZeRO ${plan.zero}, recompute ` +
        `${plan.recompute}, attention ${plan.attention}, ${plan.schedule}`),
      numbers([
        ["time per iteration", `${p.sec_per_iter.toFixed(2)} s ±\u00a0${percent(p.error.sec_per_iter, 0).replace(" ", "\u00a0")}`,
          against(p.sec_per_iter, measured.sec_per_iter, "s")],
        ["throughput", `${p.tokens_per_sec.toFixed(0)} tokens/s`, `${p.samples_per_sec.toFixed(2)} samples/s`],
        ["hardware FLOPs per GPU", `${p.tflops_per_gpu.hardware.toFixed(1)} TFLOP/s`,
          against(p.tflops_per_gpu.hardware, measured.tflops_per_gpu, "TFLOP/s") || `HFU ${percent(p.hfu)}`],
        ["model FLOPs per GPU", `${p.tflops_per_gpu.model.toFixed(1)} TFLOP/s`, `MFU ${percent(p.mfu)}`],
        ["peak memory", `${memory.peak_gib.toFixed(1)} of ${memory.capacity_gib.toFixed(1)} GiB, ${memory.verdict}`,
          against(memory.peak_gib, measured.mem_gib, "GiB"), memory.verdict]]),
      element("p", { class: "soft" }, `Error: ${p.error.basis}. FLOPs counted as "${p.flops_convention}", of a peak of ` +
        `${p.peak_tflops.toFixed(0)} TFLOP/s.`),
      ...p.warnings.map((warning) => element("p", { class: "warning" }, warning)));

    const step = p.sec_per_iter;
    section("Where the time goes", element("p", { class: "soft" }, `Stage ${p.slowest_stage}, the busiest.`),
      bars(kParts.filter(([part]) => p.breakdown_s[part] > 1e-9 * step).map(([part, colour]) => ({
        label: part.replace("_", " "), parts: [[p.breakdown_s[part] / step, colour, part]],
        value: `${seconds(p.breakdown_s[part])}  ${percent(p.breakdown_s[part] / step)}` }))));

    const stages = memory.stages.map((s) => ({ recompute: s.backward_s > 0 ? s.recompute_s / s.backward_s : 0 }));
    if (data.timeline.length > 0) timeline(p, data.timeline, stages, data.timeline_note);

    const most = Math.max(memory.capacity_gib, ...memory.stages.map((s) => s.peak_gib)) * 1.03;
    section("Memory per pipeline stage",
      element("p", { class: "soft" }, `GiB of one GPU; the red line is its capacity, ${memory.capacity_gib.toFixed(1)} GiB.`),
      legend(kMemory.map(([part, colour]) => [colour, part])),
      bars(memory.stages.map((s) => ({ label: `stage ${s.stage}`, mark: memory.capacity_gib / most,
        value: `${s.peak_gib.toFixed(1)} GiB`,
        parts: kMemory.map(([part, colour]) => [s[part + "_gib"] / most, colour, `${part}: ${s[part + "_gib"].toFixed(1)} GiB`]) }))),
      details("Stages as a table", table("Stages", ["stage", "layers", ...kMemory.map(([part]) => part), "peak GiB",
        "forward", "backward", "busy"], memory.stages.map((s) => [cell(s.stage), cell(s.layers),
        ...kMemory.map(([part]) => cell(s[part + "_gib"], (v) => v.toFixed(1))), cell(s.peak_gib, (v) => v.toFixed(1)),
        cell(s.forward_s, seconds), cell(s.backward_s, seconds), cell(s.busy_s, seconds)]))));

    const gains = data.sensitivity.map((s) => ({ ...s, gain: 1 - s.sec_per_iter / step }));
    const largest = Math.max(1e-9, ...gains.map((s) => s.gain));
    section("What 10 % more would bring",
      element("p", { class: "soft" }, "The iteration with 10 % more of one resource and everything else as it is."),
      bars(gains.map((s) => ({ label: s.resource, parts: [[s.gain / largest, "compute", s.resource]],
        value: `${seconds(s.sec_per_iter)}  −${percent(s.gain)}` }))));
  }

  // ---- validation -------------------------------------------------------------------------------
  function validation() {
    const v = data.validation;
    report.append(element("h1", {}, "Predicted against measured"),
      element("p", { class: "soft" }, "Errors are predicted / measured − 1."));
    section("Groups", table("Groups", ["group", "runs", "predicted", "time n", "MAPE", "median", "P90", "max", "bias",
      "memory MAPE"], v.groups.map((g) => [cell(g.group), cell(g.runs), cell(g.predicted), cell(g.time.n),
      ...["mape", "median", "p90", "max"].map((k) => cell(g.time.n ? g.time[k] : null, (e) => percent(e))),
      cell(g.time.n ? g.time.bias : null, signed), cell(g.memory.n ? g.memory.mape : null, (e) => percent(e))])));

    const runs = v.runs.map((run, i) => ({ ...run, axes: data.axes[i] })).filter((run) => run.error?.sec_per_iter !== undefined);
    if (runs.length > 0) {
      const items = runs.map((run) => ({ x: run.measured.sec_per_iter, y: run.predicted.sec_per_iter,
        colour: Math.abs(run.error.sec_per_iter) <= 0.05 ? "compute" : "communication",
        text: `${run.id}\nmeasured ${seconds(run.measured.sec_per_iter)}, predicted ` +
          `${seconds(run.predicted.sec_per_iter)}\n${signed(run.error.sec_per_iter)}` })).sort((a, b) => a.x - b.x);
      const all = items.flatMap((i) => [i.x, i.y]);
      const range = [Math.min(...all) / 1.2, Math.max(...all) * 1.2];
      const inside = items.filter((i) => i.colour === "compute").length;
      section("Seconds per iteration", element("p", { class: "soft" }, "The band is ±5 %; runs outside of it are red."),
        chart({ label: `Predicted against measured: ${inside} of ${items.length} runs lie within 5 %.`, height: 420,
          x: range, y: range, log: range[1] > 50 * range[0], items, find: nearest(items), xLabel: "measured, s", yLabel: "predicted, s",
          draw: (u, ctx, chosen) => {
            const at = (value, scale) => u.valToPos(value, scale, true);
            ctx.globalAlpha = 0.18;
            ctx.fillStyle = css("compute");
            ctx.beginPath();
            [[range[0], 0.95], [range[1], 0.95], [range[1], 1.05], [range[0], 1.05]].forEach(([value, factor], i) =>
              ctx[i ? "lineTo" : "moveTo"](at(value, "x"), at(value * factor, "y")));
            ctx.fill();
            ctx.globalAlpha = 1;
            dots(u, ctx, items, chosen);
          } }));

      // Residuals over any column whose values differ, in their order; what is not said comes last.
      const axes = [...new Set(runs.flatMap((run) => Object.keys(run.axes)))]
        .filter((axis) => new Set(runs.map((run) => run.axes[axis])).size > 1);
      const select = element("select", { id: "axis" }, ...axes.map((axis) => element("option", { value: axis }, axis)));
      const place = element("div");
      const show = () => {
        const axis = select.value;
        const values = [...new Set(runs.map((run) => run.axes[axis] ?? "–"))];
        const numeric = values.every((value) => value === "–" || Number.isFinite(+value));
        values.sort((a, b) => (a === "–") - (b === "–") || (numeric ? a - b : a < b ? -1 : 1));
        const points = runs.map((run) => ({ x: values.indexOf(run.axes[axis] ?? "–"), y: 100 * run.error.sec_per_iter,
          colour: Math.abs(run.error.sec_per_iter) <= 0.05 ? "compute" : "communication",
          text: `${run.id}\n${axis} ${run.axes[axis] ?? "not said"}: ${signed(run.error.sec_per_iter)}` })).sort((a, b) => a.x - b.x);
        const most = 1.1 * Math.max(10, ...points.map((point) => Math.abs(point.y)));
        const last = charts.findIndex((c) => c.residuals);
        if (last >= 0) charts.splice(last, 1)[0].plot.destroy();
        place.replaceChildren(chart({ label: `Errors by ${axis}.`, height: 340, x: [-0.5, values.length - 0.5], y: [-most, most],
          items: points, find: nearest(points), xLabel: axis, yLabel: "error, %",
          draw: (u, ctx, chosen) => {
            const top = u.valToPos(5, "y", true), bottom = u.valToPos(-5, "y", true);
            ctx.globalAlpha = 0.18;
            ctx.fillStyle = css("compute");
            ctx.fillRect(u.bbox.left, top, u.bbox.width, bottom - top);
            ctx.globalAlpha = 1;
            dots(u, ctx, points, chosen);
          } }));
        const made = charts[charts.length - 1];
        made.residuals = true;
        made.plot.axes[0].values = (u, ticks) => ticks.map((tick) => Number.isInteger(tick) ? values[tick] ?? "" : "");
        made.resize();
      };
      section("Residuals by axis", element("div", { class: "controls" }, element("label", { for: "axis" }, "Axis"), select), place);
      select.addEventListener("change", show);
      if (axes.length > 0) show();
    }
    section("Runs", table("Runs", ["run", "status", "measured s", "predicted s", "error", "measured GiB", "predicted GiB", "reason"],
      v.runs.map((run) => [cell(run.id), cell(run.status), cell(run.measured.sec_per_iter, (s) => s.toFixed(2)),
        cell(run.predicted?.sec_per_iter, (s) => s.toFixed(2)), cell(run.error?.sec_per_iter, signed),
        cell(run.measured.mem_gib, (g) => g.toFixed(1)), cell(run.predicted?.mem_gib, (g) => g.toFixed(1)), cell(run.reason)])));
  }

  // ---- search -----------------------------------------------------------------------------------
  function search() {
    const s = data.search, axes = ["nodes", "dp", "tp", "pp", "vpp", "mbs", "zero", "recompute", "schedule"];
    report.append(element("h1", {}, "Plans by time per iteration"),
      element("p", {}, `${s.considered} plans considered, ${s.legal} legal, ${s.fitting} fit; the best ${s.plans.length} are shown.`));
    if (s.plans.length === 0) return;
    const describe = (plan) => axes.map((axis) => `${axis} ${plan[axis]}`).join(", ");
    const shown = new Map([...s.pareto, ...s.plans].map((p) => [p.rank, p]));
    const points = [...shown.values()].map((p) => ({ x: p.memory.peak_gib, y: p.sec_per_iter, plan: p })).sort((a, b) => a.x - b.x || a.y - b.y);
    let best = Infinity;
    for (const point of points) {
      point.front = point.y < best;
      if (point.front) best = point.y;
      point.colour = point.front ? "communication" : "compute";
      point.text = `rank ${point.plan.rank}${point.front ? ", on the Pareto front" : ""}\n${describe(point.plan.plan)}\n` +
        `${seconds(point.y)}, ${point.x.toFixed(1)} GiB`;
    }
    const xs = points.map((p) => p.x), ys = points.map((p) => p.y);
    const pad = (values) => { const low = Math.min(...values), high = Math.max(...values), more = 0.06 * (high - low) || 0.06 * high;
      return [low - more, high + more]; };
    section("Time against memory", element("p", { class: "soft" }, `Red: no other of all ${s.fitting} plans is both faster and smaller.`),
      chart({ label: `Pareto chart of ${points.length} plans, ${points.filter((p) => p.front).length} on the front.`, height: 420,
        x: pad(xs), y: pad(ys), items: points, find: nearest(points), xLabel: "peak memory, GiB", yLabel: "seconds per iteration",
        draw: (u, ctx, chosen) => {
          ctx.strokeStyle = css("communication");
          ctx.lineWidth = 1.5 * devicePixelRatio;
          ctx.beginPath();
          points.filter((p) => p.front).forEach((p, i) =>
            ctx[i ? "lineTo" : "moveTo"](u.valToPos(p.x, "x", true), u.valToPos(p.y, "y", true)));
          ctx.stroke();
          dots(u, ctx, points, chosen);
        } }));
    section("Plans", table("Plans", ["rank", "seconds", "peak GiB", "MFU", ...axes], s.plans.map((p) => [cell(p.rank),
      cell(p.sec_per_iter, (v) => v.toFixed(3)), cell(p.memory.peak_gib, (v) => v.toFixed(1)), cell(p.mfu, (v) => percent(v)),
      ...axes.map((axis) => cell(p.plan[axis]))])));
  }

  ({ prediction, validation, search })[data.kind]();
  report.append(element("p", { class: "soft" }, `Written by ${data.program}.`));
  const redraw = () => charts.forEach(({ plot }) => plot.redraw(false));
  const resize = () => charts.forEach((c) => c.resize());
  new ResizeObserver(resize).observe(report);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // Paper is light and as wide as it is; what is folded stands open on it.
  const folded = [];
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("print");
    for (const node of document.querySelectorAll("details:not([open])")) {
      folded.push(node);
      node.open = true;
    }
    resize();
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("print");
    for (const node of folded.splice(0)) node.open = false;
    resize();
  });
  resize();
})();
