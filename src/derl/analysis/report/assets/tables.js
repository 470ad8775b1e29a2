// Heat maps: which table, which view, and what a cell says when it is pointed at.

function startTables() {
  const choice = document.getElementById("table-choice");
  const panels = [...document.querySelectorAll("[data-panel]")];
  const pick = () => panels.forEach((panel) => panel.classList.toggle("away", panel.dataset.panel !== choice.value));
  choice.addEventListener("change", pick);
  pick();
  switchViews("table-view", "tables-box");
  switchViews("kl-view", "kl-box");
  document.querySelectorAll("table.heat").forEach(makeGrid);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
  document.addEventListener("pointerdown", (event) => event.target.closest("#tip, table.heat td") || hideTip());
  document.addEventListener("scroll", placeTip, { capture: true, passive: true });
}

// Each cell carries its text and shade for every view, as lists.
function switchViews(name, box) {
  for (const radio of document.querySelectorAll(`input[name="${name}"]`)) {
    radio.addEventListener("change", () => showView(document.getElementById(box), Number(radio.value)));
  }
}

function showView(box, view) {
  box.closest("section").dataset.view = view;
  for (const cell of box.querySelectorAll("td[data-v]")) {
    cell.querySelector(".v").textContent = cell.dataset.v.split("|")[view];
    const shades = cell.dataset.h.split("|");
    shades.forEach((shade) => shade && cell.classList.remove(shade));
    if (shades[view]) cell.classList.add(shades[view]);
  }
}

// One tab stop for a table; arrow keys go from cell to cell.
function makeGrid(table) {
  table.setAttribute("role", "grid");
  table.parentElement.removeAttribute("tabindex"); // Its cells can be focused, which scrolls the box.
  const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
  rows.flat().forEach((cell) => (cell.tabIndex = -1));
  if (rows.length && rows[0].length) rows[0][0].tabIndex = 0;
  table.addEventListener("keydown", (event) => {
    const row = rows.findIndex((cells) => cells.includes(event.target));
    if (row < 0) return;
    const column = rows[row].indexOf(event.target);
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] };
    const clamp = (value, most) => Math.max(0, Math.min(most, value));
    if (event.key in steps) {
      event.preventDefault();
      const [down, right] = steps[event.key];
      const cells = rows[clamp(row + down, rows.length - 1)];
      // The row's name stays where it is: a cell is not to end up beneath it.
      table.parentElement.style.scrollPaddingLeft = `${table.querySelector("tbody th").offsetWidth + 4}px`;
      const cell = cells[clamp(column + right, cells.length - 1)];
      cell.focus({ preventScroll: true });
      cell.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else if (event.key === "Enter" && event.target.dataset.case) {
      event.preventDefault();
      openCase(event.target);
    } else if (event.key === " " && event.target.dataset.why) {
      event.preventDefault();
      openReasons(event.target);
    }
  });
  table.addEventListener("focusin", (event) => {
    const cell = event.target.closest("td");
    if (!cell) return;
    rows.flat().forEach((other) => (other.tabIndex = other === cell ? 0 : -1));
    showTip(cell);
  });
  table.addEventListener("focusout", hideTip);
  const cellOf = (event) => event.target.closest("td");
  const hovers = (event) => event.pointerType === "mouse" && !pinned && restsAt(event) !== pressedAt;
  table.addEventListener("pointerover", (event) => hovers(event) && cellOf(event) && showTip(cellOf(event)));
  table.addEventListener("pointerleave", (event) => hovers(event) && hideTip());
  table.addEventListener("click", (event) => cellOf(event) && showTip(cellOf(event), true));
}

// The cell whose tip is shown, and whether the tip stays, after a click or a tap, so that its button can be reached.
let tipCell = null;
let pinned = false;
// Where a tip's button was pressed: what the page moves beneath a mouse that rests there is not pointed at.
let pressedAt = "";
const restsAt = (event) => `${Math.floor(event.clientX)},${Math.floor(event.clientY)}`;

function openCase(cell, event = null) {
  pressedAt = event ? restsAt(event) : "";
  hideTip();
  showCase(Number(cell.dataset.case), cell);
}

// All reasons for a difference, in the section that lists them, and the way back.
function openReasons(cell, event = null) {
  pressedAt = event ? restsAt(event) : "";
  hideTip();
  const row = document.getElementById(cell.dataset.why);
  row.closest("details").open = true;
  document.querySelectorAll("#differences .back").forEach((button) => button.remove());
  row.lastElementChild.append(make("button", { type: "button", class: "back", onclick: () => backTo(cell) }, "Back to the table"));
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
}

function backTo(cell) {
  cell.scrollIntoView({ block: "center", inline: "nearest" });
  cell.focus({ preventScroll: true });
}

function showTip(cell, pin = false) {
  if (!pin && pinned && tipCell === cell) return;
  [tipCell, pinned] = [cell, pin];
  const tip = document.getElementById("tip");
  const [name, ...lines] = (cell.dataset.tip || "").split("\n");
  tip.replaceChildren(make("strong", {}, name), ...lines.map((line, i) => make("div", { class: cell.dataset.why && i === lines.length - 1 ? "why" : null }, line)));
  if (pin) tip.append(...tipButtons(cell));
  tip.classList.toggle("pinned", pin);
  document.getElementById("said").textContent = [name, ...lines].join("; ");
  placeTip();
}

function tipButtons(cell) {
  // Without this, pressing a button would take the focus from the cell, and with it the tip away.
  const stay = (event) => event.preventDefault();
  const button = (text, act) => make("button", { type: "button", onpointerdown: stay, onmousedown: stay, onclick: (event) => act(cell, event) }, text);
  return [
    ...(cell.dataset.case ? [button("Learning curve", openCase)] : []),
    ...(cell.dataset.why ? [button("All reasons", openReasons)] : []),
  ];
}

// Below its cell if there is room, else above, else beside it; gone with it when it is scrolled away. Where there is no
// room at all it is cut where its cell begins: what is read is not to cover what it is about.
function placeTip() {
  if (!tipCell) return;
  const tip = document.getElementById("tip");
  const at = tipCell.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const [gap, margin] = [6, 8];
  tip.hidden = at.bottom < 0 || at.top > innerHeight || at.right < 0 || at.left > width;
  tip.style.maxHeight = "";
  const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
  const above = at.top - gap - margin;
  const below = innerHeight - at.bottom - gap - margin;
  const beside = [at.right + gap, at.left - gap - wide].find((left) => left >= margin && left + wide <= width - margin);
  let [left, top] = [Math.min(at.left, width - wide - margin), at.bottom + gap];
  if (high > below && high <= above) top = at.top - gap - high;
  else if (high > below && beside !== undefined) [left, top] = [beside, Math.min(at.top, innerHeight - high - margin)];
  else if (high > below) {
    tip.style.maxHeight = `${Math.max(above, below)}px`;
    if (above > below) top = at.top - gap - tip.offsetHeight;
  }
  tip.style.left = `${Math.max(margin, left)}px`;
  tip.style.top = `${Math.max(margin, top)}px`;
}

function hideTip() {
  [tipCell, pinned] = [null, false];
  document.getElementById("tip").hidden = true;
}
