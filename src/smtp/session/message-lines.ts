/**
 * Refuses a message with lines that servers could read in different ways (SMTP smuggling), that are too long, or that begin no
 * header.
 */
import { assertNever } from '../../mail/assert-never.js'
import { scanHeader } from '../../mail/header-fields.js'
import { checkLinesInSteps, type LineCheck } from '../../mail/line-check.js'
import { toPrintableText } from '../../mail/printable.js'
import { Refusal } from '../../mail/refusal.js'
import { sharedTurns } from '../../platform/shared-turns.js'

interface LineRules {
  readonly maxLineOctets: number
  /** The message begins with a line of a mailbox file, which is dropped. */
  readonly onMailboxLine: () => void
}

/** The message as it is kept. In steps that share the turns of the event loop with those of other messages. */
export async function checkLines(raw: Buffer, { maxLineOctets, onMailboxLine }: LineRules): Promise<Buffer> {
  const form = await scanForm(raw, maxLineOctets)
  switch (form.kind) {
    case 'ok':
      return withoutMailboxLine(raw, onMailboxLine)
    case 'bare-line-break':
      throw new Refusal('bare-line-break', `bare CR, bare LF or NUL in line ${form.line} of the message`)
    case 'line-too-long':
      throw new Refusal(
        'line-too-long',
        `line ${form.line} has ${form.octets} octets, at most ${maxLineOctets} are allowed`,
      )
    default:
      assertNever(form)
  }
}

async function scanForm(raw: Buffer, maxLineOctets: number): Promise<LineCheck> {
  const steps = checkLinesInSteps(raw, { maxLineOctets })
  for (;;) {
    const { done, value } = await sharedTurns.take(() => steps.next())
    if (done === true) return value
  }
}

/** Octets of a line that a reply repeats. */
const MAX_SHOWN = 60

/** Programs write `From sender date` before each message of a mailbox file (RFC 4155), and some send it too. */
function withoutMailboxLine(raw: Buffer, onMailboxLine: () => void): Buffer {
  if (beginsHeader(raw)) return raw
  const next = raw.indexOf('\n') + 1
  const rest = raw.subarray(next)
  if (/^>?From /.test(raw.toString('latin1', 0, 6)) && next > 0 && rest.length > 0 && beginsHeader(rest)) {
    onMailboxLine()
    // Memory of its own: threads take over whole buffers.
    const kept = Buffer.allocUnsafeSlow(rest.length)
    rest.copy(kept)
    return kept
  }
  const [line = ''] = raw.toString('latin1', 0, MAX_SHOWN).split('\r\n', 1)
  throw new Refusal(
    'malformed-message',
    `the first line is no header field, a name and a colon, and so the message has no header: ${toPrintableText(line)}`,
  )
}

/** A message without a header begins with an empty line. */
function beginsHeader(raw: Buffer): boolean {
  const { fields, bodyStart } = scanHeader(raw.subarray(0, Math.min(raw.length, MAX_FIRST_FIELD)))
  return fields.length > 0 || bodyStart > 0 || raw.length === 0
}

/** Octets in which the first field begins. */
const MAX_FIRST_FIELD = 1_000
