/** The page at `/ui/`: what this server is, with links to the documentation. */
import { html } from '../mail/markup.js'
import { type Page, renderPage } from './layout.js'

export const startPage: Page = renderPage(
  200,
  'Posthorn',
  html`<main class="note">
<h1>Posthorn</h1>
<p>This is a mail server: programs send and receive mail through it, over a REST interface and over SMTP.
It has no mailboxes to read.</p>
<ul>
<li><a href="docs">The interface</a>: every request, with examples</li>
<li><a href="../v1/openapi.json">The same for tools</a>, an OpenAPI document</li>
</ul>
<p class="hint">Requests need a key, which an admin of a workspace makes. If you were invited, follow the link in the
mail. The folder <code>docs</code> of the program describes how to run the server.</p>
</main>`,
)

/** From the root to the pages; relative, because a proxy may serve us below a path. */
export const startPageRedirect: Page = { status: 302, html: '', headers: { Location: 'ui/', Vary: 'Accept' } }
