"use strict";
// Draws the report from the JSON document in #data: a prediction, a validation or a search.
(() => {
  const { cell, chart, charts, css, dots, element, nearest, percent, seconds, section, signed, table } = drawing;
  const data = JSON.parse(document.getElementById("data").textContent);
  const report = document.getElementById("report");
  const show = (...nodes) => report.append(...nodes);

  function prediction() {
    const p = data.prediction;
    show(...predictionDrawing.title(p), ...predictionDrawing.headline(p), predictionDrawing.breakdown(p),
      predictionDrawing.timeline(p, data.timeline, data.timeline_note), predictionDrawing.memory(p),
      predictionDrawing.sensitivity(p, data.sensitivity));
  }

  // ---- validation -------------------------------------------------------------------------------
  function validation() {
    const v = data.validation;
    report.append(element("h1", {}, "Predicted against measured"),
      element("p", { class: "soft" }, "Errors are predicted / measured − 1."));
    show(section("Groups", table("Groups", ["group", "runs", "predicted", "time n", "MAPE", "median", "P90", "max", "bias",
      "memory MAPE"], v.groups.map((g) => [cell(g.group), cell(g.runs), cell(g.predicted), cell(g.time.n),
      ...["mape", "median", "p90", "max"].map((k) => cell(g.time.n ? g.time[k] : null, (e) => percent(e))),
      cell(g.time.n ? g.time.bias : null, signed), cell(g.memory.n ? g.memory.mape : null, (e) => percent(e))]))));

    const runs = v.runs.map((run, i) => ({ ...run, axes: data.axes[i] })).filter((run) => run.error?.sec_per_iter !== undefined);
    if (runs.length > 0) {
      const items = runs.map((run) => ({ x: run.measured.sec_per_iter, y: run.predicted.sec_per_iter,
        colour: Math.abs(run.error.sec_per_iter) <= 0.05 ? "compute" : "communication",
        text: `${run.id}\nmeasured ${seconds(run.measured.sec_per_iter)}, predicted ` +
          `${seconds(run.predicted.sec_per_iter)}\n${signed(run.error.sec_per_iter)}` })).sort((a, b) => a.x - b.x);
      const all = items.flatMap((i) => [i.x, i.y]);
      const range = [Math.min(...all) / 1.2, Math.max(...all) * 1.2];
      const inside = items.filter((i) => i.colour === "compute").length;
      show(section("Seconds per iteration", element("p", { class: "soft" }, "The band is ±5 %; runs outside of it are red."),
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
          } })));

      // Residuals over any column whose values differ, in their order; what is not said comes last.
      const axes = [...new Set(runs.flatMap((run) => Object.keys(run.axes)))]
        .filter((axis) => new Set(runs.map((run) => run.axes[axis])).size > 1);
      const select = element("select", { id: "axis" }, ...axes.map((axis) => element("option", { value: axis }, axis)));
      const place = element("div");
      const draw = () => {
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
      show(section("Residuals by axis", element("div", { class: "controls" }, element("label", { for: "axis" }, "Axis"), select), place));
      select.addEventListener("change", draw);
      if (axes.length > 0) draw();
    }
    show(section("Runs", table("Runs", ["run", "status", "measured s", "predicted s", "error", "measured GiB", "predicted GiB", "reason"],
      v.runs.map((run) => [cell(run.id), cell(run.status), cell(run.measured.sec_per_iter, (s) => s.toFixed(2)),
        cell(run.predicted?.sec_per_iter, (s) => s.toFixed(2)), cell(run.error?.sec_per_iter, signed),
        cell(run.measured.mem_gib, (g) => g.toFixed(1)), cell(run.predicted?.mem_gib, (g) => g.toFixed(1)), cell(run.reason)]))));
  }

  function search() {
    show(element("h1", {}, "Plans by time per iteration"), element("p", {}, searchDrawing.summary(data.search)),
      ...searchDrawing.plans(data.search));
  }

  ({ prediction, validation, search })[data.kind]();
  report.append(element("p", { class: "soft" }, `Written by ${data.program}.`));
  new ResizeObserver(drawing.resize).observe(report);
  // Paper is light and as wide as it is; what is folded stands open on it.
  const folded = [];
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("print");
    for (const node of document.querySelectorAll("details:not([open])")) {
      folded.push(node);
      node.open = true;
    }
    drawing.resize();
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("print");
    for (const node of folded.splice(0)) node.open = false;
    drawing.resize();
  });
  drawing.resize();
})();
