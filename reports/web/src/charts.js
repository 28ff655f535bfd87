// Plain data (see reports/html_payload.h) → ECharts options, one function per kind.

import * as echarts from "echarts/core";
import { BarChart, CustomChart, HeatmapChart, LineChart, ParallelChart, ScatterChart } from "echarts/charts";
import {
  DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, ParallelComponent, TooltipComponent, VisualMapComponent,
} from "echarts/components";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";
import { escapeHtml, quantity, tick } from "./format.js";

echarts.use([
  BarChart, CustomChart, HeatmapChart, LineChart, ParallelChart, ScatterChart, DataZoomComponent, GridComponent, LegendComponent,
  MarkLineComponent, ParallelComponent, TooltipComponent, VisualMapComponent, CanvasRenderer, SVGRenderer,
]);

const themes = {
  light: {
    palette: ["#2f6fb5", "#d27b1f", "#23906c", "#b8456f", "#7455b8", "#7f8220", "#3b93b8", "#875246"],
    text: "#30363d", faint: "#6a737d", line: "#d0d5db", grid: "#e8ebee", page: "#ffffff", heat: ["#f3f6fa", "#a9c8e8", "#2f6fb5", "#123f73"],
  },
  dark: {
    palette: ["#6ba7e8", "#f0a659", "#58c9a3", "#e884a9", "#a992e8", "#bfc15a", "#7fcbe8", "#c49a8c"],
    text: "#d7dce2", faint: "#98a2ad", line: "#454d57", grid: "#2b323a", page: "#171b20", heat: ["#1d232a", "#28527f", "#5595da", "#c9e1fa"],
  },
};
const symbols = ["circle", "rect", "triangle", "diamond", "path://M0,0 L10,0 L5,9 Z", "path://M4,0 L6,0 L6,4 L10,4 L10,6 L6,6 L6,10 L4,10 L4,6 L0,6 L0,4 L4,4 Z", "arrow"];
const manyMarks = 1500;   // above this a canvas is quicker than SVG

let dark = false;
const theme = () => (dark ? themes.dark : themes.light);
const shown = [];

// By name: text is measured on a canvas, which knows no inheritance.
const fontFamily = () => getComputedStyle(document.body).fontFamily;

const bold = (text) => `<b>${escapeHtml(text)}</b>`;
const row = (name, value) => `<br>${escapeHtml(name)}: ${escapeHtml(value)}`;

function axis(spec, extra = {}) {
  const t = theme();
  const common = {
    name: spec.title, nameLocation: "middle", nameGap: 30, nameTextStyle: { color: t.faint }, axisLine: { lineStyle: { color: t.line } },
    splitLine: { lineStyle: { color: t.grid } }, axisLabel: { color: t.text, hideOverlap: true },
  };
  if (spec.categories) return { ...common, type: "category", data: spec.categories, ...extra };
  return { ...common, type: spec.log ? "log" : "value",
    axisLabel: { ...common.axisLabel, formatter: tick(spec.unit), ...(spec.log ? { showMinLabel: false, showMaxLabel: false } : {}) }, ...extra };
}

const vertical = { nameGap: 62, nameRotate: 90 };

function base(spec, extra = {}) {
  const t = theme();
  return {
    color: t.palette, animation: false, backgroundColor: "transparent", textStyle: { fontFamily: fontFamily(), color: t.text },
    tooltip: {
      confine: true, backgroundColor: t.page, borderColor: t.line, textStyle: { color: t.text, fontSize: 12 },
      extraCssText: "max-width:28rem;white-space:normal",
    },
    grid: { left: 16, right: 24, top: 44, bottom: 10, outerBoundsMode: "same", outerBoundsContain: "all" },
    ...extra,
  };
}

const legend = (names) => ({ type: "scroll", top: 4, textStyle: { color: theme().text }, data: names, pageTextStyle: { color: theme().text } });

