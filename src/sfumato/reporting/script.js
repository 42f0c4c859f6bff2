
"use strict";
(() => {
  const find = (id) => document.getElementById(id);

  // Cards: sort and filter.
  const cards = find("cards"), all = [...cards.children];
  const squeezed = (words) => words.toLowerCase().replace(/\s+/g, " ").trim();
  const text = new Map(all.map((card) => [card, squeezed(card.textContent)]));
  const name = (card) => (card.querySelector(".name") || card).textContent;
  const orders = {
    k: (a, b) => a.dataset.k - b.dataset.k,
    size: (a, b) => b.dataset.size - a.dataset.size,
    shared: (a, b) => b.dataset.shared - a.dataset.shared,
    name: (a, b) => name(a).localeCompare(name(b)),
  };
  const arrange = () => {
    const order = orders[find("sort").value];
    const wanted = squeezed(find("filter").value);
    let shown = 0;
    for (const card of [...all].sort((a, b) => order(a, b) || orders.k(a, b))) {
      card.hidden = !text.get(card).includes(wanted);
      shown += !card.hidden;
      cards.append(card);
    }
    find("shown").textContent = wanted ? `${shown} of ${all.length} clusters` : "";
  };
  find("sort").addEventListener("change", arrange);
  find("filter").addEventListener("input", arrange);
  arrange();
  addEventListener("hashchange", () => {
    const card = find(location.hash.slice(1));
    if (card && card.classList.contains("card")) {
      if (card.hidden) { find("filter").value = ""; arrange(); }
      card.focus();
    }
  });

  // Map: what is under the pointer, and from row to row by the keyboard.
  const chart = find("chart"), svg = chart.querySelector("svg"), tip = find("tip"), cursor = find("cursor");
  const info = JSON.parse(find("points").textContent);
  const places = [];
  for (const path of svg.querySelectorAll("g[data-k] path:not(.echo)"))
    for (const [, x, y] of path.getAttribute("d").matchAll(/M(\d+) (\d+)/g)) places.push([+x, +y]);
  const across = places.map((_, i) => i).sort((a, b) => places[a][0] - places[b][0] || places[a][1] - places[b][1]);
  let current = -1;
  const hide = () => { tip.hidden = true; cursor.setAttribute("cx", -99); current = -1; };
  const show = (i) => {
    current = i;
    const [row, score, ...shares] = info[i], lines = [typeof row === "number" ? `row ${row}` : row];
    for (let j = 0; j < shares.length; j += 2) lines.push(`cluster ${shares[j]}: ${shares[j + 1]} %`);
    if (!shares.length) lines.push("in no cluster");
    lines.push(`outlier score ${score}`);
    tip.textContent = lines.join("\n");
    tip.hidden = false;
    const [x, y] = places[i], box = chart.getBoundingClientRect();
    const point = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
    cursor.setAttribute("cx", x);
    cursor.setAttribute("cy", y);
    const left = point.x - box.left, top = point.y - box.top;
    tip.style.left = `${Math.max(4, Math.min(left + 14, box.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${top > box.height / 2 ? Math.max(4, top - tip.offsetHeight - 14) : top + 14}px`;
  };
  const only = () => chart.dataset.only;
  const visible = (i) => only() === undefined || String(info[i][2]) === only();
  const nearest = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let best = -1, least = 24 ** 2;
    places.forEach(([x, y], i) => {
      const far = (x - point.x) ** 2 + (y - point.y) ** 2;
      if (far < least && visible(i)) { least = far; best = i; }
    });
    if (best < 0) hide(); else show(best);
  };
  svg.addEventListener("pointermove", nearest);
  svg.addEventListener("pointerdown", nearest);
  chart.addEventListener("pointerleave", hide);
  chart.addEventListener("blur", hide);
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") hide();
    const shown = across.filter(visible);
    if (!step || !shown.length) return;
    event.preventDefault();
    const at = shown.indexOf(current);
    show(shown[at < 0 ? (step > 0 ? 0 : shown.length - 1) : (at + step + shown.length) % shown.length]);
  });

  // Legend: one cluster alone.
  find("legend").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const chosen = only() === button.dataset.k ? undefined : button.dataset.k;
    for (const each of find("legend").children) each.setAttribute("aria-pressed", each.dataset.k === chosen);
    for (const group of svg.querySelectorAll("g[data-k]")) group.classList.toggle("on", group.dataset.k === chosen);
    if (chosen === undefined) delete chart.dataset.only; else chart.dataset.only = chosen;
    hide();
  });
})();
