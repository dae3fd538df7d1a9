// Forms that send their fields to the control API as JSON.
//
// `data-send` has the method and the path, `data-done` the message for success (`{name}` is a field of
// the response), `data-confirm` a question to ask before, and `data-file` sends the selected file as
// the body. Fields whose name ends in `[]` are lists. `data-visit` of the button has the page to show afterwards.
import { refresh, visit } from "./navigation.js";
import { showStatus } from "./status.js";

export function startForms() {
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-send]");
    if (!form) return;
    event.preventDefault();
    if (form.dataset.confirm && !confirm(form.dataset.confirm)) return;
    send(form, event.submitter);
  });
}

async function send(form, submitter) {
  const [method, path] = form.dataset.send.split(" ");
  const problem = form.querySelector(".problem");
  problem.textContent = "";
  form.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(path, {
      method,
      headers: { "content-type": "application/json" },
      body: method === "DELETE" ? undefined : await bodyOf(form, submitter),
    });
    if (response.ok) {
      const fields = await response.json().catch(() => ({}));
      showStatus(filled(form.dataset.done, fields));
      const next = submitter?.dataset.visit;
      await (next ? visit(new URL(filled(next, fields), location.href).href) : refresh());
    } else {
      problem.textContent = await messageOf(response);
    }
  } catch {
    problem.textContent = "The mock does not respond.";
  } finally {
    form.removeAttribute("aria-busy");
  }
}

async function bodyOf(form, submitter) {
  if ("file" in form.dataset) return form.elements.file.files[0].text();
  const fields = {};
  const add = (control) => {
    const { name, value } = control;
    if (!name || value === "") return;
    if (name.endsWith("[]")) (fields[name.slice(0, -2)] ??= []).push(value);
    else fields[name] = control.type === "number" || "number" in control.dataset ? Number(value) : value;
  };
  for (const control of form.elements) {
    const isChoice = control.type === "checkbox" || control.type === "radio";
    if (control.type !== "submit" && (!isChoice || control.checked)) add(control);
  }
  if (submitter) add(submitter);
  return JSON.stringify(fields);
}

/** Puts fields of the response into a text, such as the `key` of `{key}`. */
function filled(text, fields) {
  return text.replace(/\{(\w+)\}/g, (_, name) => fields[name]);
}

async function messageOf(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `The mock responded with ${response.status}.`;
  }
}
