/**
 * A request that brings one file: `multipart/form-data` with the part `file` (RFC 7578), as
 * a stream.
 *
 * Nothing of it is kept here: whoever takes the file sees its bytes as they come, and holds
 * the client back while it is busy with them. The bytes end well only when the whole form was
 * read and was what it must be; so what they become is made final after their end, never
 * before.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import busboy, { type Busboy, type FileInfo } from 'busboy'
import { formatForDisplay } from '../../../mail/address.js'
import { Refusal, type RefusalKind } from '../../../mail/refusal.js'
import type { TransferPace } from '../../../platform/connections/transfer-pace.js'
import { checkLength, clientGoneError, sendContinue, watchPace } from './read-body.js'

export interface FileLimit {
  /** Bytes of the file. */
  readonly bytes: number
  /** How one that is larger is refused. */
  readonly tooLarge: RefusalKind
}

export interface UploadedFile {
  /** As the client calls it, without folders; null: it does not. */
  readonly filename: string | null
  /** As `text/csv`. */
  readonly contentType: string
  /** To be read once. Throws what is wrong with the request. */
  readonly bytes: AsyncIterable<Buffer>
}

export interface UploadOptions {
  readonly limit: FileLimit
  readonly pace: TransferPace
  /** Asked when all is read, before the bytes end: throws what keeps the client from it by then. */
  readonly reauthorize: () => void
}

/** The form around the file: its boundaries and header fields. */
const MAX_FORM_OVERHEAD = 16_384

/**
 * What `take` makes of the file. Rejects with a Refusal (unsupported-media-type,
 * missing-field, invalid-parameter, the limit's own), with BodyTooSlow or with ClientGone,
 * whatever `take` has made by then.
 */
export async function readUpload<T>(
  request: IncomingMessage,
  response: ServerResponse,
  upload: UploadOptions,
  take: (file: UploadedFile) => Promise<T>,
): Promise<T> {
  const { limit, pace } = upload
  const form = createFormParser(request)
  checkLength(request, limit.bytes + MAX_FORM_OVERHEAD, limit.tooLarge)
  sendContinue(request, response)
  const reading = new FormReader(form)
  const count = (chunk: Buffer): void => {
    reading.bytes += chunk.length
  }
  const endWatch = watchPace(reading, pace, (error) => reading.fail(error))
  const onClose = (): void => {
    if (!request.complete) reading.fail(clientGoneError())
  }
  request.on('data', count).once('error', onClose).once('close', onClose)
  request.pipe(form)
  try {
    const { stream, info } = await reading.waitForFile()
    const bytes = readEntireFile(stream, reading, upload)
    const contentType = info.mimeType.toLowerCase()
    return await take({ filename: info.filename ?? null, contentType, bytes })
  } finally {
    endWatch()
    request.off('data', count).off('error', onClose).off('close', onClose).unpipe(form)
    form.destroy()
    request.resume() // what is left of it is for whoever sends the answer
  }
}

const CONTENT_TYPE_RULE = 'Content-Type: allowed is multipart/form-data with a boundary'

/** Throws a Refusal `unsupported-media-type`. */
function createFormParser({ headers }: IncomingMessage): Busboy {
  const type = headers['content-type'] ?? ''
  const encoding = headers['content-encoding'] ?? 'identity'
  if (!/^multipart\/form-data\s*;/i.test(type) || encoding.toLowerCase() !== 'identity') {
    throw new Refusal('unsupported-media-type', CONTENT_TYPE_RULE, { content_type: formatForDisplay(type) })
  }
  try {
    return busboy({
      headers,
      defParamCharset: 'utf8',
      limits: { parts: 10, fieldNameSize: 100, fieldSize: 1_024, headerPairs: 20 },
    })
  } catch {
    throw new Refusal('unsupported-media-type', CONTENT_TYPE_RULE, { content_type: formatForDisplay(type) })
  }
}

interface FilePart {
  readonly stream: Readable
  readonly info: FileInfo
}

/** One form on its way in: its file, its end, and the first thing that is wrong with it. */
class FormReader {
  /** That have come, the form's own included. */
  bytes = 0
  /** Null: nothing is wrong yet. */
  fault: Error | null = null
  private stream: Readable | null = null
  private readonly part: Promise<FilePart>
  private readonly formEnd: Promise<void>
  private readonly formFailure: Promise<never>
  private reject: (error: Error) => void = () => undefined

  constructor(form: Busboy) {
    this.formFailure = new Promise((_resolve, reject) => {
      this.reject = reject
    })
    // Nobody may be waiting when it breaks.
    this.formFailure.catch(() => undefined)
    this.part = new Promise((resolve) => {
      form.on('file', (name, stream, info) => {
        // An end before its time is told by the form.
        stream.on('error', () => undefined)
        if (name !== 'file' || this.stream !== null) return this.fail(unknownPartRefusal(name))
        this.stream = stream
        resolve({ stream, info })
      })
    })
    this.formEnd = new Promise((resolve) => {
      form.once('close', resolve)
    })
    form.on('field', (name) => this.fail(name === 'file' ? notAFileRefusal() : unknownPartRefusal(name)))
    form.on('partsLimit', () => this.fail(malformedFormRefusal()))
    form.on('error', () => this.fail(malformedFormRefusal()))
  }

  fail(error: Error): void {
    this.fault ??= error
    this.reject(error)
    this.stream?.destroy(error)
  }

  /** Rejects where there is none. */
  waitForFile(): Promise<FilePart> {
    const none = this.formEnd.then(() => Promise.reject(missingFileRefusal()))
    none.catch(() => undefined)
    return Promise.race([this.formFailure, this.part, none])
  }

  /** Resolves when the form was read to its end and is well. */
  waitForEnd(): Promise<void> {
    return Promise.race([this.formFailure, this.formEnd])
  }
}

async function* readEntireFile(
  stream: Readable,
  reading: FormReader,
  { limit, reauthorize }: UploadOptions,
): AsyncGenerator<Buffer> {
  const chunks: AsyncIterable<Buffer> = stream
  let size = 0
  try {
    for await (const chunk of chunks) {
      size += chunk.length
      if (size > limit.bytes) throw fileTooLargeRefusal(limit)
      yield chunk
    }
  } catch (error) {
    // What the stream itself says of a form that breaks off says nothing to a client.
    throw error instanceof Refusal ? error : (reading.fault ?? malformedFormRefusal())
  }
  await reading.waitForEnd()
  reauthorize()
}

function missingFileRefusal(): Refusal {
  const errors = [{ field: 'file', message: 'is required', value: null }]
  return new Refusal('missing-field', 'file: is required', { errors })
}

function fileTooLargeRefusal({ bytes, tooLarge }: FileLimit): Refusal {
  return new Refusal(tooLarge, `file: is larger than ${bytes} bytes`, { field: 'file', limit: bytes })
}

function unknownPartRefusal(name: string | undefined): Refusal {
  const field = formatForDisplay(name ?? '')
  return new Refusal('invalid-parameter', `${field}: is not a known part, allowed: one part "file"`, { field })
}

function notAFileRefusal(): Refusal {
  return new Refusal('invalid-parameter', 'file: must be a file, with a filename', { field: 'file' })
}

function malformedFormRefusal(): Refusal {
  return new Refusal('invalid-parameter', 'the form cannot be read: it is no multipart/form-data', { field: 'file' })
}
