// Draws the charts of a page from the numbers embedded in it.
"use strict";
(() => {
  const holder = document.getElementById("chart-data");
  if (!holder || typeof uPlot === "undefined") return;
  const data = JSON.parse(holder.textContent);

  // Colours of the candidates; a second ten is dashed.
  const style = getComputedStyle(document.documentElement);
  const colours = Array.from({ length: 10 }, (_, i) => style.getPropertyValue("--candidate-" + i).trim());
  const muted = "#888";
  const grid = { stroke: "rgba(128,128,128,0.22)", width: 1 };

  // Decodes zig-zag coded differences in base-128 numbers. Multiplies, because shifting would truncate to 32 bits.
  function unpack(text, factor) {
    const bytes = atob(text), values = [];
    let value = 0, rest = 0, weight = 1;
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes.charCodeAt(i);
      rest += (byte & 127) * weight;
      weight *= 128;
      if (byte < 128) {
        value += rest % 2 ? -(rest + 1) / 2 : rest / 2;
        values.push(value * factor);
        rest = 0;
        weight = 1;
      }
    }
    return values;
  }

  // Charts over time share their axis, so that simultaneous events line up.
  const isOverTime = chart => chart.kind !== "percentiles" && chart.kind !== "threads";
  const duration = Math.max(0, ...data.charts.filter(isOverTime).flatMap(chart =>
    chart.series.map(line => unpack(line.values, 1).length * chart.interval)));

  const number = value =>
    value == null ? "–" : value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 3 : value < 100 ? 1 : 0 });
  const longest = texts => Math.max(0, ...(texts || []).map(text => text.length));
  const threads = x => String(Math.round(Math.pow(2, x)));
  const percentile = x => "p" + String(+(100 - 100 * Math.pow(10, -x)).toFixed(4));

  // The ticks of an axis whose labels do not overlap.
  function apart(plot, places) {
    const scale = plot.scales.x, shown = [];
    const pixels = (plot.width - 90) / Math.max(scale.max - scale.min, 1e-9);
    for (const place of places)
      if (shown.length === 0 || (place - shown[shown.length - 1]) * pixels > 26) shown.push(place);
    return shown;
  }

  function isWhole(plot, min, max) {
    const xs = plot.data[0];
    return min <= xs[0] && max >= xs[xs.length - 1];
  }

  function options(chart, figure, names) {
    const byPercentile = chart.kind === "percentiles", byThreads = chart.kind === "threads";
    const holds = name => figure.parentElement.classList.contains(name);
    const small = holds("small-charts");
    return {
      width: figure.clientWidth,
      height: small ? 150 : holds("tracks") ? 180 : 260,
      padding: [8, 28, 0, 0],
      cursor: byPercentile || byThreads ? {} : { sync: { key: small ? "clients" : "all" } },
      scales: {
        x: byThreads ? { time: false, range: (_, min, max) => [min - 0.2, max + 0.2] }
          : byPercentile ? { time: false }
          : { time: false, range: (plot, min, max) => isWhole(plot, min, max) ? [0, duration] : [min, max] },
        y: byPercentile ? { distr: 3 } : { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
      },
      axes: [
        byPercentile
          ? { stroke: muted, grid, ticks: grid, size: 32, splits: () => [0, 1, 2, 3, 4, 5], values: (_, xs) => xs.map(percentile) }
          : byThreads
          ? { stroke: muted, grid, ticks: grid, size: 32, splits: plot => apart(plot, chart.threads.map(Math.log2)), values: (_, xs) => xs.map(threads) }
          : { stroke: muted, grid, ticks: grid, size: 32, values: (_, xs) => xs.map(x => x + " s") },
        { stroke: muted, grid, ticks: grid, size: (_, texts) => Math.max(66, 18 + 7 * longest(texts)),
          values: (_, ys) => ys.map(y => y == null ? "" : number(y)) },
      ],
      series: [
        { label: byPercentile ? "percentile" : byThreads ? "threads" : "second",
          value: (_, x) => x == null ? "–" : byPercentile ? percentile(x) : byThreads ? threads(x) : number(x) },
        ...names.map(row => ({
          label: data.rows[row],
          stroke: colours[row % colours.length],
          dash: row >= colours.length ? [6, 3] : undefined,
          width: 1.25,
          points: { show: byThreads, size: 5 },
          value: (_, y) => number(y),
        })),
      ],
    };
  }

  function draw(figure) {
    if (figure.plot || figure.clientWidth === 0) return;
    const chart = data.charts[+figure.dataset.chart];
    const byThreads = chart.kind === "threads";
    const lines = chart.series.map(line => byThreads ? line.values : unpack(line.values, chart.factor));
    const length = Math.max(...lines.map(line => line.length));
    const xs = byThreads ? chart.threads.map(Math.log2) : Array.from({ length }, (_, i) =>
      chart.kind === "percentiles" ? -Math.log10(data.slower[i]) : (i + 1) * chart.interval);
    for (const line of lines) while (line.length < length) line.push(null);
    figure.plot = new uPlot(options(chart, figure, chart.series.map(line => line.row)), [xs, ...lines], figure);
    new ResizeObserver(() => {
      if (figure.clientWidth > 0) figure.plot.setSize({ width: figure.clientWidth, height: figure.plot.height });
    }).observe(figure);
  }

  // Latencies over time: a stretched canvas with one pixel per cell.
  function drawHeat(figure) {
    if (figure.heat || figure.clientWidth === 0) return;
    const heat = figure.heat = data.heats[+figure.dataset.heat];
    const rows = heat.ends.length, cells = unpack(heat.cells, 1);
    const canvas = document.createElement("canvas");
    canvas.width = heat.columns;
    canvas.height = rows;
    const pen = canvas.getContext("2d"), image = pen.createImageData(heat.columns, rows);
    cells.forEach((shade, i) => {
      const row = rows - 1 - Math.floor(i / heat.columns), place = 4 * (row * heat.columns + i % heat.columns);
      image.data.set([59, 125, 216, Math.round(shade * 2.55)], place);
    });
    pen.putImageData(image, 0, 0);
    const ms = end => number(end) + " ms";
    const words = document.createElement("p");
    words.className = "small";
    const range = "up to " + ms(heat.ends[0]) + " at the bottom, up to " + ms(heat.ends[rows - 1]) + " at the top; " +
      number(heat.columns * heat.interval) + " s";
    words.textContent = range;
    canvas.addEventListener("mousemove", event => {
      const box = canvas.getBoundingClientRect();
      const column = Math.min(heat.columns - 1, Math.floor((event.clientX - box.left) / box.width * heat.columns));
      const row = Math.min(rows - 1, Math.floor((box.bottom - event.clientY) / box.height * rows));
      const share = Math.pow(Math.max(0, cells[Math.max(0, row) * heat.columns + Math.max(0, column)]) / 100, 2);
      words.textContent = "second " + number((column + 1) * heat.interval) + ", up to " + ms(heat.ends[Math.max(0, row)]) +
        ": about " + number(share * heat.fullest) + " statements/s";
    });
    canvas.addEventListener("mouseleave", () => { words.textContent = range; });
    figure.append(canvas, words);
  }

  // Charts in closed details have no width, and are drawn when opened.
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  const heats = [...document.querySelectorAll("figure[data-heat]")];
  const drawAll = () => { figures.forEach(draw); heats.forEach(drawHeat); };
  drawAll();
  document.querySelectorAll("details").forEach(details => details.addEventListener("toggle", drawAll));

  // Two charts side by side on paper, whatever the window's width.
  const resize = width => figures.forEach(figure => {
    if (figure.plot) figure.plot.setSize({ width: width || figure.clientWidth, height: figure.plot.height });
  });
  addEventListener("beforeprint", () => resize(480));
  addEventListener("afterprint", () => resize(0));
})();