/** Bounds of a logarithmic axis that do not waste half of it. */
function logBounds(values) {
  const usable = values.filter((v) => v > 0);
  if (!usable.length) return {};
  return { min: Math.min(...usable) / 1.4, max: Math.max(...usable) * 1.4 };
}

function scatter(spec) {
  const marks = spec.series.flatMap((s) => s.d);
  const largest = Math.max(0, ...marks.map((m) => m[2] || 0));
  const size = (m) => (largest > 0 ? 6 + 20 * Math.sqrt((m[2] || 0) / largest) : 9);
  const bounds = (a, i) => (a.log ? logBounds(marks.map((m) => m[i])) : { scale: true });
  let color = 0;
  const series = spec.series.map((s) => {
    if (s.line) {
      const neutral = spec.kind === "roofline" ? theme().text : theme().faint;
      return {
        type: "line", name: s.name, data: s.d.map((m) => [m[0], m[1]]), symbol: "none", silent: true, z: 1,
        lineStyle: { width: 1.6, type: spec.kind === "roofline" ? "solid" : "dashed", color: neutral }, itemStyle: { color: neutral },
      };
    }
    const index = color++;
    return {
      type: "scatter", name: s.name, symbol: symbols[index % symbols.length], z: 3,
      data: s.d.map((m) => ({ value: [m[0], m[1]], mark: m, symbolSize: size(m) })),
      itemStyle: { opacity: 0.78, color: theme().palette[index % 8], borderColor: theme().page, borderWidth: 0.7 },
      cursor: s.d.some((m) => m[4]) ? "pointer" : "default",
    };
  });
  const option = base(spec, {
    legend: legend(spec.series.map((s) => s.name)), xAxis: axis(spec.x, bounds(spec.x, 0)), yAxis: axis(spec.y, { ...vertical, ...bounds(spec.y, 1) }), series,
  });
  option.tooltip.formatter = ({ data, seriesName }) => {
    if (!data || !data.mark) return "";
    const m = data.mark;
    return bold(spec.labels[m[3]]) + row("Group", seriesName) + row(spec.x.title, quantity(m[0], spec.x.unit)) +
      row(spec.y.title, quantity(m[1], spec.y.unit)) + (spec.size ? row(spec.size.title, quantity(m[2], spec.size.unit)) : "");
  };
  return option;
}

function line(spec) {
  const option = base(spec, {
    legend: spec.series.length > 1 ? legend(spec.series.map((s) => s.name)) : undefined,
    xAxis: axis(spec.x), yAxis: axis(spec.y, { ...vertical, min: 0 }),
    series: spec.series.map((s, i) => ({ type: "line", name: s.name, data: s.d, symbol: symbols[i % symbols.length], symbolSize: 8 })),
  });
  option.tooltip.formatter = ({ value, seriesName }) =>
    bold(seriesName) + row(spec.x.title, spec.x.categories ? spec.x.categories[value[0]] : quantity(value[0], spec.x.unit)) +
    row(spec.y.title, quantity(value[1], spec.y.unit));
  return option;
}

/** Categories on the vertical axis, where their names have room. */
function barAxes(spec, extra) {
  return {
    yAxis: axis(spec.x, { inverse: true, nameGap: 10, splitLine: { show: false }, axisTick: { show: false }, axisLabel: { color: theme().text, width: 190, overflow: "truncate", interval: 0 } }),
    xAxis: axis(spec.y, extra),
  };
}

function bar(spec) {
  const stacked = spec.kind === "stacked_bar";
  const several = spec.series.length > 1;
  const option = base(spec, {
    ...barAxes(spec), legend: several ? legend(spec.series.map((s) => s.name)) : undefined,
    series: spec.series.map((s) => {
      const values = spec.x.categories.map(() => null);
      for (const [x, y] of s.d) values[x] = y;
      return {
        type: "bar", name: s.name, data: values, stack: stacked ? "all" : undefined, barMaxWidth: stacked ? 26 : 18,
        label: { show: !several, position: "right", color: theme().text, formatter: ({ value }) => (value === null ? "" : quantity(value, spec.y.unit, 3)) },
      };
    }),
  });
  option.grid.top = several ? 44 : 10;
  if (!several) option.grid.right = 70;
  option.tooltip.formatter = ({ name, seriesName, value }) =>
    bold(name) + row(several ? seriesName : spec.y.title, quantity(value, spec.y.unit));
  return option;
}

