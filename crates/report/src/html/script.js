'use strict';
// What a drawing cannot do by itself: values on pointing, series and views on and off, tables as files, a surface that turns.
(() => {
  const root = document.documentElement, tip = document.getElementById('tip'), said = document.getElementById('said');
  root.classList.add('on');

  // Light and dark: the system's choice until the reader makes one.
  const theme = document.getElementById('theme');
  const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme:dark)').matches;
  const name = () => { theme.textContent = isDark() ? 'Light' : 'Dark'; theme.setAttribute('aria-label', 'Switch to ' + theme.textContent.toLowerCase() + ' colours'); };
  theme.onclick = () => { root.dataset.theme = isDark() ? 'light' : 'dark'; name(); };
  name();

  // Everything in a drawing that has a value: where it is, and its words.
  const values = new WeakMap();
  function hits(svg) {
    if (values.has(svg)) return values.get(svg);
    const list = [];
    for (const mark of svg.querySelectorAll('.m')) {
      const title = mark.querySelector('title'), box = mark.getBBox();
      if (title) mark.words = title.textContent;
      if (title) title.remove(); // or the browser would show it, too
      list.push({ mark, words: mark.words, x: box.x, y: box.y, w: box.width, h: box.height });
    }
    for (const path of svg.querySelectorAll('path[data-x]')) {
      const xs = path.dataset.x.split('|'), ys = path.dataset.y.split('|');
      const places = path.getAttribute('d').match(/-?[\d.]+ -?[\d.]+/g) || [];
      places.forEach((place, at) => {
        const [x, y] = place.split(' ').map(Number);
        list.push({ mark: path, words: path.dataset.n + ', ' + xs[at] + ': ' + ys[at], x, y, w: 0, h: 0 });
      });
    }
    values.set(svg, list);
    return list;
  }
  const shown = hit => !hit.mark.closest('[data-off]');
  const gap = (at, from, size) => at < from ? from - at : at > from + size ? at - from - size : 0;
  function nearest(svg, x, y) {
    let best = null, least = 28;
    for (const hit of hits(svg)) {
      if (!shown(hit)) continue;
      const distance = Math.hypot(gap(x, hit.x, hit.w), gap(y, hit.y, hit.h));
      if (distance < least) { least = distance; best = hit; }
    }
    return best;
  }
  function ring(svg, hit) {
    let circle = svg.querySelector('.ring');
    if (!hit) { if (circle) circle.remove(); return; }
    if (!circle) { circle = document.createElementNS('http://www.w3.org/2000/svg', 'circle'); circle.setAttribute('class', 'ring'); circle.setAttribute('r', 8); svg.append(circle); }
    const isBar = hit.w > 20;
    circle.setAttribute('cx', isBar ? hit.x + hit.w : hit.x + hit.w / 2);
    circle.setAttribute('cy', hit.y + hit.h / 2);
  }
  function show(svg, hit, place) {
    ring(svg, hit);
    tip.hidden = !hit;
    if (!hit) return;
    tip.textContent = hit.words;
    if (!place) {
      const point = new DOMPoint(hit.x + hit.w / 2, hit.y + hit.h / 2).matrixTransform(svg.getScreenCTM());
      place = [point.x, point.y];
      said.textContent = hit.words;
    }
    const box = tip.getBoundingClientRect();
    const x = Math.min(place[0] + 14, innerWidth - box.width - 8), y = place[1] - box.height - 12;
    tip.style.left = Math.max(8, x) + 'px';
    tip.style.top = (y < 8 ? place[1] + 18 : y) + 'px';
  }

  for (const plot of document.querySelectorAll('.plot')) {
    const svg = plot.querySelector('svg');
    let current = -1, drag = null;
    const point = event => {
      if (drag) { turn(svg, (event.clientX - drag[0]) * 0.01, (event.clientY - drag[1]) * 0.006); drag = [event.clientX, event.clientY]; show(svg, null); return; }
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const on = event.target.closest && event.target.closest('.m');
      const hit = on && hits(svg).find(hit => hit.mark === on) || nearest(svg, place.x, place.y);
      show(svg, hit, [event.clientX, event.clientY]);
    };
    for (const kind of ['pointermove', 'pointerdown']) plot.addEventListener(kind, point); // A finger does not hover.
    plot.addEventListener('pointerleave', () => show(svg, null));
    plot.addEventListener('blur', () => { current = -1; show(svg, null); });
    if (svg.dataset.surface) {
      plot.addEventListener('pointerdown', event => { drag = [event.clientX, event.clientY]; plot.setPointerCapture(event.pointerId); });
      for (const end of ['pointerup', 'pointercancel']) plot.addEventListener(end, () => { drag = null; });
    }
    plot.addEventListener('keydown', event => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (svg.dataset.surface && step) {
        const side = event.key === 'ArrowLeft' || event.key === 'ArrowRight';
        turn(svg, side ? step * 0.12 : 0, side ? 0 : step * 0.08);
      } else if (step || event.key === 'Home' || event.key === 'End') {
        const list = hits(svg).filter(shown);
        if (!list.length) return;
        current = event.key === 'Home' ? 0 : event.key === 'End' ? list.length - 1 : (current + step + list.length) % list.length;
        show(svg, list[current]);
      } else if (event.key === 'Escape') {
        current = -1;
        show(svg, null);
      } else return;
      event.preventDefault();
    });
  }

  for (const figure of document.querySelectorAll('figure')) {
    for (const button of figure.querySelectorAll('.views button')) {
      button.onclick = () => {
        for (const other of figure.querySelectorAll('.views button')) other.setAttribute('aria-pressed', other === button);
        for (const plot of figure.querySelectorAll('.plot')) {
          plot.hidden = plot.dataset.v !== button.dataset.v;
          const svg = plot.querySelector('svg[data-surface]');
          if (svg && !plot.hidden && !svg.surface) turn(svg, 0, 0);
        }
      };
    }
    for (const button of figure.querySelectorAll('.keys button')) {
      button.onclick = () => {
        const on = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', on);
        for (const group of figure.querySelectorAll('.plot [data-s="' + button.dataset.s + '"]')) {
          if (on) delete group.dataset.off; else group.dataset.off = '';
          group.style.display = on ? '' : 'none';
        }
      };
    }
  }

  // On paper everything that is folded is open, but for what the rules for paper keep out.
  const opened = [];
  addEventListener('beforeprint', () => {
    for (const folded of document.querySelectorAll('details:not([open]):not(.long)')) {
      folded.open = true;
      opened.push(folded);
    }
  });
  addEventListener('afterprint', () => {
    for (const folded of opened.splice(0)) folded.open = false;
  });

  // A table as CSV: plain numbers, units in the heads, nothing that a spreadsheet would carry out.
  const quoted = text => { text = /^[=+\-@]/.test(text) ? "'" + text : text; return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text; };
  for (const save of document.querySelectorAll('.save button')) {
    save.onclick = () => {
      const table = save.parentElement.nextElementSibling.querySelector('table');
      const field = cell => cell.dataset.v !== undefined ? cell.dataset.v : quoted(cell.dataset.h || cell.textContent);
      const text = [...table.rows].map(row => [...row.cells].map(field).join(',')).join('\n') + '\n';
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
      const of = save.closest('figure') || save.closest('section');
      link.download = of.id + '.csv';
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    };
  }

  // The surface from another side: the projection of the drawing, with other angles.
  const viridis = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37]];
  function color(share) {
    const at = Math.max(0, Math.min(1, share)) * 8, below = Math.min(7, Math.floor(at)), part = at - below;
    return 'rgb(' + [0, 1, 2].map(i => Math.round(viridis[below][i] + (viridis[below + 1][i] - viridis[below][i]) * part)).join() + ')';
  }
  function turn(svg, yaw, pitch) {
    const s = svg.surface = svg.surface || JSON.parse(svg.dataset.surface), g = svg.querySelector('.turn');
    // The heat map has the same values in the same order.
    if (!s.words) s.words = hits(svg.closest('figure').querySelector('.plot[data-v=heat-map] svg')).map(hit => hit.words);
    s.yaw += yaw;
    s.pitch = Math.max(0.1, Math.min(1, s.pitch + pitch));
    const [c, n, cp, np] = [Math.cos(s.yaw), Math.sin(s.yaw), Math.cos(s.pitch), Math.sin(s.pitch)];
    const mid = (at, list) => at / (Math.max(list.length, 2) - 1) * 2 - 1;
    const place = (i, j, z) => {
      const x = mid(i, s.x), y = mid(j, s.y), tx = x * c - y * n, ty = x * n + y * c, up = z * s.rise - s.rise / 2;
      return [s.w / 2 + tx * s.size, s.h / 2 + ty * np * s.size - up * cp * s.size, ty * cp + up * np];
    };
    g.replaceChildren();
    const add = (tag, attributes, text) => {
      const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
      for (const key in attributes) element.setAttribute(key, attributes[key]);
      if (text !== undefined) element.textContent = text;
      g.append(element);
      return element;
    };
    const path = corners => 'M' + corners.map(p => p[0].toFixed(1) + ' ' + p[1].toFixed(1)).join('L') + 'Z';
    const li = s.x.length - 1, lj = s.y.length - 1;
    add('path', { class: 'x', d: path([[0, 0], [li, 0], [li, lj], [0, lj]].map(([i, j]) => place(i, j, 0))) });
    // Labels stand along the two edges that are nearest to the eye.
    const nearJ = c > 0 ? lj * 1.14 : -lj * 0.14, nearI = n > 0 ? li * 1.14 : -li * 0.14;
    const label = (p, text) => add('text', { class: 'k v', 'text-anchor': 'middle', x: p[0], y: p[1] + 10 }, text);
    for (let i = 0; i <= li; i += Math.ceil((li + 1) / 8)) label(place(i, nearJ, 0), s.x[i]);
    for (let j = 0; j <= lj; j += Math.ceil((lj + 1) / 8)) label(place(nearI, j, 0), s.y[j]);
    label(place(li / 2, c > 0 ? lj * 1.38 : -lj * 0.38, 0), s.xt);
    label(place(n > 0 ? li * 1.38 : -li * 0.38, lj / 2, 0), s.yt);
    const faces = [];
    for (let j = 0; j < lj; j++) for (let i = 0; i < li; i++) {
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], z = corners.map(([i, j]) => s.z[j][i]);
      if (z.includes(null)) continue;
      const places = corners.map(([i, j], at) => place(i, j, z[at]));
      faces.push([places.reduce((sum, p) => sum + p[2], 0), path(places), z.reduce((a, b) => a + b) / 4]);
    }
    faces.sort((a, b) => a[0] - b[0]);
    for (const [, d, share] of faces) add('path', { d, fill: color(share), stroke: '#0004', 'stroke-width': 0.7 });
    let at = 0;
    s.z.forEach((row, j) => row.forEach((z, i) => {
      if (z === null) return;
      const p = place(i, j, z);
      add('g', { class: 'm' }).words = s.words[at++];
      const dot = document.createElementNS('http://www.w3.org/2000/svg', 'circle');
      for (const [key, value] of Object.entries({ cx: p[0], cy: p[1], r: 2.5, fill: '#1c2330', stroke: '#fff', 'stroke-width': 0.8 })) dot.setAttribute(key, value);
      g.lastChild.append(dot);
    }));
    values.delete(svg);
  }
})();
