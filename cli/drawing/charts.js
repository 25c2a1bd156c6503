"use strict";
// What reports and the page draw with. Numbers stand in tables and plain bars; uPlot draws what one
// wants to zoom into. Every chart can be used by keyboard and says in words what it shows.
const drawing = (() => {
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
  const section = (title, ...children) => element("section", {}, element("h2", {}, title), ...children);

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

  function numbers(entries) {
    return element("dl", { class: "numbers" }, ...entries.map(([label, value, note, kind]) =>
      element("div", {}, element("dt", {}, label), element("dd", kind ? { class: kind } : {}, value,
        ...[note].flat().filter(Boolean).map((line) => element("small", {}, line))))));
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

  function showTooltip(text, x, y) {
    tooltip.hidden = !text;
    if (!text) return;
    tooltip.textContent = text;
    const box = tooltip.getBoundingClientRect();
    tooltip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
    tooltip.style.top = (y + box.height + 20 < innerHeight ? y + 14 : y - box.height - 10) + "px";
  }

  const textOf = (item) => (typeof item.text === "function" ? item.text() : item.text);

  // A chart of `items`, each with its place x, y (in the chart's units) and a text, that `draw`
  // paints. Drag or the buttons zoom, arrows go through the first `reach` items, Escape shows everything
  // again; a click on an item hands it to `pick`.
  const charts = [];
  function chart({ label, height, x, y, items, draw, find, splits, xLabel, yLabel, yText, log, pick, reach = items.length }) {
    const frame = element("div", { class: "chart", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-label": label +
      ` Arrow keys go through its items, plus and minus zoom, Escape shows everything${pick ? ", Enter takes the item" : ""}.` });
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
      chosen = Math.max(0, Math.min(reach - 1, index));
      const item = items[chosen], [low, high] = plot.zoomed ?? x;
      if (item.x < low || item.x > high) zoom(item.x - (high - low) / 2, item.x + (high - low) / 2);
      plot.redraw(false);
      const box = plot.over.getBoundingClientRect();
      showTooltip(textOf(item), box.left + plot.valToPos(item.x, "x"), box.top + plot.valToPos(item.y, "y"));
    }
    plot.over.addEventListener("mousemove", (event) => {
      const box = plot.over.getBoundingClientRect();
      const index = find(plot, event.clientX - box.left, event.clientY - box.top);
      showTooltip(index >= 0 ? textOf(items[index]) : "", event.clientX, event.clientY);
    });
    plot.over.addEventListener("mouseleave", () => showTooltip(""));
    if (pick) {
      plot.over.addEventListener("click", (event) => {
        const box = plot.over.getBoundingClientRect();
        const index = find(plot, event.clientX - box.left, event.clientY - box.top);
        if (index >= 0) pick(items[index]);
      });
    }
    frame.addEventListener("blur", () => { chosen = -1; showTooltip(""); plot.redraw(false); });
    frame.addEventListener("keydown", (event) => {
      const keys = { ArrowRight: () => choose(chosen + 1), ArrowLeft: () => choose(chosen - 1),
        Home: () => choose(0), End: () => choose(reach - 1), Enter: () => chosen >= 0 && pick?.(items[chosen]), "+": () => scaleBy(0.5), "=": () => scaleBy(0.5),
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
    charts.push({ plot, frame, resize: () => plot.setSize({ width: width(), height }) });
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

  // Charts that were taken out of the page are let go; the others are drawn to the width they have.
  function resize() {
    for (let i = charts.length - 1; i >= 0; --i) {
      if (!charts[i].frame.isConnected) charts.splice(i, 1)[0].plot.destroy();
    }
    charts.forEach((one) => one.resize());
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
    () => charts.forEach(({ plot }) => plot.redraw(false)));

  return { bars, cell, chart, charts, css, details, dots, element, legend, nearest, numbers, percent, resize, seconds,
    section, signed, table };
})();
