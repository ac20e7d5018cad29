/**
 * The page of an unsubscribe link: one question and one button, without script, then what has happened.
 *
 * The address is masked, because the page opens for everyone whom the message was forwarded to.
 */
import { html, type Markup } from '../mail/markup.js'
import { type Page, renderNotePage, renderPage } from './layout.js'

interface Recipient {
  readonly address: string
  readonly sender: string
}

export function renderUnsubscribePage({ address, sender }: Recipient, stage: 'asks' | 'done' | 'done-before'): Page {
  const shown = maskAddress(address)
  switch (stage) {
    case 'asks':
      return renderNote(
        'Unsubscribe?',
        html`<p>You got mail from <b>${sender}</b> at <b>${shown}</b>. If you unsubscribe, the organization behind this
sender can send no more mail to this address through this server, not even messages that you ask for.</p>
<form method="post">
<button>Unsubscribe</button>
</form>
<p class="hint">If you do nothing, nothing changes.</p>`,
      )
    case 'done':
      return renderNote(
        'You are unsubscribed',
        html`<p role="status"><b>${shown}</b> gets no more mail from <b>${sender}</b>. A message that is on its way may still
arrive.</p>`,
      )
    case 'done-before':
      return renderNote(
        'You are unsubscribed already',
        html`<p role="status"><b>${shown}</b> gets no mail from <b>${sender}</b>. There is nothing left to do.</p>`,
      )
  }
}

export const unknownUnsubscribePage = renderNotePage(
  404,
  'This link does not work',
  'It may be incomplete, or the message is so old that its links were removed. To unsubscribe, reply to the message, or use the unsubscribe button of your mail program.',
)

function renderNote(title: string, body: Markup): Page {
  return renderPage(
    200,
    title,
    html`<main class="note">
<h1>${title}</h1>
${body}
</main>`,
  )
}

/** The first character and the domain; of short local parts the domain alone. */
function maskAddress(address: string): string {
  const at = address.lastIndexOf('@')
  const [first = '', ...others] = address.slice(0, at)
  return `${others.length < 2 ? '' : first}…${address.slice(at)}`
}