function waterfall(spec) {
  const values = spec.series[0].d.map((m) => m[1]);
  const starts = [];
  values.reduce((sum, v) => (starts.push(sum), sum + v), 0);
  const option = base(spec, {
    ...barAxes(spec, { min: 0, max: 1 }),
    series: [
      { type: "bar", stack: "w", silent: true, itemStyle: { color: "transparent" }, data: starts, barMaxWidth: 18 },
      {
        type: "bar", stack: "w", barMaxWidth: 18,
        data: values.map((v, i) => ({ value: v, itemStyle: { color: theme().palette[i === 0 ? 2 : i === values.length ? 7 : 1] } })),
        label: {
          show: true, color: theme().text, formatter: ({ value, dataIndex }) => (value ? quantity(values[dataIndex], "ratio") : ""),
          position: "right",
        },
        labelLayout: { moveOverlap: "shiftX" },
      },
    ],
  });
  // A label on the right of a bar that ends at the edge would be cut off.
  option.series[1].data.forEach((d, i) => { if (starts[i] + values[i] > 0.88) d.label = { position: values[i] > 0.14 ? "insideRight" : "left", color: values[i] > 0.14 ? theme().page : theme().text }; });
  option.grid.top = 10;
  option.tooltip.formatter = ({ name, dataIndex }) => bold(name) + row("Share of the time", quantity(values[dataIndex], "ratio"));
  return option;
}

function heatmap(spec) {
  const t = theme();
  const option = base(spec, {
    xAxis: axis(spec.x, { axisLabel: { color: t.faint, rotate: 45, fontSize: 10, width: 90, overflow: "truncate", hideOverlap: true }, splitLine: { show: false } }),
    yAxis: axis(spec.y, { axisLabel: { color: t.text, interval: 0 }, splitLine: { show: false } }),
    visualMap: {
      min: 0, max: 1, calculable: false, orient: "horizontal", right: 10, top: 0, itemHeight: 90, itemWidth: 10, text: ["100 %", "0 % busy"],
      textStyle: { color: t.faint, fontSize: 11 }, inRange: { color: t.heat },
    },
    series: [{ type: "heatmap", data: spec.series[0].d, itemStyle: { borderColor: t.page, borderWidth: 0.5 }, emphasis: { itemStyle: { borderColor: t.text } } }],
  });
  option.tooltip.formatter = ({ value }) =>
    bold(spec.x.categories[value[0]]) + row(spec.y.categories[value[1]], `${quantity(value[2], spec.size.unit)} ${spec.size.title.toLowerCase()}`);
  return option;
}

function rectangle(corners, coordSys, style, label) {
  const [x0, y0, x1, y1] = corners;
  const shape = echarts.graphic.clipRectByRect(
    { x: x0, y: y0, width: Math.max(0.6, x1 - x0), height: Math.max(0.6, y1 - y0) },
    { x: coordSys.x, y: coordSys.y, width: coordSys.width, height: coordSys.height });
  if (!shape) return undefined;
  const roomy = label && shape.width > 56 && shape.height > 12;
  return {
    type: "rect", shape, style,
    textContent: roomy ? { style: { text: label, fill: theme().page, fontSize: 11, width: shape.width - 6, overflow: "truncate" } } : undefined,
    textConfig: roomy ? { position: "inside" } : undefined,
  };
}

