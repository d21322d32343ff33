// A field above the tables of the page on coverage: rows that do not hold all its words are hidden.
document.addEventListener("DOMContentLoaded", () => {
  if (!document.location.pathname.endsWith("/coverage.html")) return;
  const rows = [...document.querySelectorAll(".bd-article section section tbody tr")].map((row) => {
    const section = row.closest("section").querySelector("h2").textContent;
    return { row, text: `${section} ${row.textContent}`.toLowerCase() };
  });
  const field = document.createElement("input");
  field.className = "table-filter";
  field.type = "search";
  field.placeholder = "Filter: linalg ruled, or the name of a function";
  field.setAttribute("aria-label", "Filter the rows of all tables");
  document.querySelector(".bd-article h1").after(field);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { row, text } of rows) row.hidden = !words.every((word) => text.includes(word));
    for (const section of document.querySelectorAll(".bd-article section section")) {
      section.hidden = words.length > 0 && !section.querySelector("tbody tr:not([hidden])");
    }
  });
});
