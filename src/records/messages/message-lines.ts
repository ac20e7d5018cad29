/**
 * Refuses a message with lines that servers could read in different ways (SMTP smuggling), that are too long, or that begin no
 * header.
 */
import { assertNever } from '../../base/mail/assert-never.js'
import { scanHeader } from '../../base/mail/header-fields.js'
import { checkLinesInSteps, type LineCheck } from '../../base/mail/line-check.js'
import { toPrintableText } from '../../base/mail/printable.js'
import { Refusal } from '../../base/mail/refusal.js'
import { concatInSteps } from '../../base/platform/memory/byte-pieces.js'
import { sharedTurns } from '../../base/platform/shared-turns.js'

interface LineWrapping {
  /** The workspace that sends the message. */
  readonly workspaceId: string
  /** Returns null if the message cannot be wrapped. `raw` may be empty afterwards. */
  readonly wrapper: { wrap(message: MessageToWrap): Promise<Buffer | null> }
}

interface MessageToWrap {
  readonly raw: Buffer
  readonly maxLineOctets: number
  readonly workspaceId: string
}

interface LineRules {
  readonly maxLineOctets: number
  /** Wraps the lines that are too long. If it is absent or cannot wrap them, they are refused. */
  readonly wrapping?: LineWrapping | null
  /** The header has lines of a mailbox file, which are dropped. */
  readonly onMailboxLine: () => void
}

/** Returns the message as it is kept. It works in steps, so that other messages have their turns of the event loop. */
export async function checkLines(raw: Buffer, rules: LineRules): Promise<Buffer> {
  const { maxLineOctets, onMailboxLine, wrapping = null } = rules
  const form = await scanForm(raw, maxLineOctets)
  if (form.kind === 'line-too-long' && wrapping !== null) {
    const whole = await checkLines(raw, { maxLineOctets: Number.POSITIVE_INFINITY, onMailboxLine })
    const { wrapper, workspaceId } = wrapping
    const wrapped = await wrapper.wrap({ raw: whole, maxLineOctets, workspaceId })
    if (wrapped !== null) return wrapped
  }
  switch (form.kind) {
    case 'ok':
      return withoutMailboxLines(raw, onMailboxLine)
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

/**
 * Programs write `From sender date` before each message of a mailbox file (RFC 4155), and some send it too. Servers on
 * the way put their fields before it, so it may be in the middle of a header.
 */
async function withoutMailboxLines(raw: Buffer, onMailboxLine: () => void): Promise<Buffer> {
  const places = findMailboxLines(raw)
  const kept = places.length === 0 ? raw : await withoutOctets(raw, places)
  if (places.length > 0) onMailboxLine()
  if (beginsHeader(kept)) return kept
  const [line = ''] = raw.toString('latin1', 0, MAX_SHOWN).split('\r\n', 1)
  throw new Refusal(
    'malformed-message',
    `the first line is not a header field (a name and a colon), so the message has no header: ${toPrintableText(line)}`,
  )
}

/** Places of a header where such lines are dropped, and lines of one place. */
const MAX_PLACES = 4
const MAX_MAILBOX_LINES = 4

interface Octets {
  readonly start: number
  readonly end: number
}

/** The places where the header is broken off by such lines, and goes on behind them. */
function findMailboxLines(raw: Buffer): readonly Octets[] {
  const places: Octets[] = []
  while (places.length < MAX_PLACES) {
    const found = findNextLines(raw, places.at(-1)?.end ?? 0)
    if (found === null) break
    places.push(found)
  }
  return places
}

/** `from` is where the header begins, or goes on. */
function findNextLines(raw: Buffer, from: number): Octets | null {
  const { end: length, bodyStart } = scanHeader(raw.subarray(from))
  if (bodyStart > length) return null
  const start = from + length
  let end = start
  for (let lines = 0; lines < MAX_MAILBOX_LINES && isMailboxLine(raw, end, start > 0); lines += 1) {
    end = raw.indexOf('\n', end) + 1
    if (end === 0) return null
  }
  const rest = raw.subarray(end)
  const isFirstLine = start === 0 && end === raw.indexOf('\n') + 1
  const goesOn = isFirstLine ? beginsHeader(rest) : beginsField(rest)
  return end > start && rest.length > 0 && goesOn ? { start, end } : null
}

/** Below other fields the line must have a time too. Otherwise it may be the first line of a text. */
function isMailboxLine(raw: Buffer, at: number, isBelowFields: boolean): boolean {
  const line = raw.toString('latin1', at, at + MAX_MAILBOX_LINE).split('\r\n', 1)[0] ?? ''
  return /^>?From /.test(line) && (!isBelowFields || / \d\d?:\d\d/.test(line))
}

/** Octets of a line that are read. */
const MAX_MAILBOX_LINE = 400

/** The result has memory that nothing else shares, because threads take over whole buffers. */
function withoutOctets(raw: Buffer, places: readonly Octets[]): Promise<Buffer> {
  const starts = [0, ...places.map(({ end }) => end)]
  return concatInSteps(starts.map((start, at) => raw.subarray(start, places[at]?.start ?? raw.length)))
}

/** A message without a header begins with an empty line. */
function beginsHeader(raw: Buffer): boolean {
  return beginsField(raw) || raw.length === 0 || scanHeader(raw.subarray(0, 2)).bodyStart > 0
}

function beginsField(raw: Buffer): boolean {
  return scanHeader(raw.subarray(0, Math.min(raw.length, MAX_FIRST_FIELD))).fields.length > 0
}

/** Octets in which the first field begins. */
const MAX_FIRST_FIELD = 1_000