const zoom = (axisIndex, grid) => [
  { type: "inside", [axisIndex]: 0, filterMode: "none", zoomOnMouseWheel: "ctrl" },
  { type: "slider", [axisIndex]: 0, filterMode: "none", height: 16, bottom: 6, borderColor: grid, brushSelect: false },
];

function timeline(spec) {
  const t = theme();
  const option = base(spec, {
    xAxis: axis(spec.x, { min: 0 }), yAxis: axis(spec.y, { inverse: true, axisLabel: { color: t.text, interval: 0 }, splitLine: { show: true, lineStyle: { color: t.grid } } }),
    dataZoom: zoom("xAxisIndex", t.grid).map((z) => ({ ...z, labelFormatter: tick(spec.x.unit) })),
    series: [{
      type: "custom", clip: true, dimensions: ["start", "end", "lane", "label"], encode: { x: [0, 1], y: 2 }, data: spec.series[0].d,
      renderItem: (params, api) => {
        const lane = api.value(2), index = api.value(3);
        const [x0, y] = api.coord([api.value(0), lane]);
        const [x1] = api.coord([api.value(1), lane]);
        const height = api.size([0, 1])[1] * 0.66;
        return rectangle([x0, y - height / 2, x1, y + height / 2], params.coordSys, { fill: t.palette[index % 8] }, spec.labels[index]);
      },
    }],
  });
  option.grid.top = 10;
  option.grid.bottom = 32;
  option.tooltip.formatter = ({ value }) =>
    bold(spec.labels[value[3]]) + row("Lane", spec.y.categories[value[2]]) + row("From", quantity(value[0], spec.x.unit)) +
    row("To", quantity(value[1], spec.x.unit)) + row("Length", quantity(value[1] - value[0], spec.x.unit));
  return option;
}

function memoryMap(spec) {
  const t = theme();
  const used = Math.max(...spec.series.flatMap((s) => s.d.map((m) => m[3])));
  // Where most of a memory is empty (DRAM), its capacity would press the buffers into one line.
  const limit = spec.limit && used * 5 > spec.limit ? spec.limit : 0;
  const highest = Math.max(limit, used);
  const option = base(spec, {
    legend: legend(spec.series.map((s) => s.name)),
    xAxis: axis(spec.x, { minInterval: 1, max: "dataMax" }), yAxis: axis(spec.y, { ...vertical, min: 0, max: highest, interval: highest / 4 }),
    series: spec.series.map((s, i) => ({
      type: "custom", name: s.name, clip: true, dimensions: ["first", "last", "low", "high", "label"], encode: { x: [0, 1], y: [2, 3] }, data: s.d,
      itemStyle: { color: t.palette[i % 8] },
      renderItem: (params, api) => {
        const [x0, y1] = api.coord([api.value(0), api.value(2)]);
        const [x1, y0] = api.coord([api.value(1), api.value(3)]);
        return rectangle([x0, y0, x1, y1], params.coordSys, { fill: t.palette[i % 8], stroke: t.page, lineWidth: 0.7, opacity: 0.9 }, spec.labels[api.value(4)]);
      },
      markLine: i === 0 && limit ? {
        silent: true, symbol: "none", lineStyle: { color: t.text, type: "dashed" }, data: [{ yAxis: limit }],
        label: { position: "insideEndTop", color: t.faint, formatter: "capacity " + quantity(limit, spec.y.unit) },
      } : undefined,
    })),
  });
  option.grid.top = 56;
  option.tooltip.formatter = ({ value, seriesName }) =>
    bold(spec.labels[value[4]]) + row("Kind", seriesName) + row("Steps", `${value[0]} to ${value[1]}`) + row("Address", String(value[2])) +
    row("Size", quantity(value[3] - value[2], spec.y.unit));
  return option;
}

