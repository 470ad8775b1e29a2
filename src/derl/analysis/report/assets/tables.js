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

function showTip(cell, pin = false) {
  if (!pin && pinned && tipCell === cell) return;
  [tipCell, pinned] = [cell, pin];
  const tip = document.getElementById("tip");
  const [name, ...lines] = (cell.dataset.tip || "").split("\n");
  tip.replaceChildren(make("strong", {}, name), ...lines.map((line) => make("div", {}, line)));
  if (cell.dataset.case && pin) {
    // Without this, pressing the button would take the focus from the cell, and with it the tip away.
    const stay = (event) => event.preventDefault();
    tip.append(make("button", { type: "button", onpointerdown: stay, onmousedown: stay, onclick: (event) => openCase(cell, event) }, "Learning curve"));
  }
  tip.classList.toggle("pinned", pin);
  document.getElementById("said").textContent = [name, ...lines].join("; ");
  placeTip();
}

// Below its cell if there is room, else above; gone with it when it is scrolled away.
function placeTip() {
  if (!tipCell) return;
  const tip = document.getElementById("tip");
  const at = tipCell.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  tip.hidden = at.bottom < 0 || at.top > innerHeight || at.right < 0 || at.left > width;
  const below = at.bottom + 6;
  const fits = below + tip.offsetHeight < innerHeight;
  tip.style.left = `${Math.max(8, Math.min(at.left, width - tip.offsetWidth - 8))}px`;
  tip.style.top = `${fits ? below : Math.max(8, at.top - tip.offsetHeight - 6)}px`;
}

function hideTip() {
  [tipCell, pinned] = [null, false];
  document.getElementById("tip").hidden = true;
}
