"use strict";
// Draws the report from the JSON document in #data: a prediction, a validation or a search.
(() => {
  const { cell, chart, charts, css, dots, element, nearest, percent, seconds, section, signed, table } = drawing;
  const data = JSON.parse(document.getElementById("data").textContent);
  const report = document.getElementById("report");
  const show = (...nodes) => report.append(...nodes);

  function prediction() {
    const p = data.prediction;
    show(...predictionDrawing.title(p, data), ...predictionDrawing.headline(p), predictionDrawing.breakdown(p, data),
      predictionDrawing.timeline(p, data), predictionDrawing.memory(p),
      ...predictionDrawing.reservation(p), predictionDrawing.sensitivity(p, data.sensitivity));
  }

  // ---- validation -------------------------------------------------------------------------------
  function validation() {
    const v = data.validation;
    report.append(element("h1", {}, "Predicted against measured"),
      element("p", { class: "soft" }, "Errors are predicted / measured − 1."));
    show(section("Groups", table("Groups", ["group", "runs", "predicted", "time n", "MAPE", "median", "P90", "max", "bias",
      "in 50/80/95 %", "memory MAPE"], v.groups.map((g) => [cell(g.group), cell(g.runs), cell(g.predicted), cell(g.time.n),
      ...["mape", "median", "p90", "max"].map((k) => cell(g.time.n ? g.time[k] : null, (e) => percent(e))),
      cell(g.time.n ? g.time.bias : null, signed),
      cell(g.interval.n ? g.interval.levels.map((one) => (100 * one.covered).toFixed(0)).join("/") : null), cell(g.memory.n ? g.memory.mape : null, (e) => percent(e))]))));

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

      const judged = runs.filter((run) => run.error.z !== undefined);
      if (judged.length > 0) show(calibration(judged));
      residuals(runs);
    }
    show(section("Runs", table("Runs", ["run", "status", "measured s", "predicted s", "error", "measured GiB", "predicted GiB", "reason"],
      v.runs.map((run) => [cell(run.id), cell(run.status), cell(run.measured.sec_per_iter, (s) => s.toFixed(2)),
        cell(run.predicted?.sec_per_iter, (s) => s.toFixed(2)), cell(run.error?.sec_per_iter, signed),
        cell(run.measured.mem_gib, (g) => g.toFixed(1)), cell(run.predicted?.mem_gib, (g) => g.toFixed(1)), cell(run.reason)]))));
  }

  // The level of the interval that a run just lies in: its errors scatter as Student's t with 4 degrees of freedom.
  const levelOf = (z) => {
    const q = Math.abs(z) / Math.hypot(z, 2);
    return (3 * q - q ** 3) / 2;
  };

  // How many runs lie in their intervals of each level: on the diagonal, where intervals hold.
  function calibration(runs) {
    const levels = runs.map((run) => levelOf(run.error.z));
    const items = Array.from({ length: 19 }, (_, i) => (i + 1) / 20).map((level) => {
      const share = levels.filter((one) => one <= level).length / levels.length;
      return { x: 100 * level, y: 100 * share, text: `${percent(share, 0)} of ${levels.length} runs lie in their ${percent(level, 0)} interval` };
    });
    const told = items.find((item) => Math.round(item.x) === 80);
    return section("Do intervals hold?", element("p", { class: "soft" },
      "Points on the diagonal: as many runs lie in their intervals as is said. Above it intervals are too wide, below it too narrow."),
    chart({ label: `Runs inside their intervals by level: ${told.text}.`, height: 340, x: [0, 100], y: [0, 100], items,
      find: nearest(items), xLabel: "level of the interval, %", yLabel: "runs inside, %", draw: (u, ctx, chosen) => {
        const at = (value, scale) => u.valToPos(value, scale, true);
        ctx.strokeStyle = css("line");
        ctx.lineWidth = 2 * devicePixelRatio;
        ctx.beginPath();
        ctx.moveTo(at(0, "x"), at(0, "y"));
        ctx.lineTo(at(100, "x"), at(100, "y"));
        ctx.stroke();
        dots(u, ctx, items, chosen);
      } }));
  }

  // Errors, plain or over the scale of their interval, over any column whose values differ, in their order; what is
  // not said comes last.
  function residuals(runs) {
    const axes = [...new Set(runs.flatMap((run) => Object.keys(run.axes)))]
      .filter((axis) => new Set(runs.map((run) => run.axes[axis])).size > 1);
    if (axes.length === 0) return;
    const measures = {
      "error, %": { of: (run) => 100 * run.error.sec_per_iter, band: 5, least: 10, text: (run) => signed(run.error.sec_per_iter) },
      "z-score": { of: (run) => run.error.z, band: 1.53, least: 3, text: (run) => `z ${run.error.z.toFixed(2)}, the 80 % interval ends at 1.53` },
    };
    const choice = (id, values) => element("select", { id }, ...values.map((value) => element("option", { value }, value)));
    const select = choice("axis", axes), what = choice("measure", Object.keys(measures));
    const place = element("div");
    const draw = () => {
      const axis = select.value, measure = measures[what.value];
      const values = [...new Set(runs.map((run) => run.axes[axis] ?? "–"))];
      const numeric = values.every((value) => value === "–" || Number.isFinite(+value));
      values.sort((a, b) => (a === "–") - (b === "–") || (numeric ? a - b : a < b ? -1 : 1));
      const points = runs.filter((run) => measure.of(run) !== undefined).map((run) => ({
        x: values.indexOf(run.axes[axis] ?? "–"), y: measure.of(run),
        colour: Math.abs(measure.of(run)) <= measure.band ? "compute" : "communication",
        text: `${run.id}\n${axis} ${run.axes[axis] ?? "not said"}: ${measure.text(run)}` })).sort((a, b) => a.x - b.x);
      const most = 1.1 * Math.max(measure.least, ...points.map((point) => Math.abs(point.y)));
      const last = charts.findIndex((c) => c.residuals);
      if (last >= 0) charts.splice(last, 1)[0].plot.destroy();
      place.replaceChildren(chart({ label: `${what.value === "z-score" ? "Z-scores" : "Errors"} by ${axis}.`, height: 340,
        x: [-0.5, values.length - 0.5], y: [-most, most],
        items: points, find: nearest(points), xLabel: axis, yLabel: what.value,
        draw: (u, ctx, chosen) => {
          const top = u.valToPos(measure.band, "y", true), bottom = u.valToPos(-measure.band, "y", true);
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
    show(section("Residuals by axis", element("div", { class: "controls" }, element("label", { for: "axis" }, "Axis"), select,
      element("label", { for: "measure" }, "Show"), what), place));
    for (const one of [select, what]) one.addEventListener("change", draw);
    draw();
  }

  function search() {
    const s = data.search;
    show(element("h1", {}, `Plans for ${s.model}`), element("p", {}, searchDrawing.question(s)),
      element("p", { class: "soft" }, searchDrawing.summary(s)),
      ...searchDrawing.recommendation(s), ...searchDrawing.plans(s, undefined, data.cloud));
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
