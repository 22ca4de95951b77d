// The forms of "Try it in your browser": they ask the program's own code, compiled to WebAssembly, and show what it
// says. Nothing is computed here that is a claim, nothing is fetched, and nothing is sent. SCUMBLE_CODE stands above
// this, put there by tools/site/calculators/build.
"use strict";
(() => {
    const pages = document.querySelectorAll("[data-calculator]");
    // Where all pages are one, for printing, there is nothing to fill in.
    if (pages.length !== 1) return;
    const page = pages[0];
    const find = (selector, inside = page) => inside.querySelector(selector);
    const all = (selector, inside = page) => [...inside.querySelectorAll(selector)];
    const make = (name, text = "", attributes = {}) => {
        const one = document.createElement(name);
        one.textContent = text;
        for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
        return one;
    };
    // The site's own keys turn pages, also where an arrow moves a slider.
    page.addEventListener("keydown", (event) => event.stopPropagation());
    page.addEventListener("submit", (event) => event.preventDefault());

    // In a worker, so that a long question does not hold up the page. It gives the random bytes, which are the
    // browser's own.
    function work() {
        let exports;
        const random = {
            fill: (start, length) => {
                crypto.getRandomValues(new Uint8Array(exports.memory.buffer, start, length));
            },
        };
        const ask = (question) => {
            const bytes = new TextEncoder().encode(JSON.stringify(question));
            const start = exports.room(bytes.length);
            new Uint8Array(exports.memory.buffer, start, bytes.length).set(bytes);
            const length = exports.ask();
            const text = new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.text(), length));
            return JSON.parse(text);
        };
        onmessage = ({ data }) => {
            if (data.code) {
                exports = new WebAssembly.Instance(data.code, { random }).exports;
                return;
            }
            try {
                postMessage({ answer: ask(data.question) });
            } catch (error) {
                postMessage({ failed: String(error) });
            }
        };
    }

    const FAILED = "This could not be computed here. Change a number, or ask the program";
    const bytes = () => Uint8Array.from(atob(SCUMBLE_CODE), (letter) => letter.charCodeAt(0));
    const code = typeof SCUMBLE_CODE === "string" ? WebAssembly.compile(bytes()) : null;
    // Each part of a page has a worker of its own, and only its last question counts.
    class Calculator {
        constructor(shown, busy) {
            Object.assign(this, { shown, busy, asked: null, next: null, since: 0, worker: null });
        }
        async start() {
            const address = URL.createObjectURL(new Blob([`(${work})()`], { type: "text/javascript" }));
            this.worker = new Worker(address);
            this.worker.onmessage = ({ data }) => this.answered(data);
            this.worker.onerror = () => this.answered({ failed: "" });
            this.worker.postMessage({ code: await code });
        }
        async ask(question) {
            if (this.asked) {
                this.next = question;
                // What takes long and is not wanted any more is given up.
                if (performance.now() - this.since > 1000) this.answered({ failed: "", isOld: true });
                return;
            }
            Object.assign(this, { asked: question, since: performance.now() });
            this.waiting = setTimeout(() => this.busy(true), 300);
            if (!this.worker) await this.start();
            this.worker.postMessage({ question });
        }
        answered({ answer, failed, isOld }) {
            clearTimeout(this.waiting);
            const { asked, next } = this;
            Object.assign(this, { asked: null, next: null });
            if (failed !== undefined) {
                this.worker.terminate();
                this.worker = null;
            }
            if (!next) this.busy(false);
            if (!isOld) this.shown(failed === undefined ? answer : { refused: FAILED }, asked);
            if (next) this.ask(next);
        }
    }

    const size = (one) => (one.clientWidth && one.clientWidth < 560 ? "narrow" : "wide");
    const draw = (place, svg) => {
        if (!svg) return place.replaceChildren();
        const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
        place.replaceChildren(document.importNode(picture, true));
    };
    const rows = (body, lines) => {
        body.replaceChildren(
            ...lines.map((cells) => {
                const row = make("tr");
                row.append(...cells.map((cell) => make("td", cell)));
                return row;
            }),
        );
    };
    const section = find(".try-answer");
    const busy = (isBusy) => {
        find(".try-busy", section).hidden = !isBusy;
        section.setAttribute("aria-busy", String(isBusy));
    };
    // What is refused is said; what was found before stays, and is seen to be old.
    const refused = (place, sentence) => {
        const error = find(".try-error", place);
        error.hidden = !sentence;
        if (error.textContent !== (sentence ?? "")) error.textContent = sentence ?? "";
        place.classList.toggle("try-old", Boolean(sentence));
        return Boolean(sentence);
    };
    const found = () => {
        find(".try-found", section).hidden = false;
    };

    const number = (text) => (text.trim() === "" ? NaN : Number(text.replace(/[\s\u202f]/g, "")));
    // A number that JSON has no word for is refused by its name, as the text that it was.
    const given = (text) => (Number.isFinite(number(text)) ? number(text) : text.trim());

    // A slider in powers of ten, and a field for any number.
    const slide = (one, changed) => {
        const [field, range] = [find("input:not([type=range])", one), find("input[type=range]", one)];
        const { from, to, step, digits } = one.dataset;
        Object.assign(range, { min: from, max: to, step });
        const follow = () => {
            const value = number(field.value);
            if (value > 0) range.value = Math.log10(value);
            range.setAttribute("aria-valuetext", field.value);
        };
        range.addEventListener("input", () => {
            const value = 10 ** Number(range.value);
            const rounded = Number(value.toPrecision(2));
            field.value = String(Number(digits) ? rounded : Math.round(rounded));
            range.setAttribute("aria-valuetext", field.value);
            changed();
        });
        field.addEventListener("input", () => {
            follow();
            changed();
        });
        follow();
    };

    // Charts have two widths: after a change of the window's, what is asked is asked again.
    const resized = (place, ask) => {
        let last = size(place);
        window.addEventListener("resize", () => {
            if (size(place) !== last) {
                last = size(place);
                ask();
            }
        });
    };

    const form = find(".try-form");
    const fields = (names) => Object.fromEntries(names.map((name) => [name, form.elements[name].value]));

    // ------------------------------------------------------------------------------------------------------------
    const EXAMPLES = {
        training: {
            events: [{ mechanism: "gaussian", sigma: 1, sensitivity: 1, times: 1000,
                sampling: { kind: "poisson", rate: 0.01 } }],
            delta: 1e-6,
        },
        counts: {
            events: [
                { mechanism: "discrete-laplace", scale: 20, sensitivity: 1, times: 50 },
                { mechanism: "discrete-gaussian", sigma: 40, sensitivity: 1, times: 10 },
            ],
            delta: 1e-9,
            neighbours: "replace",
        },
        answers: { events: [{ mechanism: "randomized-response", epsilon: 1, values: 2 }], delta: 0 },
    };

    async function account() {
        const list = find(".try-events");
        const json = form.elements.document;
        const back = find(".try-back");
        const chart = find(".try-chart");
        let words = [];
        let isJson = false;

        const field = (label, name, value, hint) => {
            const outer = make("label", `${label} `);
            const input = make("input", "", { name, value, inputmode: "decimal" });
            if (hint) input.placeholder = hint;
            outer.append(input);
            return outer;
        };
        const event = (given) => {
            const line = make("div", "", { class: "try-event", role: "group" });
            const name = make("label", "Mechanism ");
            const select = make("select", "", { name: "mechanism" });
            select.append(...words.map((word) => make("option", word.name, { value: word.name })));
            select.value = given.mechanism;
            name.append(select);
            const sentence = make("p", "", { class: "try-sentence" });
            const parameters = make("div", "", { class: "try-fields" });
            const usual = { epsilon: 1, delta: "1e-6", rho: 0.1, omega: 10, sigma: 2, scale: 2, values: 2 };
            const filled = (given) => {
                const word = words.find((one) => one.name === select.value);
                sentence.textContent = word.sentence;
                const own = word.parameters.map((one) => field(one, one, given[one] ?? usual[one]));
                if (word.moves) own.push(field("one owner moves it by", "sensitivity", given.sensitivity ?? 1));
                own.push(field("times", "times", given.times ?? 1));
                own.push(field("share sampled", "rate", given.sampling?.rate ?? "", "everybody"));
                parameters.replaceChildren(...own);
            };
            select.addEventListener("change", () => filled({}));
            const remove = make("button", "Remove", { type: "button", class: "try-remove" });
            remove.addEventListener("click", () => {
                const next = line.nextElementSibling ?? line.previousElementSibling;
                line.remove();
                (next ? find("select", next) : find(".try-add")).focus();
                named();
                changed();
            });
            const head = make("div", "", { class: "try-head" });
            head.append(name, remove);
            line.append(head, sentence, parameters);
            filled(given);
            return line;
        };
        // Which of several events a field belongs to is said to those who do not see it.
        const named = () => {
            all(".try-event", list).forEach((line, place) => {
                line.setAttribute("aria-label", `event ${place + 1}`);
                find(".try-remove", line).setAttribute("aria-label", `Remove event ${place + 1}`);
            });
        };
        const fill = (document) => {
            list.replaceChildren(...document.events.map(event));
            named();
            form.elements.ask.value = document.epsilon === undefined ? "delta" : "epsilon";
            const asked = document.delta ?? document.epsilon;
            form.elements.given.value = asked && asked < 1e-3 ? asked.toExponential() : String(asked);
            form.elements.neighbours.value = document.neighbours ?? "add-remove";
        };
        const written = () => {
            const events = all(".try-event", list).map((line) => {
                const one = { mechanism: find("select", line).value };
                for (const input of all("input", line)) {
                    if (input.name === "rate") {
                        if (input.value.trim()) one.sampling = { kind: "poisson", rate: given(input.value) };
                    } else one[input.name] = given(input.value);
                }
                return one;
            });
            const { ask, neighbours } = fields(["ask", "neighbours"]);
            return JSON.stringify({ events, [ask]: given(form.elements.given.value), neighbours }, null, 2);
        };
        const drawing = (isBusy) => chart.classList.toggle("try-drawing", isBusy);
        const curves = new Calculator((answer) => draw(chart, answer.svg), drawing);
        const bounds = new Calculator((answer, asked) => {
            if (refused(section, answer.refused)) return;
            found();
            find(".try-claim").textContent = answer.claim;
            find(".try-below").textContent = answer.below;
            find("[data-alone]").textContent = `${answer.name} alone`;
            const lines = answer.events;
            const cells = (one) => [one.event, one.parameters, String(one.times), one.sample, one.alone];
            rows(find("tbody"), lines.map(cells));
            const { neighbours, direction, rule } = answer;
            const facts = Object.entries({ neighbours, "worse direction": direction, rule });
            const lists = facts.flatMap(([name, text]) => [make("dt", name), make("dd", text)]);
            find(".try-facts").replaceChildren(...lists);
            // The number first, then the picture.
            curves.ask({ calculator: "curve", document: asked.document, size: size(chart) });
        }, busy);
        const ask = () => bounds.ask({ calculator: "account", document: json.value });
        const changed = () => {
            find("[data-asked]").textContent = form.elements.ask.value === "delta" ? "δ" : "ε";
            if (!isJson) json.value = written();
            ask();
        };
        const apart = (isApart) => {
            isJson = isApart;
            back.hidden = !isApart;
            for (const part of all("fieldset[data-part]")) part.disabled = isApart;
        };
        form.addEventListener("input", (event) => {
            if (event.target === json) apart(true);
            changed();
        });
        back.addEventListener("click", () => {
            apart(false);
            changed();
            find("summary").focus();
        });
        find(".try-add").addEventListener("click", () => {
            list.append(event({ mechanism: "discrete-laplace" }));
            named();
            find("select", list.lastElementChild).focus();
            changed();
        });
        for (const button of all("[data-example]")) {
            button.addEventListener("click", () => {
                apart(false);
                fill(EXAMPLES[button.dataset.example]);
                changed();
            });
        }
        resized(chart, ask);
        new Calculator((answer) => {
            if (refused(section, answer.refused)) return;
            words = answer.words;
            fill(EXAMPLES.counts);
            changed();
        }, busy).ask({ calculator: "words" });
    }

    // ------------------------------------------------------------------------------------------------------------
    function noise() {
        const chart = find(".try-chart");
        const groups = find("[data-name=groups]");
        const calculator = new Calculator((answer) => {
            if (refused(section, answer.refused)) return;
            found();
            find(".try-claim").textContent = answer.claim;
            find(".try-below").textContent = answer.about;
            find(".try-note").textContent = answer.note ?? "";
            const names = ["noise", "parameters", "maximum_error", "standard_deviation"];
            rows(find("tbody"), answer.rows.map((row) => names.map((name) => row[name])));
            draw(chart, answer.svg);
        }, busy);
        const changed = () => {
            const text = fields(["statistic", "epsilon", "people", "groups", "delta", "scope"]);
            groups.hidden = text.statistic !== "histogram";
            // A median is chosen at a pure cost.
            form.elements.delta.disabled = text.statistic === "quantile";
            const delta = text.statistic === "quantile" ? 0 : Number(text.delta);
            const [epsilon, people, count] = [text.epsilon, text.people, text.groups].map(given);
            const { statistic, scope } = text;
            const question = { statistic, scope, epsilon, delta, people, groups: count, size: size(chart) };
            calculator.ask({ calculator: "noise", ...question });
        };
        all(".try-slide").forEach((one) => slide(one, changed));
        form.addEventListener("change", (event) => {
            if (event.target.matches("select, [type=radio]")) changed();
        });
        resized(chart, changed);
        changed();
    }

    // ------------------------------------------------------------------------------------------------------------
    const SQUARES = "http://www.w3.org/2000/svg";

    function meaning() {
        const chart = find(".try-chart");
        const attack = find(".try-attack");
        const calculator = new Calculator((answer) => {
            if (refused(section, answer.refused)) return;
            found();
            attack.hidden = false;
            find(".try-claim").textContent = answer.claim;
            find(".try-below").textContent = answer.hundred;
            find(".try-note").textContent = answer.factor;
            draw(chart, answer.svg);
        }, busy);
        const squares = (figure, attempt, people, words) => {
            const caption = find("figcaption span", figure);
            caption.textContent = `${attempt.right} of ${people} right${words}`;
            const picture = document.createElementNS(SQUARES, "svg");
            picture.setAttribute("viewBox", "0 0 200 100");
            picture.setAttribute("role", "img");
            picture.setAttribute("aria-label", `${attempt.right} of ${people} squares are right`);
            [...attempt.squares].forEach((one, place) => {
                const square = document.createElementNS(SQUARES, "rect");
                const at = { x: 10 * (place % 20), y: 10 * Math.floor(place / 20), width: 9, height: 9, rx: 1 };
                for (const [key, value] of Object.entries(at)) square.setAttribute(key, value);
                square.setAttribute("class", one === "1" ? "try-right" : "try-wrong");
                picture.append(square);
            });
            find("svg", figure)?.remove();
            figure.prepend(picture);
        };
        const attacker = new Calculator((answer, asked) => {
            if (refused(attack, answer.refused)) return;
            const { exact, noisy, people, margin, constant } = answer;
            squares(find("[data-attempt=exact]"), exact, people, "");
            const cost = `, ε = ${asked.epsilon} for all counts; each ± ${margin}`;
            squares(find("[data-attempt=noisy]"), noisy, people, cost);
            const guess = `Who guesses the same for everybody has ${constant} right without any count.`;
            find(".try-ceiling").textContent = `${answer.ceiling} ${guess}`;
        }, () => {});
        const attacked = () => attacker.ask({ calculator: "attack", epsilon: given(form.elements.epsilon.value) });
        const changed = () => {
            const { epsilon, delta } = fields(["epsilon", "delta"]);
            const question = { epsilon: given(epsilon), delta: Number(delta), size: size(chart) };
            calculator.ask({ calculator: "meaning", ...question });
            attacked();
        };
        all(".try-slide").forEach((one) => slide(one, changed));
        form.elements.delta.addEventListener("change", changed);
        find(".try-again").addEventListener("click", attacked);
        resized(chart, changed);
        changed();
    }

    // ------------------------------------------------------------------------------------------------------------
    const PROJECT = `[dataset.visits]
source = "visits.csv"
owner  = "person_id"
max_rows_per_owner   = 6     # at most six visits of each person count,
max_groups_per_owner = 2     # in at most two clinics,
max_rows_per_group   = 3     # and at most three in each
[dataset.visits.columns]
clinic = { type = "category", values = ["general", "heart", "eyes"] }
cost   = { type = "float", lower = 0, upper = 500, granularity = 1 }

[budget]
person = { epsilon = 1.0, delta = 1e-9 }

[[release]]
name = "by clinic"
sql  = "SELECT clinic, COUNT(*) AS visits, COUNT(DISTINCT person_id) AS patients FROM visits GROUP BY clinic"
cost = { epsilon = 0.5 }

[[release]]
name = "all costs"
sql  = "SELECT SUM(cost) AS cost FROM visits"
cost = { epsilon = 0.25 }

[[release]]
name = "mean cost"
sql  = "SELECT AVG(cost) AS cost FROM visits"
cost = { epsilon = 0.25 }
`;

    function plan() {
        const project = form.elements.project;
        const [table, scopes] = all("tbody");
        const calculator = new Calculator((answer) => {
            if (refused(section, answer.refused)) return;
            found();
            const claim = find(".try-claim");
            claim.textContent = answer.budget;
            claim.classList.toggle("try-over", answer.fits === false);
            const cost = (release, scope) => release.costs.find((one) => one.scope === scope)?.shown ?? "";
            const lines = answer.releases.flatMap((release) =>
                release.columns.map(({ column, shown }, place) => {
                    const at = release.at ? ` ${release.at}` : "";
                    const [name, own] = place ? ["", ""] : [release.name, cost(release, "person") + at];
                    return [name, own, column, ...shown];
                }),
            );
            rows(table, lines);
            const every = answer.releases.flatMap((release) =>
                release.costs.map(({ scope, shown }, place) => [place ? "" : release.name, scope, shown]),
            );
            rows(scopes, every);
            for (const one of all(".try-found > .try-table, .try-scopes")) one.hidden = !lines.length;
            const left = find(".try-left");
            left.hidden = !answer.left_out.length;
            const reasons = answer.left_out.map(({ name, why }) => make("li", `${name}: ${why}`));
            find("ul", left).replaceChildren(...reasons);
        }, busy);
        const ask = () => calculator.ask({ calculator: "plan", project: project.value });
        let waiting;
        project.addEventListener("input", () => {
            clearTimeout(waiting);
            waiting = setTimeout(ask, 250);
        });
        project.value ||= PROJECT;
        ask();
    }

    find(".try-busy", section).textContent = "Computing …";
    busy(false);
    if (!code) {
        refused(section, "This build of the site has no calculators: Rust's wasm32-unknown-unknown was missing.");
        return;
    }
    ({ account, noise, meaning, plan })[page.dataset.calculator]();
})();
