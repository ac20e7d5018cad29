/**
 * Reads the arguments of sendmail, as programs write them for Sendmail, Postfix and Exim. Options that change nothing
 * here are accepted and ignored. Modes that would need a mail server on this machine are refused.
 */
import { exitCodes, SendmailFault } from './exit-codes.js'

export interface SendmailArguments {
  /** `flush` sends what is in the spool, and `list` prints it. */
  readonly act: 'send' | 'flush' | 'list'
  /** The envelope sender. It is empty for the null sender, and null if none is given. */
  readonly sender: string | null
  /** The name for From if the message has no From. */
  readonly fullName: string
  readonly recipients: readonly string[]
  /** Recipients are also those of To, Cc and Bcc. */
  readonly readsRecipients: boolean
  /** A line with only a dot does not end the message. */
  readonly ignoresDots: boolean
}

type Draft = { -readonly [Key in keyof SendmailArguments]: SendmailArguments[Key] }

/** Options with a value, which may be the next argument. */
const valued = new Set(['f', 'r', 'F', 'B', 'N', 'R', 'V', 'h', 'L', 'p', 'X', 'O', 'C'])
/** Options of one word whose value stands in the same word, or that have none. */
const ignored = /^-(?:o.*|bm|G|m|n|U|v+|x|A.?|e.)$/

/** Throws a SendmailFault `usage`. */
export function parseArguments(argv: readonly string[]): SendmailArguments {
  const draft: Draft = {
    ...{ act: 'send', sender: null, fullName: '', recipients: [], readsRecipients: false, ignoresDots: false },
  }
  const words = [...argv]
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '--') {
      draft.recipients = [...draft.recipients, ...words.splice(0)]
    } else if (!word.startsWith('-') || word === '-') draft.recipients = [...draft.recipients, word]
    else if (valued.has(word.slice(1, 2))) {
      const value = word.length > 2 ? word.slice(2) : words.shift()
      if (value === undefined) throw new SendmailFault(exitCodes.usage, `${word} needs a value`)
      readValue(draft, word.slice(1, 2), value)
    } else if (/^-oM[a-z]{0,2}$/.test(word)) words.shift()
    else readFlag(draft, word)
  }
  return draft
}

function readValue(draft: Draft, letter: string, value: string): void {
  if (letter === 'f' || letter === 'r') draft.sender = value.trim().replace(/^<(.*)>$/, '$1')
  if (letter === 'F') draft.fullName = value
}

function readFlag(draft: Draft, word: string): void {
  if (word === '-t') draft.readsRecipients = true
  else if (word === '-i' || word === '-oi' || word === '-ti' || word === '-it') {
    draft.ignoresDots = true
    if (word.includes('t')) draft.readsRecipients = true
  } else if (word === '-bp') draft.act = 'list'
  else if (/^-q(?:\d.*)?$/.test(word)) draft.act = 'flush'
  else if (!ignored.test(word)) throw new SendmailFault(exitCodes.usage, explainRefusal(word))
}

function explainRefusal(word: string): string {
  if (word === '-bs') return '-bs is not supported: submit over SMTP to the server itself'
  if (word.startsWith('-b')) return `${word} is not supported: this program only hands mail to a server`
  return `unknown option ${word}; usage: sendmail [-t] [-i] [-f ADDRESS] [-F NAME] [RECIPIENT…]`
}
