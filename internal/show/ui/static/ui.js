"use strict";

// The button beside a command copies it; without script it can be selected.
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

// A run under way sends what is to be shown of it until the report is there.
const live = document.querySelector("[data-events]");
if (live) {
  const events = new EventSource(live.dataset.events);
  events.onmessage = (event) => { live.innerHTML = JSON.parse(event.data); };
  events.addEventListener("end", () => {
    events.close();
    setTimeout(() => location.reload(), 500);
  });
}

// A slider shows its number while it moves and asks when it is let go.
for (const slider of document.querySelectorAll("input[type=range]")) {
  slider.step = slider.dataset.step;
  const shown = slider.parentElement.querySelector("output");
  slider.addEventListener("input", () => { shown.textContent = slider.value; });
  slider.addEventListener("change", () => slider.form.requestSubmit());
}
for (const box of document.querySelectorAll(".sliders :is(input[type=checkbox], select)")) {
  box.addEventListener("change", () => box.form.requestSubmit());
}
