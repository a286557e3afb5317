
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const profiles = data.profiles.map(p => p.results.map(row => {
    const result = Object.fromEntries(p.columns.map((name, i) => [name, row[i]]));
    result.name = p.names[result.name];
    result.mpi = p.names[result.mpi];
    return result;
  }));

  // Texts, as the tables have them.
  const digits = v => v === 0 ? "0" : v >= 99.95 ? v.toFixed(0) : String(Number(v.toPrecision(3)));
  const scaled = units => v => {
    const unit = units.find(u => Math.abs(v) >= 0.9995 * u[0]) || units[units.length - 1];
    return digits(v / unit[0]) + " " + unit[1];
  };
  const bytesText = scaled([[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]);
  const rateText = scaled([[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]]);
  const timeText = scaled([[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);

  const noSize = name => /^gpu\/call\/(malloc|free|ipc)/.test(name);
  const shape = r => (r.bytes ? bytesText(r.bytes) : "") +
    (r.block ? `, blocks of ${bytesText(r.block)} every ${bytesText(r.pitch)}` : "");

  // A chart's points: x, y, the band around y, and words.
  function pointsOf(chart, line) {
    const rate = chart.y === "rate";
    if (line.values) {
      return line.values.map(([x, y]) => ({ x, y, low: y, high: y, words: bytesText(x) + ": " + timeText(y) }));
    }
    return line.points.map(i => {
      const r = profiles[chart.profile][i];
      const of = t => rate ? r.bytes / t : t;
      return { x: r[chart.x], y: of(r.median), low: of(rate ? r.p90 : r.p10), high: of(rate ? r.p10 : r.p90),
        doubtful: r.doubtful, words: `${shape(r)}: ${rate ? rateText(of(r.median)) + ", " : ""}${timeText(r.median)} ` +
          `(10 % to 90 %: ${timeText(r.p10)} to ${timeText(r.p90)})${r.doubtful ? ", doubtful" : ""}` };
    });
  }
  const ranges = {};  // by group: what the axes span
  data.charts.forEach((chart, i) => {
    chart.group = chart.group || "chart " + i;
    chart.lines.forEach(line => { line.shown = pointsOf(chart, line); });
    const range = ranges[chart.group] = ranges[chart.group] ||
      { x: [Infinity, 0], y: [Infinity, 0] };
    const include = (axis, v) => {
      if (v > 0 && isFinite(v)) range[axis] = [Math.min(range[axis][0], v), Math.max(range[axis][1], v)];
    };
    chart.limits.forEach(limit => include("y", limit));
    chart.lines.forEach(line => line.shown.forEach(p => {
      include("x", p.x);
      // A band that spreads farther is cut, so that the medians keep their room.
      [p.y, Math.max(p.low, p.y / 4), Math.min(p.high, p.y * 4)].forEach(v => include("y", v));
    }));
  });

  // The ticks of logarithmic axes: 1, 2 and 5 times powers of ten, or powers of two.
  function decimalTicks(min, max, most) {
    const ticks = [];
    const decades = Math.log10(max / min);
    const factors = decades * 3 <= most ? [1, 2, 5] : [1];
    const step = Math.max(1, Math.ceil(decades / most));
    for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max) + 1e-9; power += step) {
      for (const factor of factors) {
        const value = factor * 10 ** power;
        if (value >= min * (1 - 1e-9) && value <= max * (1 + 1e-9)) ticks.push({ value });
      }
    }
    return ticks;
  }
  function binaryTicks(min, max, most) {
    const ticks = [];
    const step = Math.max(2, Math.ceil(Math.log2(max / min) / most / 2) * 2);
    for (let value = 2 ** Math.ceil(Math.log2(min) - 1e-9); value <= max * (1 + 1e-9); value *= 2 ** step) {
      ticks.push({ value });
    }
    return ticks;
  }
  function outward(value, up) {
    const power = 10 ** Math.floor(Math.log10(value));
    const steps = [1, 2, 5, 10].map(f => f * power);
    return up ? steps.find(s => s >= value * (1 - 1e-9)) : steps.reverse().find(s => s <= value * (1 + 1e-9));
  }

  // A band ends where the plot does; past it lie the samples of a disturbed measurement.
  const bands = {
    id: "bands",
    beforeDatasetsDraw(chart) {
      const { ctx, scales, chartArea: area } = chart;
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.width, area.height);
      ctx.clip();
      ctx.globalAlpha = 0.18;
      chart.data.datasets.forEach(set => {
        if (!set.band || set.data.length < 2) return;
        ctx.beginPath();
        set.data.forEach(p => ctx.lineTo(scales.x.getPixelForValue(p.x), scales.y.getPixelForValue(p.high)));
        set.data.slice().reverse().forEach(p =>
          ctx.lineTo(scales.x.getPixelForValue(p.x), scales.y.getPixelForValue(p.low)));
        ctx.fillStyle = set.borderColor;
        ctx.fill();
      });
      ctx.restore();
    },
  };

  const marks = ["circle", "rect", "triangle", "rectRot", "triangle", "cross", "crossRot", "circle"];
  function draw(figure) {
    const chart = data.charts[figure.dataset.chart];
    const style = getComputedStyle(document.documentElement);
    const colour = name => style.getPropertyValue("--" + name).trim();
    const range = ranges[chart.group];
    const y = [outward(range.y[0], false), outward(range.y[1], true)];
    const datasets = chart.lines.map(line => ({
      label: line.name, data: line.shown, band: !line.values,
      borderColor: colour("c" + line.colour), borderWidth: 2, borderDash: line.dashed ? [5, 4] : [],
      showLine: !(line.values && !line.dashed),
      pointStyle: marks[line.colour], pointRotation: line.colour === 4 ? 180 : 0,
      pointRadius: line.dashed ? 0 : 3.5, pointBorderWidth: 1.5,
      pointBackgroundColor: line.shown.map(p => p.doubtful ? colour("panel") : colour("c" + line.colour)),
      clip: 8,
    }));
    chart.limits.forEach(limit => datasets.push({
      label: "what the link allows", borderColor: colour("ink"), borderWidth: 1.5, borderDash: [6, 4], pointRadius: 0,
      data: range.x.map(x => ({ x, y: limit, words: rateText(limit) })),
    }));
    const axis = (title, ticks, text, min, max) => ({
      type: "logarithmic", min, max, title: { display: true, text: title, color: colour("ink") },
      grid: { color: colour("grid"), borderColor: colour("soft") },
      ticks: { color: colour("soft"), callback: text, maxRotation: 0, autoSkip: false },
      afterBuildTicks(scale) {
        const room = scale.isHorizontal() ? (scale.chart.width - 60) / 58 : 9;
        scale.ticks = ticks(min, max, Math.max(2, Math.floor(room)));
      },
    });
    const size = chart.x === "bytes" ? "size" : "block length";
    return new Chart(figure.querySelector("canvas"), {
      type: "line", data: { datasets }, plugins: [bands],
      options: {
        animation: false, maintainAspectRatio: false, parsing: false, devicePixelRatio: Math.max(2, devicePixelRatio),
        interaction: { mode: "nearest", axis: "xy", intersect: false },
        layout: { padding: { right: 18, top: 8 } },
        scales: {
          x: axis(size, binaryTicks, bytesText, ...range.x),
          y: axis(chart.y, decimalTicks, chart.y === "rate" ? rateText : timeText, ...y),
        },
        plugins: {
          legend: { display: false },
          tooltip: { callbacks: { title: items => items[0].dataset.label, label: item => item.raw.words } },
        },
      },
    });
  }

  // Charts are drawn once they can be seen, and again when colours or the page's width change.
  const drawn = new Map();
  function drawAll() {
    drawn.forEach(chart => chart.destroy());
    drawn.clear();
    document.querySelectorAll("figure[data-chart]").forEach(figure => {
      if (figure.getClientRects().length) drawn.set(figure, draw(figure));
    });
  }

  function fillNumbers() {
    const all = document.getElementById("all");
    if (all.hasChildNodes()) return;
    const columns = ["name", "library", "size", "block", "pitch", "count", "median", "10 %", "90 %", "rate",
      "% of link", "samples", "i.i.d.", "doubtful"];
    data.profiles.forEach((profile, i) => {
      const table = document.createElement("table");
      table.className = "numbers";
      const row = (cells, kind) => {
        const tr = table.insertRow();
        cells.forEach(text => { tr.appendChild(document.createElement(kind)).textContent = text; });
      };
      row(columns, "th");
      const size = v => v ? bytesText(v) : "";
      profiles[i].forEach(r => {
        const rate = r.bytes && r.median && !noSize(r.name) ? r.bytes / r.median : 0;
        row([r.name, r.mpi, size(r.bytes), size(r.block), size(r.pitch), r.count || "", timeText(r.median),
          timeText(r.p10), timeText(r.p90), rate ? rateText(rate) : "",
          rate && r.limit ? digits(100 * rate / r.limit) : "", r.samples,
          r.iid ? "yes" : `no, ${r.tries} tries`, r.doubtful ? "yes" : ""], "td");
      });
      all.append(profile.label, Object.assign(document.createElement("div"), { className: "wide" }));
      all.lastChild.append(table);
    });
  }

  document.addEventListener("toggle", event => {
    if (event.target.id === "numbers") fillNumbers();
    event.target.querySelectorAll("figure[data-chart]").forEach(figure => {
      if (!drawn.has(figure) && figure.getClientRects().length) drawn.set(figure, draw(figure));
    });
  }, true);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  for (const [event, print] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      document.documentElement.classList.toggle("print", print);
      drawAll();
    });
  }
  drawAll();
})();
