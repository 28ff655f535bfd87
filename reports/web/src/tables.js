// Sorting and searching: small tables are in the page already, large ones are built from data a page at a time.

const pageRows = 100;

function words(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

function searchBox(hint, label, onChange) {
  const box = document.createElement("p");
  box.className = "search";
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = hint || "search";
  input.setAttribute("aria-label", `Search in: ${label}`);
  input.autocomplete = "off";
  input.spellcheck = false;
  const status = document.createElement("span");
  status.setAttribute("role", "status");
  box.append(input, status);
  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => onChange(words(input.value)), 80);
  });
  return { box, input, status };
}

function sortButton(th, onSort) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...th.childNodes);
  if (th.title) button.title = th.title;
  th.append(button);
  button.addEventListener("click", () => {
    const descending = th.getAttribute("aria-sort") === "descending";
    const direction = !th.hasAttribute("aria-sort") ? (th.classList.contains("n") ? -1 : 1) : descending ? 1 : -1;
    for (const other of th.parentNode.children) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    onSort(direction);
  });
}

/** Numbers before text, unknown last in both directions. */
function compare(a, b, direction) {
  const missingA = a === null || a === "" || a === "–", missingB = b === null || b === "" || b === "–";
  if (missingA || missingB) return missingA - missingB;
  const numberA = typeof a === "number", numberB = typeof b === "number";
  if (numberA !== numberB) return numberA ? -1 : 1;
  if (numberA) return direction * (a - b);
  return direction * String(a).localeCompare(String(b), "en", { numeric: true });
}

export function enhance(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const label = table.caption ? table.caption.textContent : "table";
  if (table.classList.contains("sortable")) {
    [...table.tHead.rows[0].cells].forEach((th, column) => {
      sortButton(th, (direction) => {
        const key = (row) => {
          const cell = row.cells[column];
          return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
        };
        const keyed = rows.map((row, i) => [key(row), i, row]);
        keyed.sort((a, b) => compare(a[0], b[0], direction) || a[1] - b[1]);
        body.append(...keyed.map((entry) => entry[2]));
      });
    });
  }
  if (table.classList.contains("searchable")) {
    const haystacks = rows.map((row) =>
      ([...row.cells].map((c) => c.textContent).join(" ") + " " + (row.dataset.k || "")).toLowerCase());
    const { box, status } = searchBox(table.dataset.hint, label, (wanted) => {
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !wanted.every((word) => haystacks[i].includes(word));
        shown += !row.hidden;
      });
      status.textContent = wanted.length ? `${shown} of ${rows.length} rows` : "";
    });
    table.closest(".table-box").before(box);
  }
}

function formatted(value, column) {
  if (value === null) return "–";
  if (typeof value === "string") return value;
  const scaled = value * column.scale;
  if (Math.abs(scaled) >= 1e9) return scaled.toPrecision(4);
  const text = scaled.toFixed(column.decimals);
  if (scaled !== 0 && Number(text) === 0) return (scaled < 0 ? ">-" : "<") + (10 ** -column.decimals).toFixed(column.decimals);
  return text.replace(/^-(0(\.0+)?)$/, "$1");
}

export function build(host, data) {
  const { columns, strings } = data;
  const value = (column, row) => (column.text ? strings[column.values[row]] : column.values[row]);
  const label = host.dataset.caption;
  let order = Array.from({ length: data.rows }, (_, i) => i);
  let haystacks = null;
  let wanted = [];
  let limit = pageRows;

  const haystack = (row) => {
    haystacks ??= new Array(data.rows);
    return (haystacks[row] ??= (columns.filter((c) => c.text).map((c) => strings[c.values[row]]).join(" ") +
      (data.keywords ? " " + strings[data.keywords[row]] : "")).toLowerCase());
  };

  const table = document.createElement("table");
  table.createCaption().textContent = label;
  const head = table.createTHead().insertRow();
  const body = table.createTBody();
  columns.forEach((column) => {
    if (column.bar) column.largest = column.values.reduce((most, v) => (typeof v === "number" && v > most ? v : most), 0);
    const th = document.createElement("th");
    th.scope = "col";
    th.textContent = column.title;
    if (column.help) th.title = column.help;
    if (!column.text) th.className = "n";
    head.append(th);
    if (data.sortable) {
      sortButton(th, (direction) => {
        order = Array.from({ length: data.rows }, (_, i) => i);
        order.sort((a, b) => compare(value(column, a), value(column, b), direction) || a - b);
        draw();
      });
    }
  });
  const more = document.createElement("button");
  more.type = "button";
  more.className = "more";
  more.addEventListener("click", () => {
    limit += 10 * pageRows;
    draw();
  });
  const { box, status } = searchBox(data.hint, label, (list) => {
    wanted = list;
    limit = pageRows;
    draw();
  });

  function draw() {
    const fragment = document.createDocumentFragment();
    let found = 0, shown = 0;
    const firstText = columns.findIndex((c) => c.text);
    for (const row of order) {
      if (wanted.length && !wanted.every((word) => haystack(row).includes(word))) continue;
      ++found;
      if (shown >= limit) continue;
      ++shown;
      const tr = document.createElement("tr");
      columns.forEach((column, c) => {
        const cell = document.createElement(c === firstText ? "th" : "td");
        if (c === firstText) cell.scope = "row";
        const v = value(column, row);
        const text = column.text ? v : formatted(v, column);
        const target = column.targets ? strings[column.targets[row]] : "";
        if (target) {
          const link = document.createElement("a");
          link.href = "#" + target;
          link.textContent = text;
          cell.append(link);
        } else {
          cell.textContent = text;
        }
        if (!column.text) cell.className = "n";
        if (column.keep) cell.classList.add("keep");
        if (typeof v === "string" && !column.text) cell.classList.add("faint");
        if (column.largest > 0 && typeof v === "number") {
          cell.classList.add("share");
          cell.style.setProperty("--share", Math.max(0, (v / column.largest) * 100).toFixed(1) + "%");
        }
        tr.append(cell);
      });
      fragment.append(tr);
    }
    body.replaceChildren(fragment);
    status.textContent = wanted.length ? `${found} of ${data.rows} rows` : `${data.rows} rows`;
    more.hidden = shown === found;
    more.textContent = `Show more (${found - shown} left)`;
  }

  const region = document.createElement("div");
  region.className = "table-box";
  region.tabIndex = 0;
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", label);
  region.append(table);
  host.replaceChildren(box, region, more);
  draw();
}
