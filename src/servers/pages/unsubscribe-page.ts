/**
 * The page of an unsubscribe link: one question and one button, without script, then what has happened. After a
 * broadcast a second button undoes it.
 *
 * The address is masked, because the page opens for everyone who got the message forwarded.
 */
import { assertNever } from '../../base/mail/assert-never.js'
import type { Language } from '../../base/mail/language.js'
import { html, type Markup } from '../../base/mail/markup.js'
import { type Page, renderNotePage, renderPage } from './layout.js'
import { dutch } from './unsubscribe-words/dutch.js'
import { english } from './unsubscribe-words/english.js'
import { french } from './unsubscribe-words/french.js'
import { german } from './unsubscribe-words/german.js'
import { italian } from './unsubscribe-words/italian.js'
import { polish } from './unsubscribe-words/polish.js'
import { portuguese } from './unsubscribe-words/portuguese.js'
import { spanish } from './unsubscribe-words/spanish.js'
import type { UnsubscribeWords } from './unsubscribe-words/unsubscribe-words.js'

interface Recipient {
  readonly address: string
  /** Null if it is no longer known. */
  readonly sender: string | null
  /** What the link ends: all mail of an organization, or its broadcasts to a list. */
  readonly scope: 'mail' | 'broadcasts'
  readonly canUndo: boolean
  /** It is that of the workspace. */
  readonly language: Language
}

type Stage = 'asks' | 'done' | 'done-before' | 'undone' | 'stays'

const words: Readonly<Record<Language, UnsubscribeWords>> = {
  en: english,
  de: german,
  fr: french,
  es: spanish,
  it: italian,
  nl: dutch,
  pt: portuguese,
  pl: polish,
}

export function renderUnsubscribePage(recipient: Recipient, stage: Stage): Page {
  const said = words[recipient.language]
  switch (stage) {
    case 'asks':
      return renderNote(recipient, said.asks, (text) => buildQuestion(said, text))
    case 'done':
      return renderNote(recipient, said.done, (text) => html`<p role="status">${text}</p>${buildUndo(said, recipient)}`)
    case 'done-before':
      return renderNote(
        recipient,
        said.doneBefore,
        (text) => html`<p role="status">${text}</p>${buildUndo(said, recipient)}`,
      )
    case 'undone':
      return renderNote(recipient, said.undone, (text) => html`<p role="status">${text}</p>`)
    case 'stays':
      return renderNote(recipient, said.stays, (text) => html`<p role="status">${text}</p>`)
    default:
      return assertNever(stage)
  }
}

function buildQuestion({ button, ifNothing }: UnsubscribeWords, text: Markup): Markup {
  return html`<p>${text}</p>
<form method="post">
<button>${button}</button>
</form>
<p class="hint">${ifNothing}</p>`
}

function buildUndo({ mistake, undoButton, tooLate }: UnsubscribeWords, { scope, canUndo }: Recipient): Markup {
  if (canUndo) {
    return html`
<form method="post">
<p>${mistake}</p>
<button name="undo" value="1">${undoButton}</button>
</form>`
  }
  return scope === 'mail'
    ? html``
    : html`
<p class="hint">${tooLate}</p>`
}

export const unknownUnsubscribePage = renderNotePage(
  404,
  'This link does not work',
  'It may be incomplete, or the message is so old that its links were removed. To unsubscribe, reply to the message, or use the unsubscribe button of your mail program.',
)

function renderNote(
  recipient: Recipient,
  { title, text }: UnsubscribeWords['asks'],
  build: (text: Markup) => Markup,
): Page {
  return renderPage(
    200,
    title,
    html`<main class="note">
<h1>${title}</h1>
${build(fillIn(text[recipient.scope], recipient))}
</main>`,
    { language: recipient.language },
  )
}

/** Puts the masked address and the sender into a sentence. */
function fillIn(sentence: string, { address, sender, language }: Recipient): Markup {
  const shown = html`<b>${maskAddress(address)}</b>`
  const from = html`<b>${sender ?? words[language].unknownSender}</b>`
  const pieces = sentence.split(/(\{address\}|\{sender\})/)
  return html`${pieces.map((piece) => (piece === '{address}' ? shown : piece === '{sender}' ? from : html`${piece}`))}`
}

/** The first character and the domain; of short local parts the domain alone. */
function maskAddress(address: string): string {
  const at = address.lastIndexOf('@')
  const [first = '', ...others] = address.slice(0, at)
  return `${others.length < 2 ? '' : first}…${address.slice(at)}`
}
