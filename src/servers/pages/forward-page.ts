/** The page of the link in a mail that asks whether an address takes forwarded mail: one question and one button. */
import { html } from '../../base/mail/markup.js'
import { type Page, renderPage } from './layout.js'

interface ShownTarget {
  readonly address: string
  readonly workspace: string
  readonly isConfirmed: boolean
}

export function renderForwardPage({ address, workspace, isConfirmed }: ShownTarget): Page {
  const title = isConfirmed ? 'Mail is forwarded to you' : 'Take forwarded mail?'
  const body = isConfirmed
    ? html`<p role="status">The workspace <b>${workspace}</b> may forward mail to <b>${address}</b>.</p>
<form method="post">
<p>You can end that at any time, here.</p>
<button name="stop" value="1">Stop</button>
</form>`
    : html`<p>The workspace <b>${workspace}</b> wants to forward mail to <b>${address}</b>.</p>
<form method="post">
<button>Agree</button>
</form>
<p class="hint">If you do nothing, nothing is forwarded.</p>`
  return renderPage(
    200,
    title,
    html`<main class="note">
<h1>${title}</h1>
${body}
</main>`,
  )
}
