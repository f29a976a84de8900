// Runs in every page under test: notes what goes wrong, and looks at the page when it is asked to.
"use strict";
(() => {
  const problems = [];
  const place = target => target && (target.src || target.href);
  addEventListener("error", event => problems.push(place(event.target) ? "cannot load " + place(event.target) : event.message), true);
  addEventListener("unhandledrejection", event => problems.push("rejected: " + event.reason));
  for (const level of ["error", "warn"]) console[level] = (...words) => problems.push(words.join(" "));

  const pause = () => new Promise(resume => setTimeout(resume, 100));

  // Nothing may reach beyond the window but what scrolls within a box of its own.
  function overflow(when) {
    const page = document.documentElement;
    if (page.scrollWidth <= innerWidth) return;
    const wide = [...document.body.querySelectorAll("*")].find(element =>
      element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(".scroll"));
    problems.push(`${when}: ${page.scrollWidth} px wide` + (wide ? `, by ${wide.tagName} ${wide.className}` : ""));
  }

  // The first column stays when a table scrolls: it must be read, and leave room for the others.
  function names() {
    for (const name of document.querySelectorAll(".scroll tbody th:first-child")) {
      const { width, height } = name.getBoundingClientRect(), scroll = name.closest(".scroll"), room = scroll.clientWidth;
      if (scroll.scrollWidth > room && width > room * 0.7) problems.push(`${name.textContent}: ${width} of ${room} px wide`);
      if (height > 220) problems.push(`${name.textContent}: ${height} px high`);
    }
  }

  window.check = async ({ dark, height }) => {
    await pause();
    overflow("as loaded");
    if (matchMedia("(prefers-color-scheme: dark)").matches !== dark) problems.push("not in the wanted scheme");
    const [, red] = /(\d+)/.exec(getComputedStyle(document.body).backgroundColor);
    if (+red > 127 === dark) problems.push("the ground does not follow the scheme");
    if (height && document.documentElement.scrollHeight > height)
      problems.push(`${document.documentElement.scrollHeight} px high`);
    for (const details of document.querySelectorAll("details")) {
      if (!details.open) details.querySelector("summary").click();
      if (!details.open) problems.push("does not open: " + details.textContent.slice(0, 40));
    }
    await pause();
    overflow("opened");
    names();
    for (const figure of document.querySelectorAll("figure[data-chart]")) {
      const canvas = figure.querySelector("canvas");
      if (!canvas || canvas.width === 0) problems.push("no chart: " + figure.textContent);
    }
    return { problems, charts: document.querySelectorAll("canvas").length };
  };
})();
