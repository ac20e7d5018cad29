/**
 * Reads the bytes of a form: `multipart/form-data` (RFC 7578) or `application/x-www-form-urlencoded`.
 *
 * The bytes are complete. They are parsed in slices, so that a form of megabytes does not block other requests. The
 * number of fields and files is limited before they are kept.
 */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import busboy, { type Busboy } from 'busboy'
import { formatForDisplay } from '../../../../base/mail/address.js'
import { Refusal } from '../../../../base/mail/refusal.js'

export interface FormFile {
  /** The name of the field. */
  readonly field: string
  /** Without folders. Empty if the client gave none. */
  readonly filename: string
  /** The media type, in lower case. */
  readonly contentType: string
  readonly content: Buffer
}

export interface Form {
  /** The values of each field, in their order. */
  readonly fields: ReadonlyMap<string, readonly string[]>
  readonly files: readonly FormFile[]
}

export const formTypes = ['multipart/form-data', 'application/x-www-form-urlencoded'] as const

/** A thousand recipients may each be a field, and there are others. */
export const MAX_FORM_FIELDS = 1_500
export const MAX_FORM_FILES = 20
/** Characters of a name. */
const MAX_NAME = 256
/** 8 MB: the most bytes of a field that is no file. They become text in one turn of the event loop. */
export const MAX_FORM_FIELD = 8 * 1_048_576
/** The same in a form that is urlencoded, where each character may have been a piece: 8 MB took 110 ms. */
export const MAX_URLENCODED_FIELD = 1_048_576
/** Bytes that are parsed in one turn of the event loop. */
const SLICE = 16_384

/** A body that is no JSON, as it was parsed. */
export interface ParsedRaw<Body> {
  readonly body: Body
  /** What equal requests have in common. Clients choose the boundary of a form anew for each request. */
  readonly parts: readonly (string | Buffer)[]
}

/** Reads a form, and returns what `parse` makes of it, with its fields and files for a fingerprint. */
export function parseForms<Body>(
  parse: (form: Form) => Body,
): (raw: Buffer, contentType: string) => Promise<ParsedRaw<Body>> {
  return async (raw, contentType) => {
    const form = await readForm(raw, contentType)
    return { body: parse(form), parts: partsOf(form) }
  }
}

/** Forms with equal lists have the same fields and files. */
function partsOf({ fields, files }: Form): readonly (string | Buffer)[] {
  return [
    ...[...fields].flatMap(([name, values]) => ['field', name, String(values.length), ...values]),
    ...files.flatMap(({ field, filename, contentType, content }) => ['file', field, filename, contentType, content]),
  ]
}

/** Rejects with a Refusal `invalid-parameter` for a form that is malformed or has too many parts. */
export async function readForm(raw: Buffer, contentType: string): Promise<Form> {
  const isMultipart = /^multipart\//i.test(contentType)
  const maxField = isMultipart ? MAX_FORM_FIELD : MAX_URLENCODED_FIELD
  // The parser says of a value in parts with as many bytes as its limit that it is cut.
  const parser = createParser(contentType, isMultipart ? maxField + 1 : maxField)
  const cure = isMultipart ? 'send a file' : 'send the form as multipart/form-data'
  const collected = new FormParts(parser, `is longer than ${maxField} bytes: ${cure}`)
  try {
    // The slices are buffers, not a stream of objects.
    await pipeline(Readable.from(slicesOf(raw), { objectMode: false }), parser)
  } catch {
    throw collected.fault ?? malformed()
  }
  if (collected.fault !== null) throw collected.fault
  return collected.join()
}

function createParser(contentType: string, maxField: number): Busboy {
  const limits = {
    fields: MAX_FORM_FIELDS,
    files: MAX_FORM_FILES,
    parts: MAX_FORM_FIELDS + MAX_FORM_FILES,
    fieldNameSize: MAX_NAME,
    fieldSize: maxField,
    headerPairs: 20,
  }
  try {
    return busboy({ headers: { 'content-type': contentType }, defParamCharset: 'utf8', limits })
  } catch {
    const message = 'Content-Type: must be multipart/form-data with a boundary, or application/x-www-form-urlencoded'
    throw new Refusal('unsupported-media-type', message, { content_type: formatForDisplay(contentType) })
  }
}

async function* slicesOf(raw: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < raw.length; at += SLICE) {
    yield raw.subarray(at, at + SLICE)
    await setImmediate()
  }
}

interface FilePieces extends Omit<FormFile, 'content'> {
  readonly pieces: Buffer[]
}

/** The parts of a form as they are found, and the first fault. */
class FormParts {
  fault: Refusal | null = null
  private readonly fields = new Map<string, string[]>()
  private readonly files: FilePieces[] = []

  /** `tooLong` is the rule that a long field breaks. */
  constructor(parser: Busboy, tooLong: string) {
    parser.on('field', (name, value, { nameTruncated, valueTruncated }) => {
      this.addField(name ?? '', value)
      if (nameTruncated || (name ?? '').length > MAX_NAME) {
        this.refuse(`the name of a field is longer than ${MAX_NAME} characters`)
      }
      if (valueTruncated) this.refuse(`${formatForDisplay(name)}: ${tooLong}`)
    })
    parser.on('file', (field, stream, { filename, mimeType }) => {
      const pieces: Buffer[] = []
      this.files.push({ field, filename: filename ?? '', contentType: mimeType.toLowerCase(), pieces })
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      // A file that ends too early is a fault of the form, which the parser reports.
      stream.on('error', () => undefined)
    })
    const allowed = `at most ${MAX_FORM_FIELDS} fields and ${MAX_FORM_FILES} files`
    for (const limit of ['fieldsLimit', 'filesLimit', 'partsLimit'] as const) {
      parser.on(limit, () => this.refuse(`the form has too many parts, allowed: ${allowed}`))
    }
  }

  join(): Form {
    const files = this.files.map(({ pieces, ...file }) => ({ ...file, content: Buffer.concat(pieces) }))
    return { fields: this.fields, files }
  }

  private addField(name: string, value: string): void {
    const values = this.fields.get(name)
    if (values === undefined) this.fields.set(name, [value])
    else values.push(value)
  }

  private refuse(message: string): void {
    this.fault ??= new Refusal('invalid-parameter', message)
  }
}

function malformed(): Refusal {
  return new Refusal('invalid-parameter', 'the form is not valid: a part is malformed or incomplete')
}
