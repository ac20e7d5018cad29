/**
 * The style of all pages: plain type, two columns where there is room, light and dark. A page whose script has set a color
 * scheme has that one, and any other page the one of the system.
 */

const DARK = ` --ink: #e6e8eb; --soft: #9aa3b0; --paper: #14171b; --shade: #1d2126; --line: #333940; --accent: #8ab4f8; --bad: #f2b8b5;
  --get: #6dd58c; --post: #8ab4f8; --patch: #e3b341; --delete: #f2b8b5; `

export const STYLE = `
:root { --ink: #1c1f24; --soft: #5a6270; --paper: #fff; --shade: #f4f5f7; --line: #dcdfe4; --accent: #0b57d0; --bad: #b3261e;
  --get: #1a7f37; --post: #0b57d0; --patch: #9a6700; --delete: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root:not([data-theme]) {${DARK}}
}
:root[data-theme="dark"] { color-scheme: dark;${DARK}}
:root[data-theme="light"] { color-scheme: light; }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
a { color: var(--accent); }
code, pre, .path { font-family: ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; font-size: .875em; }
pre { overflow: auto; max-height: 26rem; margin: .25rem 0; padding: .7rem .9rem; border-radius: 6px; background: var(--shade); }
pre code { padding: 0; background: none; font-size: .8rem; }
code { background: var(--shade); border-radius: 4px; padding: .1em .35em; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .75rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .5rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: .8rem; color: var(--soft); text-transform: uppercase; letter-spacing: .06em; margin: 1.25rem 0 .25rem; }
.note { max-width: 30rem; margin: 12vh auto 0; padding: 0 1.25rem 3rem; }
.note p.fault { color: var(--bad); border-left: 3px solid var(--bad); padding-left: .75rem; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input { width: 100%; font: inherit; color: inherit; background: var(--shade); border: 1px solid var(--line); border-radius: 6px; padding: .55rem .7rem; }
input:focus-visible, button:focus-visible, a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.hint { color: var(--soft); font-size: .875rem; margin: .3rem 0 0; }
button { font: inherit; font-weight: 600; margin-top: 1.5rem; padding: .6rem 1.4rem; border: 0; border-radius: 6px; background: var(--accent); color: var(--paper); cursor: pointer; }
.secret { display: block; padding: .8rem; margin: .5rem 0; border: 1px solid var(--line); border-radius: 6px; background: var(--shade); user-select: all; word-break: break-all; }
.docs { display: grid; grid-template-columns: minmax(0, 1fr); max-width: 78rem; margin: 0 auto; padding: 2rem 1.25rem 6rem; gap: 2rem; }
@media (min-width: 62rem) {
  .docs { grid-template-columns: 17rem minmax(0, 1fr); }
  .docs > .index { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; padding: 2rem 0; margin-top: -2rem; }
}
.back { margin: 0 0 1rem; }
.index form label { margin: 0 0 .25rem; }
.index > input { position: absolute; width: 1px; height: 1px; margin: 0; opacity: 0; }
.index > label { display: block; margin: 1rem 0 0; padding: .6rem .9rem; border: 1px solid var(--line); border-radius: 8px; cursor: pointer; }
.index > label::before { content: "\\25b8"; margin-right: .5rem; }
.index > input:checked + label::before { content: "\\25be"; }
.index > input:focus-visible + label { outline: 2px solid var(--accent); outline-offset: 2px; }
.index > input:not(:checked) ~ nav { display: none; }
@media (min-width: 62rem) {
  .index > label, .index > input { display: none; }
  .index > input:not(:checked) ~ nav { display: block; margin-top: 1rem; }
}
nav ul { list-style: none; padding: .5rem .9rem; margin: 0; font-size: .9rem; }
nav li a { display: block; padding: .15rem 0; text-decoration: none; color: var(--soft); }
nav li a:hover, nav li a[aria-current] { color: var(--accent); }
nav li a[aria-current] { font-weight: 600; }
.operations { list-style: none; padding: 0; margin: .25rem 0 1rem; }
.operations li { padding: .15rem 0; }
.operations a { text-decoration: none; }
.operation { margin: 2.5rem 0 0; padding-top: 1rem; border-top: 1px solid var(--line); }
.operation h2 { font-size: 1.05rem; font-weight: 400; margin: 0 0 .5rem; padding: 0; border: 0; }
.operation > details { margin: .4rem 0; }
.samples { border: 0; margin: .75rem 0; padding: 0; min-width: 0; }
.samples legend { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.samples input { position: absolute; width: 1px; height: 1px; margin: 0; opacity: 0; }
.samples label { display: inline-block; margin: 0; padding: .3rem .8rem; border-radius: 6px 6px 0 0; font-weight: 400; color: var(--soft); cursor: pointer; }
.samples input:checked + label { background: var(--shade); color: var(--ink); font-weight: 600; }
.samples input:focus-visible + label { outline: 2px solid var(--accent); outline-offset: 2px; }
.samples pre { display: none; margin: 0; border-radius: 0 6px 6px 6px; }
.samples input:nth-of-type(1):checked ~ pre:nth-of-type(1), .samples input:nth-of-type(2):checked ~ pre:nth-of-type(2),
.samples input:nth-of-type(3):checked ~ pre:nth-of-type(3), .samples input:nth-of-type(4):checked ~ pre:nth-of-type(4) { display: block; }
details { border: 1px solid var(--line); border-radius: 8px; margin: .75rem 0; }
summary { padding: .65rem .9rem; cursor: pointer; }
details[open] > summary { border-bottom: 1px solid var(--line); }
details > div { padding: .25rem .9rem 1rem; }
.method { display: inline-block; min-width: 4.2rem; font-weight: 700; font-size: .8rem; }
.get { color: var(--get); } .post { color: var(--post); } .patch { color: var(--patch); } .delete { color: var(--delete); }
.lead { color: var(--soft); margin-left: .5rem; }
@media (max-width: 40rem) {
  .operations li { padding: .35rem 0; }
  :is(.operations, .operation h2) .lead { display: block; margin-left: 0; }
}
table { border-collapse: collapse; width: 100%; font-size: .9rem; display: block; overflow-x: auto; }
th { text-align: left; font-weight: 600; color: var(--soft); }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.type { color: var(--soft); white-space: nowrap; }
@media (max-width: 40rem) {
  thead { display: none; }
  tbody { display: block; }
  td.type { white-space: normal; }
  tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  td { display: inline; border: 0; padding: 0 .5rem 0 0; }
  td:last-child { display: block; padding: .15rem 0 0; }
}
.must, .may { color: var(--bad); font-size: .75rem; margin-left: .4rem; }
.may { color: var(--soft); }
`
