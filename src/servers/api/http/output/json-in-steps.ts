/**
 * Serializes an answer with large texts as JSON, in steps that yield to the event loop. Only texts that are direct
 * fields of the answer are split, and bodies of emails that are JSON texts already are taken as they are; the rest is
 * small.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { JsonText } from '../../../../base/platform/json-text.js'

/** Minimum length of a large text, and length of one step, in characters. */
const LARGE_TEXT = 262_144

type Fields = Readonly<Record<string, unknown>>

export function hasLargeText(body: unknown): body is Fields {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && Object.values(body).some(isLarge)
}

function isLarge(value: unknown): boolean {
  return value instanceof JsonText || isLargeText(value)
}

function isLargeText(value: unknown): value is string {
  return typeof value === 'string' && value.length > LARGE_TEXT
}

/** The same JSON value as that of `JSON.stringify`, in UTF-8, in pieces. */
export async function stringifyInSteps(body: Fields): Promise<readonly Buffer[]> {
  const pieces: Buffer[] = []
  let separator = '{'
  for (const [name, value] of Object.entries(body)) {
    const json = isLarge(value) ? '' : JSON.stringify(value)
    if (json === undefined) continue
    pieces.push(Buffer.from(`${separator}${JSON.stringify(name)}:${json}`))
    separator = ','
    if (value instanceof JsonText) pieces.push(...value.pieces)
    else if (isLargeText(value)) await appendText(pieces, value)
  }
  return [...pieces, Buffer.from('}')]
}

/** A list as a JSON text, of which some hundred kilobytes are made at once. */
export async function stringifyList<Row>(
  rows: readonly Row[],
  toItem: (row: Row) => Promise<unknown>,
): Promise<JsonText> {
  const pieces: Buffer[] = []
  let length = 0
  for (const row of rows) {
    const item = await toItem(row)
    const json = hasLargeText(item) ? await stringifyInSteps(item) : [Buffer.from(JSON.stringify(item))]
    pieces.push(Buffer.from(pieces.length === 0 ? '[' : ','), ...json)
    length += json.reduce((sum, piece) => sum + piece.length, 0)
    if (length < LARGE_TEXT) continue
    length = 0
    await nextTurn()
  }
  return new JsonText(...pieces, Buffer.from(pieces.length === 0 ? '[]' : ']'))
}

/** A surrogate pair split between two steps becomes two escapes, which a JSON reader joins again. */
async function appendText(pieces: Buffer[], text: string): Promise<void> {
  pieces.push(QUOTE)
  for (let at = 0; at < text.length; at += LARGE_TEXT) {
    pieces.push(Buffer.from(JSON.stringify(text.slice(at, at + LARGE_TEXT)).slice(1, -1)))
    await nextTurn()
  }
  pieces.push(QUOTE)
}

const QUOTE = Buffer.from('"')
