// SPDX-License-Identifier: Apache-2.0
#include "traces/export/page_style.h"

namespace lanescope::traces {

const std::string_view kPageStyle = R"(
:root { color-scheme: light dark; --line: #8884; --faint: #8882; }
body { font: 14px/1.45 system-ui, sans-serif; max-width: 1200px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 22px; } h2 { font-size: 17px; margin-top: 2em; overflow-wrap: anywhere; }
.verdict { font-size: 16px; border-left: 4px solid #0072b2; padding: .4em .8em; background: var(--faint); }
.note { opacity: .75; margin: .2em 0; }
table { border-collapse: collapse; margin: .6em 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3em 0; }
th, td { text-align: left; padding: .15em .8em .15em 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; } td.number, th.number { text-align: right; white-space: nowrap; }
svg { max-width: 100%; height: auto; background: #fff; }
.timeline { position: relative; border: 1px solid var(--line); }
.timeline canvas { display: block; width: 100%; cursor: grab; touch-action: none; }
.tip { position: absolute; pointer-events: none; background: #222; color: #fff; padding: .25em .6em; font-size: 12px;
  border-radius: 3px; max-width: 60%; overflow-wrap: anywhere; display: none; white-space: pre-line; }
)";

const std::string_view kPageScript = R"JS(
'use strict';
const colours = ['#999999', '#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#009e73'];
const kinds = ['step', 'kernel', 'communication', 'copy', 'memory set', 'API call', 'range', 'other end of a copy'];
const texts = ['#fff', '#fff', '#fff', '#fff', '#000', '#000', '#000', '#fff'];
const row = 20, nested = 14, levels = 10, label = 190, axis = 22;
function time(ns) {
  const a = Math.abs(ns);
  return a >= 1e9 ? (ns / 1e9).toPrecision(4) + ' s' : a >= 1e6 ? (ns / 1e6).toPrecision(4) + ' ms'
       : a >= 1e3 ? (ns / 1e3).toPrecision(4) + ' us' : Math.round(ns) + ' ns';
}
let drawn = 0;
for (const box of document.querySelectorAll('.timeline')) {
  const data = JSON.parse(box.querySelector('script').textContent);
  const canvas = box.querySelector('canvas'), tip = box.querySelector('.tip');
  const lines = [];
  let process = null;
  for (const track of data.tracks) {
    if (track.process !== process) lines.push({ heading: process = track.process });
    lines.push(track);
  }
  // A slice that lies within another one stands below it.
  let height = axis;
  for (const line of lines) {
    const s = line.slices || [], open = [];
    line.depth = new Uint8Array(s.length / 5);
    for (let k = 0; k < s.length; k += 5) {
      while (open.length && open[open.length - 1] <= s[k]) open.pop();
      line.depth[k / 5] = Math.min(open.length, levels - 1);
      open.push(s[k] + s[k + 1]);
    }
    const deepest = line.depth.reduce((a, b) => Math.max(a, b), 0);
    line.level = deepest > 0 ? nested : row;
    line.y = height;
    line.height = (deepest + 1) * line.level;
    height += line.height + (deepest > 0 ? 4 : 0);
  }
  height += 4;
  let from = 0, to = Math.max(1, data.length), width = 0;
  function x(ns) { return label + (ns - from) / (to - from) * (width - label); }
  function draw() {
    const ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth;
    canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = height + 'px';
    const c = canvas.getContext('2d');
    c.scale(ratio, ratio);
    c.font = '11px system-ui, sans-serif'; c.textBaseline = 'middle';
    const ink = getComputedStyle(document.body).color;
    const step = Math.pow(10, Math.floor(Math.log10((to - from) / 5)));
    const unit = (to - from) / step > 25 ? step * 5 : (to - from) / step > 10 ? step * 2 : step;
    for (let t = Math.ceil(from / unit) * unit; t <= to; t += unit) {
      c.fillStyle = '#8884'; c.fillRect(x(t), 0, 1, height);
      c.fillStyle = ink; c.fillText(time(t), x(t) + 3, axis / 2);
    }
    for (const line of lines) {
      const y = line.y;
      c.save();
      c.beginPath(); c.rect(0, y, line.heading ? width : label - 6, row); c.clip();
      c.fillStyle = ink; c.font = (line.heading ? 'bold ' : '') + '11px system-ui, sans-serif';
      c.fillText(line.heading || line.name, line.heading ? 4 : 14, y + row / 2);
      c.restore();
      const s = line.slices || [], tall = line.level;
      for (let k = 0; k < s.length; k += 5) {
        const left = x(s[k]), right = x(s[k] + s[k + 1]);
        if (right < label || left > width) continue;
        const top = y + line.depth[k / 5] * tall + 1;
        const begin = Math.max(left, label), wide = Math.max(Math.min(right, width) - begin, 1);
        c.fillStyle = colours[s[k + 3]];
        c.fillRect(begin, top, wide, tall - 2);
        ++drawn;
        if (wide > 2) { c.fillStyle = '#0003'; c.fillRect(begin + wide - 1, top, 1, tall - 2); }
        if (wide > 40) {
          c.save();
          c.beginPath(); c.rect(begin, top, wide, tall - 2); c.clip();
          c.fillStyle = texts[s[k + 3]]; c.fillText(data.names[s[k + 2]], begin + 3, top + tall / 2 - 1);
          c.restore();
        }
      }
    }
    document.body.dataset.drawn = drawn;
  }
  function at(event) {
    const line = lines.find(l => event.offsetY >= l.y && event.offsetY < l.y + l.height);
    if (!line || !line.slices || event.offsetX < label) return null;
    const s = line.slices, level = Math.floor((event.offsetY - line.y) / line.level);
    let found = null;
    for (let k = 0; k < s.length; k += 5) {
      if (line.depth[k / 5] === level && x(s[k]) <= event.offsetX && Math.max(x(s[k] + s[k + 1]), x(s[k]) + 1) >= event.offsetX) found = k;
    }
    if (found === null) return null;
    return data.names[s[found + 2]] + '\n' + kinds[s[found + 3]] + ', ' + time(s[found + 1]) + ' from ' +
      time(s[found]) + (s[found + 4] > 1 ? '\n' + s[found + 4] + ' drawn as one; the longest is named' : '');
  }
  function keep() {
    const all = Math.max(1, data.length);
    if (to - from > all) { from = 0; to = all; }
    if (from < 0) { to -= from; from = 0; }
    if (to > all) { from = Math.max(0, from - (to - all)); to = all; }
    draw();
  }
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const middle = from + (event.offsetX - label) / (width - label) * (to - from);
    const factor = Math.pow(1.0015, event.deltaY);
    if ((to - from) * factor < 10) return;
    from = middle - (middle - from) * factor;
    to = middle + (to - middle) * factor;
    keep();
  }, { passive: false });
  let held = null;
  canvas.addEventListener('pointerdown', event => { held = event.offsetX; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener('pointerup', () => { held = null; });
  canvas.addEventListener('pointermove', event => {
    if (held !== null) {
      const moved = (held - event.offsetX) / (width - label) * (to - from);
      held = event.offsetX; from += moved; to += moved; keep();
    }
    const text = at(event);
    tip.style.display = text ? 'block' : 'none';
    if (!text) return;
    tip.textContent = text;
    tip.style.left = Math.min(event.offsetX + 12, width * .6) + 'px'; tip.style.top = event.offsetY + 14 + 'px';
  });
  canvas.addEventListener('pointerleave', () => { tip.style.display = 'none'; });
  canvas.addEventListener('dblclick', () => { from = 0; to = Math.max(1, data.length); draw(); });
  window.addEventListener('resize', draw);
  draw();
}
)JS";

}  // namespace lanescope::traces
