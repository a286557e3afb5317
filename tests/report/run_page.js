// Runs the script of a page without a browser, and prints what it hands to Chart.js:
//   node run_page.js PAGE.html
"use strict";
const page = require("fs").readFileSync(process.argv[2], "utf8");
const scripts = [...page.matchAll(/<script[^>]*>(.*?)<\/script>/gs)].map(match => match[1]);
const [data, , script] = scripts;
const count = JSON.parse(data).charts.length;
const drawn = [];

// Whether every band is filled within a clip of just the plot's area.
function bandsAreClipped({ plugins, data }) {
  const area = { left: 40, top: 8, width: 300, height: 200 };
  let path = null, clip = null, clipped = true;
  const ctx = {
    save() {}, restore() { clip = null; }, beginPath() { path = null; }, lineTo() {},
    rect(...rectangle) { path = rectangle; },
    clip() { clip = path; },
    fill() { clipped &&= String(clip) === String([area.left, area.top, area.width, area.height]); },
  };
  const scale = { getPixelForValue: value => value };
  plugins.forEach(plugin => plugin.beforeDatasetsDraw({ ctx, data, chartArea: area, scales: { x: scale, y: scale } }));
  return clipped;
}

global.Chart = class {
  constructor(canvas, config) {
    const ticks = axis => {
      const scale = { isHorizontal: () => axis === config.options.scales.x, chart: { width: 340 } };
      axis.afterBuildTicks(scale);
      return scale.ticks.map(tick => axis.ticks.callback(tick.value));
    };
    const { x, y } = config.options.scales;
    drawn.push({ x: [x.min, x.max], y: [y.min, y.max], xTicks: ticks(x), yTicks: ticks(y), sets: config.data.datasets,
      bandsAreClipped: bandsAreClipped(config) });
  }
};
global.document = {
  documentElement: {},
  getElementById: () => ({ textContent: data }),
  querySelectorAll: () => Array.from({ length: count }, (_, i) => (
    { dataset: { chart: i }, getClientRects: () => [1], querySelector: () => null })),
  addEventListener: () => {},
};
global.getComputedStyle = () => ({ getPropertyValue: name => name });
global.matchMedia = () => ({ addEventListener: () => {} });
global.devicePixelRatio = 1;
global.addEventListener = () => {};
(0, eval)(script);
console.log(JSON.stringify(drawn));
