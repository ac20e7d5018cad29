/**
 * The page of an unsubscribe link: one question and one button, without script, then what has happened. After a
 * broadcast a second button undoes it.
 *
 * The address is masked, because the page opens for everyone who got the message forwarded.
 */
import { assertNever } from '../../base/mail/assert-never.js'
import { html, type Markup } from '../../base/mail/markup.js'
import { type Page, renderNotePage, renderPage } from './layout.js'

interface Recipient {
  readonly address: string
  /** Null if it is no longer known. */
  readonly sender: string | null
  /** What the link ends: all mail of an organization, or its broadcasts to a list. */
  readonly scope: 'mail' | 'broadcasts'
  readonly canUndo: boolean
}

type Stage = 'asks' | 'done' | 'done-before' | 'undone' | 'stays'

export function renderUnsubscribePage(recipient: Recipient, stage: Stage): Page {
  const { address, scope } = recipient
  const shown = maskAddress(address)
  const from = html`<b>${recipient.sender ?? 'the sender of this message'}</b>`
  switch (stage) {
    case 'asks':
      return renderNote('Unsubscribe?', buildQuestion(shown, from, scope))
    case 'done':
      return renderNote(
        'You are unsubscribed',
        html`<p role="status"><b>${shown}</b> gets no more ${nameMail(scope)} from ${from}. A message that is on its way may still
arrive.</p>${buildUndo(recipient)}`,
      )
    case 'done-before':
      return renderNote(
        'You are unsubscribed already',
        html`<p role="status"><b>${shown}</b> gets no ${nameMail(scope)} from ${from}. There is nothing left to do.</p>${buildUndo(recipient)}`,
      )
    case 'undone':
      return renderNote(
        'You are subscribed',
        html`<p role="status"><b>${shown}</b> gets ${nameMail(scope)} from ${from} as before.</p>`,
      )
    case 'stays':
      return renderNote(
        'You are still unsubscribed',
        html`<p role="status">This cannot be undone here. To get ${nameMail(scope)} at <b>${shown}</b> again, ask ${from}.</p>`,
      )
    default:
      return assertNever(stage)
  }
}

function buildQuestion(shown: string, from: Markup, scope: Recipient['scope']): Markup {
  const effect =
    scope === 'mail'
      ? html`the organization behind this
sender can send no more mail to this address through this server, not even messages that you ask for`
      : html`this address gets no
more mail of this list. Messages that you ask for, such as a link for a new password, still arrive`
  return html`<p>You got mail from ${from} at <b>${shown}</b>. If you unsubscribe, ${effect}.</p>
<form method="post">
<button>Unsubscribe</button>
</form>
<p class="hint">If you do nothing, nothing changes.</p>`
}

function nameMail(scope: Recipient['scope']): string {
  return scope === 'mail' ? 'mail' : 'mail of this list'
}

function buildUndo({ scope, canUndo }: Recipient): Markup {
  if (canUndo) {
    return html`
<form method="post">
<p>Was that a mistake? You can undo it for an hour.</p>
<button name="undo" value="1">Subscribe again</button>
</form>`
  }
  return scope === 'mail'
    ? html``
    : html`
<p class="hint">This cannot be undone here. If you change your mind, ask the sender.</p>`
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