function parallel(spec) {
  const t = theme();
  const groups = [...new Set(spec.rows.map((r) => r[1]))];
  return base(spec, {
    legend: legend(groups.map((g) => spec.labels[g])),
    parallel: {
      left: 60, right: 90, top: 70, bottom: 26,
      parallelAxisDefault: {
        nameLocation: "end", nameGap: 14, nameTextStyle: { color: t.text, width: 110, overflow: "truncate" }, axisLine: { lineStyle: { color: t.line } },
        axisTick: { lineStyle: { color: t.line } }, axisLabel: { color: t.text, hideOverlap: true },
        areaSelectStyle: { width: 18, color: t.palette[0], opacity: 0.25, borderColor: t.palette[0] },
      },
    },
    parallelAxis: spec.dimensions.map((d, i) => {
      if (d.categories) return { dim: i, name: d.title, type: "category", data: d.categories };
      const values = spec.rows.map((r) => r[i + 2]).filter((v) => v !== null);
      const bounds = d.log ? logBounds(values) : { scale: true };
      return { dim: i, name: d.title, type: d.log ? "log" : "value", ...bounds, axisLabel: { color: t.text, formatter: tick(d.unit), hideOverlap: true, ...(d.log ? { showMinLabel: false, showMaxLabel: false } : {}) } };
    }),
    series: groups.map((g, i) => ({
      type: "parallel", name: spec.labels[g], lineStyle: { color: t.palette[i % 8], width: 1.6, opacity: spec.rows.length > 500 ? 0.25 : 0.6 },
      itemStyle: { color: t.palette[i % 8] }, inactiveOpacity: 0.05, activeOpacity: 0.9,
      data: spec.rows.filter((r) => r[1] === g).map((r) => ({ name: spec.labels[r[0]], value: r.slice(2).map((v) => (v === null ? "-" : v)) })),
    })),
  });
}

/** Says in words which designs the brushed ranges keep. */
function listKept(chart, spec, place) {
  const groups = [...new Set(spec.rows.map((r) => r[1]))];
  const names = groups.map((g) => spec.rows.filter((r) => r[1] === g).map((r) => spec.labels[r[0]]));
  chart.on("axisareaselected", () => {
    const kept = chart.getModel().getSeries().flatMap((s, i) => s.getRawIndicesByActiveState("active").map((k) => names[i][k]));
    const brushed = chart.getModel().queryComponents({ mainType: "parallelAxis" }).some((a) => a.activeIntervals.length);
    const listed = kept.slice(0, 20).join(" · ") + (kept.length > 20 ? ` and ${kept.length - 20} more` : "");
    place.textContent = brushed ? `${kept.length} of ${spec.rows.length} kept${kept.length ? ": " + listed : ""}` : "";
  });
}

const builders = {
  scatter, roofline: scatter, line, bar, stacked_bar: bar, waterfall, heatmap, timeline, memory_map: memoryMap, parallel,
};

export function showChart(element, spec, goTo) {
  const marks = spec.series.reduce((n, s) => n + s.d.length, 0) + (spec.rows ? spec.rows.length : 0);
  const chart = echarts.init(element, null, { renderer: marks > manyMarks ? "canvas" : "svg" });
  const draw = () => chart.setOption(builders[spec.kind](spec), true);
  draw();
  chart.on("click", ({ data }) => {
    const target = data && data.mark && spec.targets[data.mark[4]];
    if (!target) return;
    history.pushState(null, "", "#" + target);
    goTo(target);
  });
  const kept = document.getElementById(element.dataset.chart + "-kept");
  if (kept) listKept(chart, spec, kept);
  shown.push({ element, chart, draw });
}

/** To the size of their boxes, or to a fixed width where the page's own is not known yet (print). */
export function resizeAll(width) {
  for (const { element, chart } of shown) {
    if (element.offsetParent === null) continue;
    chart.resize(width ? { width: Math.min(width, element.closest(".grid") ? width / 2 - 8 : width) } : { width: "auto" });
  }
}

export function setTheme(isDark) {
  if (isDark === dark) return;
  dark = isDark;
  for (const { draw } of shown) draw();
}
