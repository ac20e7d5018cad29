/**
 * Encodes a frame as bytes: the length of its description (4 bytes), the description as JSON, and the fixed bytes one
 * after the other. Decoding takes time linear in the size, and throws for bytes that encoding does not make.
 */
import { isRecord } from '../../../base/platform/records.js'
import { slotEncodings } from './encode-slot.js'
import type { FrameRecipe, FrameText, FrameValue, FrameVariable } from './frame-recipe.js'
import type { FrameSlot, MessageFrame } from './message-frame.js'

const LENGTH_BYTES = 4
const FORM = 1

/** The form of a piece: its length, or its slot as the index of the value and that of the encoding. */
type PieceForm = number | readonly [value: number, encoding: number]

export function encodeFrame({ pieces, smtputf8, recipe }: MessageFrame): Buffer {
  const forms: readonly PieceForm[] = pieces.map((piece) =>
    Buffer.isBuffer(piece) ? piece.length : [piece.value, slotEncodings.indexOf(piece.encoding)],
  )
  const description = Buffer.from(JSON.stringify({ form: FORM, pieces: forms, smtputf8, recipe }))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(description.length)
  return Buffer.concat([length, description, ...pieces.filter((piece) => Buffer.isBuffer(piece))])
}

/** Returns pieces that share the memory of `bytes`. */
export function decodeFrame(bytes: Buffer): MessageFrame {
  const end = bytes.length < LENGTH_BYTES ? Number.NaN : LENGTH_BYTES + bytes.readUInt32BE()
  if (!(end <= bytes.length)) throw invalid('its description is cut off')
  const { pieces: forms, smtputf8, recipe } = parseDescription(bytes.toString('utf8', LENGTH_BYTES, end))
  let at = end
  const pieces = forms.map((form) => {
    if (typeof form !== 'number') return readSlot(form, recipe)
    if (!Number.isSafeInteger(form) || form < 0) throw invalid('a length is not a whole number')
    at += form
    return bytes.subarray(at - form, at)
  })
  if (at !== bytes.length) throw invalid('its bytes are not those of its description')
  return { pieces, smtputf8, recipe }
}

interface Description {
  readonly pieces: readonly unknown[]
  readonly smtputf8: boolean
  readonly recipe: FrameRecipe
}

function parseDescription(text: string): Description {
  const description: unknown = parseJsonText(text)
  if (!isRecord(description) || description['form'] !== FORM) throw invalid('its form is unknown')
  const { pieces, smtputf8, recipe } = description
  const read = readRecipe(recipe)
  if (!Array.isArray(pieces) || typeof smtputf8 !== 'boolean' || read === null) throw invalid('its description')
  return { pieces, smtputf8, recipe: read }
}

function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid('its description is no JSON')
  }
}

function readSlot(form: unknown, { values }: FrameRecipe): FrameSlot {
  const [value, code]: readonly unknown[] = Array.isArray(form) && form.length === 2 ? form : []
  const encoding = typeof code === 'number' ? slotEncodings[code] : undefined
  if (typeof value !== 'number' || values[value] === undefined || encoding === undefined) throw invalid('a slot')
  return { value, encoding }
}

/** Reads the recipe strictly. Returns null if the JSON is no recipe. */
function readRecipe(json: unknown): FrameRecipe | null {
  if (!isRecord(json)) return null
  const { broadcastId, hostname, domain, base, subject, values } = json
  const texts = [broadcastId, hostname, domain, base].filter((text) => typeof text === 'string')
  const [id, host, from, url] = texts
  const line = readText(subject)
  const read = Array.isArray(values) ? values.map(readValue) : [null]
  const known = read.filter((value) => value !== null)
  if (id === undefined || host === undefined || from === undefined || url === undefined) return null
  if (line === null || known.length !== read.length) return null
  return { broadcastId: id, hostname: host, domain: from, base: url, subject: line, values: known }
}

function readValue(json: unknown): FrameValue | null {
  if (!isRecord(json)) return null
  const { kind } = json
  switch (kind) {
    case 'email-id':
    case 'date':
    case 'unsubscribe-token':
    case 'to':
    case 'subject':
      return { kind }
    case 'variable':
    case 'text-of-variable': {
      const variable = readVariable(json['variable'])
      return variable === null ? null : { kind, variable }
    }
    case 'link': {
      const url = readText(json['url'])
      return url === null ? null : { kind, url }
    }
    default:
      return null
  }
}

function readText(json: unknown): FrameText | null {
  if (!Array.isArray(json)) return null
  const read = json.map((piece: unknown) => (typeof piece === 'string' ? piece : readVariable(piece)))
  const known = read.filter((piece) => piece !== null)
  return known.length === read.length ? known : null
}

function readVariable(json: unknown): FrameVariable | null {
  if (!isRecord(json)) return null
  const { name, fallback, part } = json
  if (typeof name !== 'string' || typeof fallback !== 'string') return null
  if (part === undefined) return { name, fallback }
  return part === 'path' || part === 'query' ? { name, fallback, part } : null
}

function invalid(what: string): Error {
  return new Error(`a stored message frame is invalid: ${what}`)
}
