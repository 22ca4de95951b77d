// What a keyboard and a screen reader need: examples that scroll take the focus, and the sidebar's label is a button.
"use strict";
(() => {
    const markScrolling = () => {
        for (const block of document.querySelectorAll("pre > code, .table-wrapper")) {
            const doesScroll = block.scrollWidth > block.clientWidth;
            if (doesScroll) block.tabIndex = 0;
            else block.removeAttribute("tabindex");
        }
    };
    markScrolling();
    window.addEventListener("load", markScrolling);
    window.addEventListener("resize", markScrolling);

    const toggle = document.getElementById("mdbook-sidebar-toggle");
    if (!toggle) return;
    toggle.setAttribute("role", "button");
    toggle.tabIndex = 0;
    toggle.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle.click();
    });
})();
