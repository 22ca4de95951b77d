// What the pages do beside showing themselves. All text goes in as text, never as markup.
"use strict";
const by = (id) => document.getElementById(id);

const element = (name, attributes, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
};
const drawn = (name, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const call = async (method, path, body, signal) => {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const reply = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal, credentials: "same-origin" });
  const shown = await reply.json();
  if (!reply.ok) throw new Error(shown.detail || shown.title);
  return shown;
};

const say = (place, sentence, wrong) => {
  place.replaceChildren(element("p", wrong ? { class: "wrong" } : {}, sentence));
};

const round = (number) => (typeof number === "number" ? Number(number.toPrecision(6)).toString() : "∞");

const table = (caption, header, rows) => {
  const head = element("thead", {}, element("tr", {}, ...header.map((name) => element("th", { scope: "col" }, name))));
  const body = element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell === null ? "–" : cell)))));
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, element("table", {}, element("caption", {}, caption), head, body));
};

// Round numbers between two: about four of them.
const ticks = (low, high) => {
  const unit = 10 ** Math.floor(Math.log10((high - low) / 4 || 1));
  const step = [1, 2, 5, 10].map((times) => times * unit).find((step) => (high - low) / step <= 5) || unit;
  const all = [];
  for (let at = Math.ceil(low / step); at * step <= high; at += 1) all.push(at * step);
  return all;
};

// Bars with their 95% intervals: one for each row, of the first noisy column; as wide as its place.
const chart = (place, rows, column, title) => {
  const shown = rows.slice(0, 40);
  const width = Math.max(260, Math.min(720, place.clientWidth || 720)), left = Math.min(150, width * 0.32), line = 26, bottom = shown.length * line + 12, height = bottom + 20;
  const ends = shown.flatMap((row) => [0, row.value, row.low, row.high]).filter(Number.isFinite);
  const low = Math.min(...ends), high = Math.max(...ends);
  const x = (value) => left + ((value - low) / (high - low || 1)) * (width - left - 24);
  const picture = drawn("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  for (const at of ticks(low, high)) {
    const name = drawn("text", { class: "tick", x: x(at), y: height - 4, "text-anchor": "middle" });
    name.textContent = Math.abs(at) >= 1e6 ? at.toExponential(1).replace("+", "") : round(at);
    picture.append(drawn("path", { class: "grid", d: `M${x(at)} 6V${bottom}` }), name);
  }
  const letters = Math.floor(left / 7.5);
  shown.forEach((row, index) => {
    const y = 8 + index * line, [from, to] = [Math.min(x(0), x(row.value)), Math.max(x(0), x(row.value))];
    const name = drawn("text", { x: left - 8, y: y + 15, "text-anchor": "end" });
    name.textContent = row.name.length > letters ? row.name.slice(0, letters - 1) + "…" : row.name;
    const hint = drawn("title", {});
    hint.textContent = `${row.name}: ${column} ${round(row.value)}, 95% from ${round(row.low)} to ${round(row.high)}`;
    picture.append(name, drawn("rect", { class: "block", x: from, y: y + 3, width: Math.max(to - from, 1), height: line - 10 }, hint));
    if (Number.isFinite(row.low) && Number.isFinite(row.high)) {
      const middle = y + 3 + (line - 10) / 2, [start, end] = [x(row.low), x(row.high)];
      picture.append(drawn("path", { class: "error", d: `M${start} ${middle}H${end}M${start} ${middle - 4}v8M${end} ${middle - 4}v8` }));
    }
  });
  return picture;
};

// The keys of an answer's rows: its columns in their order, each with what stands beside it.
const ordered = (answer) => {
  const keys = answer.rows.length ? Object.keys(answer.rows[0]) : [], columns = answer.columns || [];
  const beside = (column) => ["error", "rank_error"].map((end) => `${column}_${end}`).filter((name) => !columns.includes(name));
  const names = columns.flatMap((column) => [column, ...beside(column)]).filter((name) => keys.includes(name));
  return [...names, ...keys.filter((name) => !names.includes(name) && !name.endsWith("_interval"))];
};

