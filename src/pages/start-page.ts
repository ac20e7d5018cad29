/** What stands at `/ui/`: what this is, and where to go from here. */
import { html } from '../mail/markup.js'
import { type Page, renderPage } from './layout.js'

export const startPage: Page = renderPage(
  200,
  'Posthorn',
  html`<main class="note">
<h1>Posthorn</h1>
<p>This is a mail server: programs send mail through it and receive mail from it, by an interface over HTTPS and by SMTP.
There are no mailboxes to read here.</p>
<ul>
<li><a href="docs">The interface</a>: every request, with examples</li>
<li><a href="../v1/openapi.json">The same for tools</a>, an OpenAPI document</li>
</ul>
<p class="hint">Requests need a key, which a person who manages a workspace makes. People who were invited follow the
link of the mail. How the server is run is described in the folder <code>docs</code> of the program.</p>
</main>`,
)

/** From the address of the service to its pages; relative, because a proxy may have put the service below a path. */
export const startPageRedirect: Page = { status: 302, html: '', headers: { Location: 'ui/', Vary: 'Accept' } }