// The first noisy column of an answer, with the names of its rows.
const bars = (answer) => {
  const rows = answer.rows, all = rows.length ? Object.keys(rows[0]) : [], names = [...ordered(answer), ...all.filter((name) => name.endsWith("_interval"))];
  // Of a median, for example, no interval is known.
  const noisy = names.find((name) => typeof rows[0][name] === "number" && rows.some((row) => row[`${name}_interval`]));
  if (!noisy) return null;
  const beside = /_(error|interval)$/;
  // What has an error beside it, such as a median, is no key.
  const keys = names.filter((name) => !beside.test(name) && !names.includes(`${name}_error`));
  const list = rows.map((row) => ({
    name: keys.map((key) => String(row[key] ?? "–")).join(", ") || noisy,
    value: row[noisy], low: Number(row[`${noisy}_interval`]?.[0]), high: Number(row[`${noisy}_interval`]?.[1]),
  }));
  return { column: noisy, list };
};

const pages = {
  "/enter": () => {
    const enter = async (token) => {
      try {
        await call("POST", "/enter", { token });
        location.replace("/");
      } catch (error) {
        say(by("said"), error.message, true);
      }
    };
    const given = location.hash.slice(1);
    if (given) {
      // The token does not stay in the address or in the history.
      history.replaceState(null, "", "/enter");
      enter(given);
    }
    by("enter").addEventListener("submit", (event) => {
      event.preventDefault();
      enter(by("token").value.trim());
    });
  },

  "/ask": () => {
    let waiting, running;
    const question = () => ({ sql: by("sql").value, cost: { [by("unit").value]: by("number").value.trim() } });
    const plan = async () => {
      if (running) running.abort();
      running = new AbortController();
      if (!by("sql").value.trim()) return say(by("plan"), "Write a query: nothing is charged until you ask.");
      try {
        const told = await call("POST", "/v1/plan", question(), running.signal);
        const scopes = [["presence", told.costs.presence, told.left.presence], ["person", told.costs.person, told.left.person]];
        for (const [name, cost] of Object.entries(told.costs.attributes)) scopes.push([name, cost, told.left.attributes[name]]);
        const left = (one) => (one ? `${"epsilon" in one ? "epsilon" : "rho"} ${round(one.epsilon ?? one.rho)}` : "no limit");
        const errors = told.errors.map((one) => [one.column, one.standard_error ?? (one.assumed ? `about ${round(one.assumed.standard_error)}` : "what the data decides"), one.about]);
        const parts = [element("p", told.fits || told.stored ? {} : { class: "wrong" }, told.stored ? "This question was charged before: asking costs nothing, unless you want new numbers." : told.budget)];
        const expected = (one) => one.standard_error ?? one.assumed?.standard_error;
        const known = told.errors.find((one) => typeof expected(one) === "number");
        if (known) {
          const step = expected(known) * 4, error = expected(known) * 1.96;
          const made = [4, 7, 5, 9].map((size, index) => ({ name: `made up ${index + 1}`, value: size * step, low: size * step - error, high: size * step + error }));
          parts.push(element("p", {}, `How unsure ${known.column} would be, on a made-up answer:`), chart(by("plan"), made, known.column, "A made-up answer with the error to expect"));
        }
        parts.push(table("Cost in every scope", ["scope", "epsilon", "at delta", "left after it"], scopes.map(([name, cost, rest]) => [name, round(cost.epsilon), String(cost.delta), left(rest)])));
        if (errors.length) parts.push(table("Error to expect", ["column", "standard error", "what it holds for"], errors.map((row) => row.map((cell) => (typeof cell === "number" ? round(cell) : cell)))));
        parts.push(...told.notes.map((note) => element("p", {}, note)));
        by("plan").replaceChildren(...parts);
      } catch (error) {
        if (error.name !== "AbortError") say(by("plan"), error.message, true);
      }
    };
    // On a phone the tables stand between the query and what it would cost: they are opened by whoever wants them.
    if (matchMedia("(max-width: 62rem)").matches) for (const one of document.querySelectorAll("aside details")) one.open = false;
    for (const id of ["sql", "unit", "number"]) by(id).addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(plan, 350); });
    by("ask").addEventListener("submit", async (event) => {
      event.preventDefault();
      const button = by("ask").querySelector("button");
      // A button that is disabled loses the focus of whoever has no mouse.
      if (button.hasAttribute("aria-disabled")) return;
      button.setAttribute("aria-disabled", "true");
      say(by("answer"), "Asking…");
      try {
        const answer = await call("POST", "/v1/query", { ...question(), fresh: by("fresh").checked });
        by("fresh").checked = false;
        const header = ordered(answer);
        const rows = answer.rows.slice(0, 500).map((row) => header.map((name) => (typeof row[name] === "number" ? round(row[name]) : row[name])));
        const links = ["csv", "json", "parquet", "arrow"].flatMap((form) => [" ", element("a", { href: `/v1/answers/${answer.sequence}?format=${form}` }, form)]);
        const parts = [element("p", {}, answer.stored ? "It was charged before: nothing was charged now." : `Charged as entry ${answer.sequence} of the ledger.`, " Download:", ...links)];
        const picture = bars(answer);
        if (picture) parts.push(chart(by("answer"), picture.list, picture.column, `${picture.column} with 95% intervals`));
        parts.push(table("The answer", header, rows), ...answer.notes.map((note) => element("p", {}, note)));
        by("answer").replaceChildren(...parts);
        plan();
      } catch (error) {
        say(by("answer"), error.message, true);
      }
      button.removeAttribute("aria-disabled");
    });
  },

  "/answers": async () => {
    const place = by("chart");
    if (!place) return;
    const answer = await call("GET", `/v1/answers/${place.dataset.answer}?format=json`);
    const picture = bars(answer);
    if (picture) place.append(chart(place, picture.list, picture.column, `${picture.column} with 95% intervals`));
  },

  "/ledger": () => {
    const filter = by("filter");
    filter.addEventListener("input", () => {
      const word = filter.value.toLowerCase();
      for (const id of filter.dataset.tables.split(" ")) {
        for (const row of by(id).tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(word);
      }
    });
    by("verify")?.addEventListener("click", async () => {
      by("verified").textContent = "Reading…";
      try {
        const head = await call("GET", "/v1/ledger/verify");
        by("verified").textContent = `${head.entries} entries, all in their place; head ${head.head}`;
      } catch (error) {
        by("verified").textContent = error.message;
      }
    });
  },

  "/people": () => {
    by("add").addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        const added = await call("POST", "/v1/people", { name: by("name").value, role: by("role").value });
        by("said").replaceChildren(`The token of ${added.name}, which is shown only now: `, element("span", { class: "token" }, added.token));
        by("add").reset();
      } catch (error) {
        say(by("said"), error.message, true);
      }
    });
    for (const button of document.querySelectorAll("[data-revoke]")) {
      button.addEventListener("click", async () => {
        // Nobody loses their access by one click that went astray.
        if (!button.dataset.sure) {
          button.dataset.sure = "asked";
          button.textContent = `Really revoke ${button.dataset.revoke}?`;
          return;
        }
        try {
          await call("DELETE", `/v1/people/${encodeURIComponent(button.dataset.revoke)}`);
          location.reload();
        } catch (error) {
          say(by("said"), error.message, true);
        }
      });
    }
  },
};

by("leave")?.addEventListener("click", async () => {
  await call("POST", "/leave");
  location.replace("/enter");
});
pages[document.body.dataset.page]?.();
